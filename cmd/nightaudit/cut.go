package main

import (
	"io"

	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/report"
	"nightaudit/rerun"
)

func cutCmd(config *string) *cobra.Command {
	var f auditFlags
	var showContext bool
	cmd := &cobra.Command{
		Use:   "cut TRACE",
		Short: "Show the segments that a re-run would redo, and where the context is cut",
		Long: `cut audits a trace and prints, for every segment that a claim fails in: the claims,
the checkpoint (the last call that a passing claim rests on before the fault), the
calls to redo, and the claims that have to be audited again afterwards.

Exit status: 0 it did its work, whatever was found; 3 it could not.`,
		Example: `  nightaudit cut run.jsonl --claims claims.json
  nightaudit cut run.jsonl --claims claims.json --context`,
		Args: needTraces,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check("text", "json"); err != nil {
				return err
			}
			if showContext {
				for _, file := range args {
					err := withOpenReports(cmd.Context(), file, f, func(reports []*audit.Report) error {
						return cutContext(cmd.OutOrStdout(), *config, reports)
					})
					if err != nil {
						return err
					}
				}
				return nil
			}
			return withReports(cmd.Context(), args, f, func(reports []*audit.Report) error {
				if f.format == "json" {
					return report.JSON(cmd.OutOrStdout(), reports)
				}
				return report.CutText(cmd.OutOrStdout(), reports)
			})
		},
	}
	f.add(cmd, "text or json")
	cmd.Flags().BoolVar(&showContext, "context", false, "print what a re-run would be sent, with the tools of the configuration")
	return cmd
}

// cutContext prints, for each segment, the messages that a re-run begins with.
func cutContext(w io.Writer, config string, reports []*audit.Report) error {
	cfg, err := loadConfig(config)
	if err != nil {
		return err
	}
	set, _, err := toolsOf(cfg)
	if err != nil {
		return err
	}
	policy := rerun.Policy{Unsupported: cfg.Rerun.Unsupported}
	for _, r := range reports {
		for n, s := range r.Segments {
			it, ok, err := rerun.Plan(r, s, rerun.Origin{RunKey: "cut", ClaimKeys: make([]string, len(r.Claims))}, policy, set)
			if err != nil {
				return err
			}
			if err := report.CutContext(w, r, n, it, ok, policy); err != nil {
				return err
			}
		}
	}
	return nil
}
