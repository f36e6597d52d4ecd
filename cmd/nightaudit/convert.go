package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nightaudit/audit/outcome"
	"nightaudit/scheduler"
	"nightaudit/trace"
	"nightaudit/trace/atif"
	"nightaudit/trace/native"
)

func convertCmd() *cobra.Command {
	var f auditFlags
	var to string
	var run int
	var raw bool
	cmd := &cobra.Command{
		Use:   "convert TRACE",
		Short: "Write what was read of a trace in another form",
		Long: `convert reads a trace and writes what was read of it to the standard output, in the
native format or as an ATIF trajectory: for a look at what the audit sees, for a trace
to keep or to pass on. Reading it again gives the same verdicts. What could not be
read becomes a gap.

Secrets are taken out; --raw leaves them in.

Exit status: 0 it was written, 3 it could not.`,
		Example: `  nightaudit convert session.jsonl > session.native.jsonl
  nightaudit convert runs.json --run 2 --to atif`,
		Args: needOneTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to != "native" && to != atif.Format {
				return fmt.Errorf("--to %s is not known; it is native or atif", to)
			}
			read, err := f.reader()
			if err != nil {
				return err
			}
			src, closer, err := scheduler.OpenTrace("", args[0], "")
			if err != nil {
				return fmt.Errorf("open trace: %w", plainPath(err))
			}
			defer closer.Close()
			redact := trace.RedactJSON
			if raw {
				redact = nil
			}
			var runs []*trace.Run
			for r, err := range read(cmd.Context(), src) {
				if err != nil {
					return fmt.Errorf("read trace: %w", err)
				}
				runs = append(runs, r)
			}
			switch {
			case len(runs) == 0:
				return fmt.Errorf("%s holds no run", args[0])
			case len(runs) > 1 && run == 0:
				return hintError{fmt.Errorf("%s holds %d runs, and what is written holds one", args[0], len(runs)), "say which with --run N"}
			case run > len(runs) || run < 0:
				return fmt.Errorf("--run %d: %s holds %d", run, args[0], len(runs))
			}
			chosen := runs[max(run, 1)-1]
			if to == atif.Format {
				output := func(c *trace.Call) (string, error) { return outcome.Output(chosen, c) }
				return atif.Write(cmd.OutOrStdout(), chosen, output, redact)
			}
			return native.Write(cmd.OutOrStdout(), chosen, redact)
		},
	}
	f.addInput(cmd)
	cmd.Flags().StringVar(&to, "to", "native", "form to write: native or atif")
	cmd.Flags().IntVar(&run, "run", 0, "which run of a trace of several, from 1")
	cmd.Flags().BoolVar(&raw, "raw", false, "leave secrets in")
	return cmd
}

func needOneTrace(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("convert takes one trace: nightaudit convert TRACE")
	}
	return nil
}
