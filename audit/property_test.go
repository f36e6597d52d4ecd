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

// load reads a real case: its trace's lines and its claims.
func (c realCase) load(t *testing.T) ([][]byte, []claims.Claim) {
	t.Helper()
	var lines [][]byte
	for _, l := range c.Trace {
		lines = append(lines, l)
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
	return lines, list
}

func judgeLines(t *testing.T, lines [][]byte, list []claims.Claim) *Report {
	t.Helper()
	return check(t, readRun(t, append(bytes.Join(lines, []byte("\n")), '\n')), list)
}

// unrelated are calls that no claim of the cases is about.
var unrelated = []string{
	`{"type": "tool_call", "id": "zz1", "tool": "weather.lookup", "args": {"city": "Oslo"}, "ok": true, "result": {"degrees": 4}}`,
	`{"type": "tool_call", "id": "zz2", "tool": "weather.lookup", "args": {"city": "Rome"}, "ok": false, "error": "timeout"}`,
	`{"type": "assistant_text", "text": "Looking at the weather."}`,
}

// A call that no claim is about never turns a PASS into an accusation.
func TestProperty_UnrelatedCallsAccuseNobody(t *testing.T) {
	eachCase(t, "cases.jsonl", func(c realCase) string { return c.ID }, func(t *testing.T, c realCase) {
		lines, list := c.load(t)
		before := judgeLines(t, lines, list)
		for at := range len(lines) {
			for _, line := range unrelated {
				after := judgeLines(t, slices.Insert(slices.Clone(lines), at, []byte(line)), list)
				for i := range before.Claims {
					if before.Claims[i].Verdict == Pass && after.Claims[i].Verdict != Pass && len(list[i].Count) == 0 && list[i].Envelope == nil {
						t.Errorf("claim %d: %s inserted at line %d makes it %s %s", i+1, line, at+1, after.Claims[i].Verdict, after.Claims[i].Reason)
					}
				}
			}
		}
	})
}

// Without the calls that it rests on, no claim that shows something passes.
func TestProperty_NoEvidenceNoPass(t *testing.T) {
	eachCase(t, "cases.jsonl", func(c realCase) string { return c.ID }, func(t *testing.T, c realCase) {
		lines, list := c.load(t)
		before := judgeLines(t, lines, list)
		for i, j := range before.Claims {
			if j.Verdict != Pass || len(list[i].MustShow)+len(list[i].Quotes)+len(list[i].Coverage) == 0 {
				continue
			}
			drop := map[int]bool{}
			for _, ref := range j.Evidence {
				drop[ref.Line] = true
			}
			var rest [][]byte
			for k, l := range lines {
				if !drop[k+1] {
					rest = append(rest, l)
				}
			}
			if after := judgeLines(t, rest, list); after.Claims[i].Verdict == Pass {
				// Another call may show the same; then that one is its evidence now.
				if len(after.Claims[i].Evidence) == 0 {
					t.Errorf("claim %d passes without any evidence: %+v", i+1, after.Claims[i].Findings)
				}
			}
		}
	})
}

// The order of claims changes nothing about each, and the same input gives the
// same answer.
func TestProperty_OrderOfClaims(t *testing.T) {
	eachCase(t, "cases.jsonl", func(c realCase) string { return c.ID }, func(t *testing.T, c realCase) {
		lines, list := c.load(t)
		before, again := judgeLines(t, lines, list), judgeLines(t, lines, list)
		if a, b := shape(t, before), shape(t, again); a != b {
			t.Errorf("twice judged, twice different:\n%s\n%s", a, b)
		}
		back := slices.Clone(list)
		slices.Reverse(back)
		after := judgeLines(t, lines, back)
		slices.Reverse(after.Claims)
		for i := range before.Claims {
			if a, b := fmt.Sprintf("%+v", before.Claims[i].Findings), fmt.Sprintf("%+v", after.Claims[i].Findings); a != b {
				t.Errorf("claim %d depends on its place:\n%s\n%s", i+1, a, b)
			}
		}
	})
}

// shape writes a report's verdicts, findings and segments.
func shape(t *testing.T, r *Report) string {
	t.Helper()
	type judged struct {
		Verdict   Verdict
		Reason    Reason
		Strength  string
		Recovered bool
		Findings  []Finding
		Evidence  []CallRef
	}
	var list []judged
	for _, j := range r.Claims {
		list = append(list, judged{j.Verdict, j.Reason, j.Strength, j.Recovered, j.Findings, j.Evidence})
	}
	raw, err := json.Marshal(struct {
		Claims   []judged
		Segments []Segment
		Totals   Totals
	}{list, r.Segments, r.Totals})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
