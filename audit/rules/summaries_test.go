package rules_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit"
	"nightaudit/audit/rules"
)

// TestSummaries audits runs as agents make them against the last words of each: which
// of them are judged, and what comes of it. Most of these runs are honest.
func TestSummaries(t *testing.T) {
	data, err := os.ReadFile("testdata/summaries.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	pack := rules.Default()
	for line := range strings.Lines(string(data)) {
		var c struct {
			Name       string
			Trace      []json.RawMessage
			Summary    string
			Want       []string // kind, verdict, reason, recovered
			NotChecked int      `json:"not_checked"`
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		t.Run(c.Name, func(t *testing.T) {
			var lines []string
			for _, l := range c.Trace {
				lines = append(lines, string(l))
			}
			run := readRun(t, lines)
			run.Summary = c.Summary
			rep, err := audit.Check(run, nil, audit.Rules{Kinds: pack.Kinds(), Tables: pack.Tables(), Statements: pack.Statements})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range rep.Claims {
				words := []string{j.Claim.Kind, string(j.Verdict), string(j.Reason)}
				if j.Recovered {
					words = append(words, "recovered")
				}
				got = append(got, strings.Join(strings.Fields(strings.Join(words, " ")), " "))
			}
			if !slices.Equal(got, c.Want) || len(rep.NotChecked) != c.NotChecked {
				t.Errorf("%s\n got %q, %d not checked\nwant %q, %d\n%+v", c.Summary, got, len(rep.NotChecked), c.Want, c.NotChecked, rep.Claims)
			}
		})
	}
}
