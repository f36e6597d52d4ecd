package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/report"
	"nightaudit/scheduler"
	"nightaudit/trace"
	"nightaudit/trace/custom"
	"nightaudit/trace/detect"
)

// auditFlags are what audit and cut share.
type auditFlags struct {
	claims, schema, format string
	packs                  []string
	input, jq              string
	json                   bool
}

func (f *auditFlags) add(cmd *cobra.Command, formats string) {
	cmd.Flags().StringVar(&f.claims, "claims", "", "claims file, JSON or YAML (default: TRACE.claims.json or .yaml beside the trace)")
	cmd.Flags().StringVar(&f.schema, "schema", "", "pinned tool schema that the trace's envelopes must follow")
	cmd.Flags().StringSliceVar(&f.packs, "rules", nil, "rule packs of your own, beside the built-in one")
	f.addInput(cmd)
	cmd.Flags().StringVar(&f.format, "format", "text", "what to print: "+formats)
	cmd.Flags().BoolVar(&f.json, "json", false, "short for --format json")
}

// addInput adds the flags that say how traces are read.
func (f *auditFlags) addInput(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.input, "input-format", "auto", "form of the traces, in place of looking at their content: "+strings.Join(detect.Formats(), ", "))
	cmd.Flags().StringVar(&f.jq, "jq", "", "file with a jq filter that turns the values of a trace into native records")
}

func (f *auditFlags) check(formats ...string) error {
	if f.json {
		f.format = "json"
	}
	for _, known := range formats {
		if f.format == known {
			return nil
		}
	}
	return fmt.Errorf("--format %s is not known; it is one of %s", f.format, strings.Join(formats, ", "))
}

func auditCmd() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit TRACE…",
		Short: "Audit traces now and print the verdicts",
		Long: `audit holds the claims made about each trace against its tool calls and prints a
verdict a claim. Claims come from --claims, from a claims file beside the trace,
and from the trace itself.

Exit status: 0 every claim passes, 1 a claim is contradicted, 2 none is but one is
unsupported or nothing was checked, 3 the audit could not run.`,
		Example: `  nightaudit audit run.jsonl --claims claims.json
  nightaudit audit trace.jsonl --schema tools.schema.json --json`,
		Args: needTraces,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check("text", "json", "follows-from"); err != nil {
				return err
			}
			return withReports(cmd.Context(), args, f, func(reports []*audit.Report) error {
				return printAudit(cmd.OutOrStdout(), f.format, reports)
			})
		},
	}
	f.add(cmd, "text, json or follows-from")
	return cmd
}

func needTraces(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return errors.New("no trace given; say which file to audit: nightaudit audit TRACE --claims CLAIMS")
	}
	return nil
}

// printAudit prints reports and turns the worst verdict into the exit code.
func printAudit(w io.Writer, format string, reports []*audit.Report) error {
	var err error
	switch format {
	case "json":
		err = report.JSON(w, reports)
	case "follows-from":
		for _, r := range reports {
			err = errors.Join(err, report.FollowsFrom(w, r))
		}
	default:
		err = report.Text(w, reports)
	}
	if err != nil {
		return fmt.Errorf("print the verdicts: %w", err)
	}
	worst := audit.Pass
	for _, r := range reports {
		if v := r.Worst(); v.Worse(worst) {
			worst = v
		}
	}
	switch worst {
	case audit.Contradicted:
		return exitError{exitContradicted}
	case audit.Unsupported:
		return exitError{exitUnsupported}
	default:
		return nil
	}
}

