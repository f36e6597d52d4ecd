package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/report"
)

func explainCmd(config *string) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "explain CODE | CLAIM-KEY | TRACE CLAIM-ID",
		Short: "Say what a reason means, or which calls a verdict rests on and why the others did not count",
		Long: `explain CODE prints what a reason code means, an example, and how to clear it.
explain CLAIM-KEY prints a stored verdict and what was kept of the calls it names.
explain TRACE CLAIM-ID audits the trace and prints, for each requirement of the
claim, every call that was considered and why it counted or not.`,
		Example: `  nightaudit explain stale
  nightaudit explain 53872112
  nightaudit explain run.jsonl c1 --claims claims.json`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return withOpenReports(cmd.Context(), args[0], f, func(reports []*audit.Report) error {
					return explainClaim(cmd, reports, args[1])
				})
			}
			if e, ok := audit.Explain(audit.Reason(args[0])); ok {
				return report.Reason(cmd.OutOrStdout(), e)
			}
			return explainStored(cmd, *config, args[0])
		},
	}
	f.add(cmd, "text")
	return cmd
}

func explainClaim(cmd *cobra.Command, reports []*audit.Report, id string) error {
	for _, r := range reports {
		for i, j := range r.Claims {
			if j.Claim.ID == id {
				considered, err := r.Considered(i)
				if err != nil {
					return err
				}
				return report.Claim(cmd.OutOrStdout(), j, considered)
			}
		}
	}
	return hintError{fmt.Errorf("no claim has the id %s", id), "nightaudit audit TRACE --json shows the ids"}
}

var errNoCode = errors.New("neither a reason code nor the key of a stored claim")
