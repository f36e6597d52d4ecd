package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"

	"nightaudit/audit/claims"
)

// realCase is a public report of a claim that was wrong, or of a true run that a
// naive check would accuse.
type realCase struct {
	ID       string
	Trace    []json.RawMessage
	Claims   json.RawMessage
	Files    map[string]string
	Expected []struct {
		Verdict   Verdict
		Reason    any
		Recovered bool
	}
	Checkpoint *struct {
		FinalSupport  *string `json:"final_support"`
		CutAfter      *string `json:"cut_after"`
		SegmentStarts *string `json:"segment_starts"`
		Downstream    []int
	}
}

func TestCheck_RealCases(t *testing.T) {
	eachCase(t, "cases.jsonl", func(c realCase) string { return c.ID }, checkRealCase)
}

// One case for each sentence of the contract, by the rule that it is about.
func TestCheck_ContractCases(t *testing.T) {
	eachCase(t, "contract.jsonl", func(c realCase) string { return c.ID }, checkRealCase)
}

func checkRealCase(t *testing.T, c realCase) {
	t.Helper()
	var text bytes.Buffer
	for _, line := range c.Trace {
		text.Write(line)
		text.WriteByte('\n')
	}
	list, err := claims.Load("claims.json", c.Claims, claims.Options{
		Source: claims.SourceFile,
		ReadFile: func(name string) ([]byte, error) {
			if data, ok := c.Files[name]; ok {
				return []byte(data), nil
			}
			return nil, os.ErrNotExist
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	rep := check(t, readRun(t, text.Bytes()), list)
	for i, want := range c.Expected {
		got := rep.Claims[i]
		if got.Verdict != want.Verdict || !oneOf(want.Reason, got.Reason) || got.Recovered != want.Recovered {
			t.Errorf("claim %d is %s %s recovered=%v, want %s %v recovered=%v\n%+v", i+1, got.Verdict, got.Reason, got.Recovered, want.Verdict, want.Reason, want.Recovered, got.Findings)
		}
	}
	if c.Checkpoint == nil {
		if len(rep.Segments) > 0 {
			t.Errorf("there are segments: %+v", rep.Segments)
		}
		return
	}
	if len(rep.Segments) != 1 {
		t.Fatalf("%d segments, want 1", len(rep.Segments))
	}
	s := rep.Segments[0]
	for _, p := range []struct {
		what string
		got  *CallRef
		want *string
	}{{"checkpoint", s.Checkpoint, c.Checkpoint.FinalSupport}, {"cut", s.Cut, c.Checkpoint.CutAfter}, {"start", s.Start, c.Checkpoint.SegmentStarts}} {
		if got, want := named(p.got), p.want; (want == nil) != (p.got == nil) || want != nil && got != *want {
			t.Errorf("%s is %s, want %v", p.what, got, deref(want))
		}
	}
	if !slices.Equal(s.Downstream, c.Checkpoint.Downstream) {
		t.Errorf("downstream %v, want %v", s.Downstream, c.Checkpoint.Downstream)
	}
}

func named(r *CallRef) string {
	switch {
	case r == nil:
		return "null"
	case r.ID != "":
		return r.ID.String()
	default:
		return fmt.Sprintf("line:%d", r.Line)
	}
}

func deref(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}
