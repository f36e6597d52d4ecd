package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/audit/rules"
	"nightaudit/scheduler"
	"nightaudit/trace"
	"nightaudit/trace/atif"
	"nightaudit/trace/detect"
	"nightaudit/trace/native"
)

// convertFiles lists traces of every format: the readers' samples, and real ones
// where NIGHTAUDIT_TRACES names their folder.
func convertFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../trace/*/testdata/*.json*")
	if err != nil {
		t.Fatal(err)
	}
	if root := os.Getenv("NIGHTAUDIT_TRACES"); root != "" {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.Contains(filepath.Ext(path), "js") {
				files = append(files, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return files
}

// TestConvert writes every run as native records and reads them again: the outcome
// of each call, and what is said of the run, must be the same.
func TestConvert(t *testing.T) {
	runs := 0
	for _, file := range convertFiles(t) {
		src, closer, err := scheduler.OpenTrace("", file, "")
		if err != nil {
			t.Fatal(err)
		}
		for run, err := range detect.Read(t.Context(), src) {
			if err != nil {
				break // not read at all: there is nothing to convert
			}
			runs++
			var text bytes.Buffer
			if err := native.Write(&text, run, nil); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			same(t, file+" as native", run, reread(t, native.Read, text.Bytes()))
			text.Reset()
			output := func(c *trace.Call) (string, error) { return outcome.Output(run, c) }
			if err := atif.Write(&text, run, output, nil); err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if format, err := detect.Format(t.Context(), trace.Source{Size: int64(text.Len()), ReaderAt: bytes.NewReader(text.Bytes())}); err != nil || format != atif.Format {
				t.Errorf("%s as a trajectory is taken for %s, %v", file, format, err)
			}
			same(t, file+" as a trajectory", run, reread(t, atif.Read, text.Bytes()))
		}
		closer.Close()
	}
	if runs < 10 {
		t.Errorf("only %d runs were converted", runs)
	}
}

// same holds a run that was converted to the one that it was made of.
func same(t *testing.T, file string, run, again *trace.Run) {
	t.Helper()
	if len(again.BadLines) > 0 {
		t.Errorf("%s: %v", file, again.BadLines)
	}
	want, got := said(t, run), said(t, again)
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			t.Errorf("%s: got  %s\nwant %s", file, got[i], want[i])
			break
		}
	}
	if len(want) != len(got) {
		t.Errorf("%s: %d lines, want %d", file, len(got), len(want))
	}
}

func reread(t *testing.T, read trace.Reader, text []byte) *trace.Run {
	t.Helper()
	for run, err := range read(t.Context(), trace.Source{Name: "converted", Size: int64(len(text)), ReaderAt: bytes.NewReader(text)}) {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return nil
}

// said lists what the audit finds: every call with its outcome and what it did, and
// the verdicts of the rules and of claims about the run as a whole.
func said(t *testing.T, run *trace.Run) []string {
	t.Helper()
	given, err := claims.Load("c.yaml", []byte(`
- {claim: nothing was deployed, must_not_call: [deploy]}
- {claim: no command failed, must_not_fail: [{class: shell}]}
- {claim: tests ran after the last edit, must_show: [{class: test, after: last_edit}]}
- {claim: something was read, must_show: [{class: read}]}
- {claim: it ended, run: {no_pending: true}}
- {claim: nothing was done twice, no_duplicates: [{class: edit}]}
`), claims.Options{Source: claims.SourceFile})
	if err != nil {
		t.Fatal(err)
	}
	rep, err := audit.Check(run, given, use(rules.Default()))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range run.Calls {
		c := &run.Calls[i]
		o, err := rep.Outcome(c)
		if err != nil {
			t.Fatal(err)
		}
		args, err := run.Value(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		decoded, _ := args.Decode()
		out = append(out, fmt.Sprintf("%s %s %s %s %d under %s batch %v in %q: %v", c.ID, c.Tool, o.Kind, o.Evidence, o.ExitCode, c.Parent, c.Batch != "", c.Cwd, decoded))
	}
	for _, j := range rep.Claims {
		out = append(out, fmt.Sprintf("%s: %s %s", j.Claim.Text, j.Verdict, j.Reason))
	}
	out = append(out, fmt.Sprintf("whole %v, task %q, summary %q, end %q, %v", run.Whole(), run.Task, run.Summary, run.EndReason, usage(run)))
	return out
}

func usage(run *trace.Run) []trace.Usage {
	out := slices.Clone(run.Usage)
	slices.SortFunc(out, func(a, b trace.Usage) int { return strings.Compare(a.Model, b.Model) })
	return out
}
