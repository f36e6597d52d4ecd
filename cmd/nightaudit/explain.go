package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/audit/rules"
	"nightaudit/report"
)

func explainCmd(config *string) *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "explain CODE | KIND | CLAIM-KEY | TRACE CLAIM-ID",
		Short: "Say what a reason means, or which calls a verdict rests on and why the others did not count",
		Long: `explain CODE prints what a reason code means, an example, and how to clear it.
explain KIND prints what a kind of claim requires, and sentences that make it.
explain CLAIM-KEY prints a stored verdict and what was kept of the calls it names.
explain TRACE CLAIM-ID audits the trace and prints, for each requirement of the
claim, every call that was considered and why it counted or not.`,
		Example: `  nightaudit explain stale
  nightaudit explain 53872112
  nightaudit explain run.jsonl c1 --claims claims.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return hintError{errors.New("say what to explain: a reason code, a kind of claim, the key of a stored claim, or a trace and one of its claims"), "nightaudit explain RUN.jsonl shows which claims a trace has"}
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 {
				return withOpenReports(cmd.Context(), args[0], f, func(reports []*audit.Report) error {
					return explainClaim(cmd, reports, args[1])
				})
			}
			if e, ok := audit.Explain(audit.Reason(strings.ToLower(args[0]))); ok {
				return report.Reason(cmd.OutOrStdout(), e)
			}
			if text, ok := rules.Default().Describe(args[0]); ok {
				_, err := io.WriteString(cmd.OutOrStdout(), text)
				return err
			}
			if claimKey.MatchString(args[0]) {
				return explainStored(cmd, *config, args[0])
			}
			if _, err := os.Stat(args[0]); err == nil {
				return withOpenReports(cmd.Context(), args[0], f, func(reports []*audit.Report) error {
					return hintError{fmt.Errorf("say which claim of %s to explain", args[0]), idsOf(reports)}
				})
			}
			return unknownWord(args[0])
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
	return hintError{fmt.Errorf("no claim has the id %s", id), idsOf(reports)}
}

// idsOf lists the ids of the claims of a trace, for people who look for one.
func idsOf(reports []*audit.Report) string {
	const most = 30
	var ids []string
	for _, r := range reports {
		for _, j := range r.Claims {
			ids = append(ids, j.Claim.ID)
		}
	}
	switch {
	case len(ids) == 0:
		return "the trace makes no claim, and none was given; --claims names a claims file"
	case len(ids) > most:
		return fmt.Sprintf("its claims are %s and %d more; nightaudit audit TRACE --json shows them", strings.Join(ids[:most], ", "), len(ids)-most)
	}
	return fmt.Sprintf("its claims are %s; nightaudit audit TRACE --json shows them", strings.Join(ids, ", "))
}

// claimKey is how the keys of stored claims begin.
var claimKey = regexp.MustCompile(`^[0-9a-f]{4,64}$`)

// unknownWord says of a word that is nothing to explain what it may have meant.
func unknownWord(word string) error {
	known := rules.Default().Kinds().Names()
	for _, e := range audit.Explanations() {
		known = append(known, string(e.Reason))
	}
	err := fmt.Errorf("%q is %w", word, errNoCode)
	if near := claims.Nearest(strings.ToLower(word), known); near != "" {
		return hintError{err, fmt.Sprintf("did you mean %s?", near)}
	}
	return hintError{err, "docs/verdicts.md lists the reasons, docs/rules.md the kinds"}
}

var errNoCode = errors.New("neither a reason code nor a kind of claim, the key of a stored claim or a file")
