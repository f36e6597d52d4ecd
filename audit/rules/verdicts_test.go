package rules_test

import (
	"bytes"
	"strings"
	"testing"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/audit/rules"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

// TestExamples_Verdicts holds every example against its trace: what an honest run
// shows must pass.
func TestExamples_Verdicts(t *testing.T) {
	for _, r := range rules.Default().Rules() {
		for _, e := range append(r.Examples.Pass, r.Examples.Fail...) {
			t.Run(r.Kind, func(t *testing.T) {
				run := readRun(t, e.Trace)
				list, _ := rules.Default().Statements(e.Sentence)
				found := false
				for _, j := range judge(t, run, list) {
					if j.Claim.Kind != r.Kind {
						continue
					}
					found = true
					if string(j.Verdict) != e.Verdict || e.Reason != "" && string(j.Reason) != e.Reason {
						t.Errorf("%q is %s %s, want %s %s\n%s\n%+v", e.Sentence, j.Verdict, j.Reason, e.Verdict, e.Reason, strings.Join(e.Trace, "\n"), j.Findings)
					}
				}
				if !found {
					t.Errorf("%q is no claim of this kind", e.Sentence)
				}
			})
		}
	}
}

// TestExamples_Each: a rule without examples of both verdicts is a guess.
func TestExamples_Each(t *testing.T) {
	for _, r := range rules.Default().Rules() {
		if e := r.Examples; len(e.Fits) < 8 || len(e.FitsNot) < 8 || len(e.Pass) == 0 || len(e.Fail) == 0 {
			t.Errorf("%s: %d sentences fit, %d do not, %d traces pass, %d fail", r.Kind, len(e.Fits), len(e.FitsNot), len(e.Pass), len(e.Fail))
		}
	}
}

func judge(t *testing.T, run *trace.Run, list []claims.Claim) []audit.Judged {
	t.Helper()
	rep, err := audit.Check(run, list, audit.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	return rep.Claims
}

func readRun(t *testing.T, lines []string) *trace.Run {
	t.Helper()
	text := []byte(strings.Join(lines, "\n") + "\n")
	src := trace.Source{Name: "run.jsonl", Size: int64(len(text)), ReaderAt: bytes.NewReader(text)}
	for run, err := range native.Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return nil
}
