package main

import (
	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/report"
)

func cutCmd() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "cut TRACE",
		Short: "Show the segments that a re-run would redo, and where the context is cut",
		Long: `cut audits a trace and prints, for every segment that a claim fails in: the claims,
the checkpoint (the last call that a passing claim rests on before the fault), the
calls to redo, and the claims that have to be audited again afterwards.

Exit status: 0 it did its work, whatever was found; 3 it could not.`,
		Example: `  nightaudit cut run.jsonl --claims claims.json`,
		Args:    needTraces,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check("text", "json"); err != nil {
				return err
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
	return cmd
}
