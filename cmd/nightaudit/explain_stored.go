package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"nightaudit/report"
	"nightaudit/store"
)

// explainStored shows a stored verdict with what was kept of its calls.
func explainStored(cmd *cobra.Command, config, key string) error {
	cfg, err := loadConfig(config)
	if err != nil {
		return err
	}
	return view(cmd.Context(), cfg, func(v viewed) error {
		found, err := v.store.History(cmd.Context(), store.Filter{ClaimKeyPrefix: key, Limit: 1})
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return hintError{fmt.Errorf("%s is %w", key, errNoCode), "nightaudit report shows the keys, docs/verdicts.md the codes"}
		}
		kept, err := v.store.Excerpts(cmd.Context(), found[0].RunKey, found[0].TraceHash)
		if err != nil {
			return err
		}
		stored := report.Stored{
			Key: found[0].ClaimKey, Statement: found[0].Statement, Verdict: found[0].Verdict, Reason: found[0].Reason, Source: found[0].Source,
			Findings: found[0].Findings, Requirement: found[0].Requirement, Audited: found[0].Audited,
		}
		for _, e := range kept {
			stored.Calls = append(stored.Calls, report.StoredCall{Line: e.Line, Tool: e.Tool, Arguments: e.Arguments, Result: e.Result})
		}
		return report.StoredClaim(cmd.OutOrStdout(), stored)
	})
}
