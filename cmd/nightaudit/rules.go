package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/audit/rules"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

// rulesOf puts the built-in rule pack together with the operator's own.
func rulesOf(files []string) (audit.Rules, error) {
	pack := rules.Default()
	for _, file := range files {
		more, err := readPack(file)
		if err != nil {
			return audit.Rules{}, err
		}
		pack = pack.With(more)
	}
	return use(pack), nil
}

func readPack(file string) (*rules.Pack, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return rules.Parse(file, data)
}

// use is a pack as the audit takes it.
func use(pack *rules.Pack) audit.Rules {
	return audit.Rules{Kinds: pack.Kinds(), Tables: pack.Tables(), Statements: pack.Statements}
}

func rulesCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "rules", Short: "Work on rule packs", Args: cobra.NoArgs, RunE: showHelp}
	cmd.AddCommand(&cobra.Command{
		Use:   "lint FILE…",
		Short: "Check rule packs by their own examples",
		Long: `lint reads rule packs as audit does, in the order given, and holds each rule to its
examples: the sentences that it must and must not fit, and the traces that must pass
and fail.

Exit status: 0 every pack is good, 3 one is not.`,
		Args: someFiles("rule pack", "nightaudit rules lint pack.yaml"),
		RunE: func(cmd *cobra.Command, files []string) error {
			pack := rules.Default()
			var errs []error
			for _, file := range files {
				more, err := readPack(file)
				if err != nil {
					errs = append(errs, plainPath(err))
					continue
				}
				pack = pack.With(more)
				held, faults := tryExamples(cmd.Context(), file, more, use(pack))
				if errs = append(errs, faults...); len(faults) == 0 {
					fmt.Fprintf(cmd.OutOrStdout(), "%s: %d rules, %d traces judged as expected\n", file, len(more.Rules()), held)
				}
			}
			return errors.Join(errs...)
		},
	})
	return cmd
}

// tryExamples audits the traces among a pack's examples, each against its sentence.
func tryExamples(ctx context.Context, file string, pack *rules.Pack, all audit.Rules) (held int, faults []error) {
	for _, r := range pack.Rules() {
		for _, e := range slices.Concat(r.Examples.Pass, r.Examples.Fail) {
			got, err := tryExample(ctx, r.Kind, e, all)
			switch want := strings.TrimSpace(e.Verdict + " " + e.Reason); {
			case err != nil:
				faults = append(faults, fmt.Errorf("%s:%d: %s: %w", file, e.Line, r.Kind, err))
			case got != want && (e.Reason != "" || !strings.HasPrefix(got, want)):
				faults = append(faults, fmt.Errorf("%s:%d: %s: %q is %s by its trace, and the example says %s", file, e.Line, r.Kind, e.Sentence, got, want))
			default:
				held++
			}
		}
	}
	return held, faults
}

// tryExample returns the verdict and reason of a kind's claim in an example.
func tryExample(ctx context.Context, kind string, e rules.Example, all audit.Rules) (string, error) {
	text := []byte(strings.Join(e.Trace, "\n") + "\n")
	for run, err := range native.Read(ctx, trace.Source{Name: "example", Size: int64(len(text)), ReaderAt: bytes.NewReader(text)}) {
		if err != nil {
			return "", err
		}
		if len(run.BadLines) > 0 {
			return "", fmt.Errorf("record %d of the example's trace cannot be read: %s", run.BadLines[0].Line, run.BadLines[0].Reason)
		}
		run.Summary = "" // the sentence is the claim, and not what the trace says beside it
		list, _ := all.Statements(e.Sentence)
		rep, err := audit.Check(run, list, all)
		if err != nil {
			return "", err
		}
		for _, j := range rep.Claims {
			if j.Claim.Kind == kind {
				return strings.TrimSpace(string(j.Verdict) + " " + string(j.Reason)), nil
			}
		}
	}
	return "", fmt.Errorf("%q is no claim of this kind", e.Sentence)
}