// withReports audits the files and hands the reports to use. Each trace is closed
// when it is audited: a report holds all that is printed of it. A trace that cannot
// be read costs itself: the others are reported, and the error comes back.
func withReports(ctx context.Context, files []string, f auditFlags, use func([]*audit.Report) error) error {
	pack, given, err := f.inputs()
	if err != nil {
		return err
	}
	var reports []*audit.Report
	var failed []error
	for _, file := range files {
		err := withTrace(ctx, file, f, given, pack, func(more []*audit.Report) error {
			reports = append(reports, more...)
			return nil
		})
		if err != nil {
			failed = append(failed, err)
		}
	}
	if len(reports) == 0 {
		return errors.Join(failed...)
	}
	err = use(reports)
	if len(failed) == 0 {
		return err
	}
	if verdict := (exitError{}); !errors.As(err, &verdict) {
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// withOpenReports is withReports for one file that stays open meanwhile, for what
// looks into its bodies.
func withOpenReports(ctx context.Context, file string, f auditFlags, use func([]*audit.Report) error) error {
	pack, given, err := f.inputs()
	if err != nil {
		return err
	}
	return withTrace(ctx, file, f, given, pack, use)
}

// inputs reads what the flags name.
func (f *auditFlags) inputs() (audit.Rules, []claims.Claim, error) {
	if _, err := f.reader(); err != nil { // said once, and not for each trace
		return audit.Rules{}, nil, err
	}
	pack, err := rulesOf(f.packs)
	if err != nil {
		return pack, nil, plainPath(err)
	}
	given, err := f.load(pack)
	return pack, given, err
}

// withTrace opens a trace, audits its runs and hands their reports to use.
func withTrace(ctx context.Context, file string, f auditFlags, given []claims.Claim, pack audit.Rules, use func([]*audit.Report) error) error {
	src, closer, err := scheduler.OpenTrace("", file, "")
	if err != nil {
		return fmt.Errorf("open trace: %w", plainPath(err))
	}
	defer closer.Close()
	reports, err := auditFile(ctx, src, f, given, pack)
	if err != nil {
		return err
	}
	return use(reports)
}

// load reads the claims and the schema that the flags name.
func (f *auditFlags) load(pack audit.Rules) ([]claims.Claim, error) {
	var given []claims.Claim
	if f.claims != "" {
		list, err := scheduler.LoadClaims(f.claims, claims.SourceFile, pack.Kinds)
		if err != nil {
			return nil, plainPath(err)
		}
		given = list
	}
	if f.schema != "" {
		c, err := scheduler.SchemaClaim(f.schema)
		if err != nil {
			return nil, plainPath(err)
		}
		given = append(given, c)
	}
	return given, nil
}

// auditFile audits every run of one file.
func auditFile(ctx context.Context, src trace.Source, f auditFlags, given []claims.Claim, pack audit.Rules) ([]*audit.Report, error) {
	read, err := f.reader()
	if err != nil {
		return nil, err
	}
	if f.claims == "" {
		if beside := scheduler.ClaimsBeside(src.Name); beside != "" {
			list, err := scheduler.LoadClaims(beside, claims.SourceFile, pack.Kinds)
			if err != nil {
				return nil, err
			}
			given = append(list, given...)
		}
	}
	var reports []*audit.Report
	for run, err := range read(ctx, src) {
		if err != nil {
			return nil, fmt.Errorf("read trace: %w", err)
		}
		if run.Records == 0 && run.Ignored == 0 && len(run.BadLines) > 0 && len(given) == 0 {
			return nil, unreadable(src.Name, run)
		}
		rep, err := audit.Check(run, given, pack)
		if err != nil {
			return nil, fmt.Errorf("audit %s: %w", src.Name, err)
		}
		reports = append(reports, rep)
	}
	return reports, nil
}

// unreadable says of a file that nothing of it could be read, and what was tried.
func unreadable(name string, run *trace.Run) error {
	tried := ""
	for _, g := range run.Gaps {
		tried += "; " + g.Reason
	}
	return fmt.Errorf("%s holds nothing that can be read as a trace: line %d: %s%s", name, run.BadLines[0].Line, run.BadLines[0].Reason, tried)
}

// reader is that of the flags.
func (f *auditFlags) reader() (trace.Reader, error) {
	if f.jq != "" {
		filter, err := os.ReadFile(f.jq)
		if err != nil {
			return nil, fmt.Errorf("read the jq filter: %w", plainPath(err))
		}
		format, err := custom.New(f.jq, string(filter))
		if err != nil {
			return nil, err
		}
		return format.Read, nil
	}
	if f.input == "" || f.input == "auto" {
		return detect.Read, nil
	}
	read, ok := detect.Named(f.input)
	if !ok {
		return nil, fmt.Errorf("--input-format %s is not known; it is auto or one of %s", f.input, strings.Join(detect.Formats(), ", "))
	}
	return read, nil
}

// plainPath says what is wrong with a path in plain words.
func plainPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", path.Path)
	}
	return err
}
