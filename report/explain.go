package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"nightaudit/audit"
)

// Reason writes what a reason code means.
func Reason(w io.Writer, e audit.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s)\n\n%s\n\nTo clear it: %s\n", e.Reason, e.Verdict, e.Group, e.Means, e.Clear)
	if e.Trace != "" {
		fmt.Fprintf(&b, "\nExample trace:\n  %s\n", strings.ReplaceAll(e.Trace, "\n", "\n  "))
	}
	if e.Claims != "" {
		fmt.Fprintf(&b, "\nExample claims:\n  %s\n", e.Claims)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ReasonsMarkdown writes the page of all reasons.
func ReasonsMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString(`# Verdicts and reasons

<!-- Made from audit/reasons.go: go test ./report -run TestReasonsMarkdown -update -->

PASS: every requirement of the claim is shown by calls in the trace. UNSUPPORTED: the trace does not show it (missing), or does not let anyone tell (unclear).
CONTRADICTED: recorded evidence about this very claim says otherwise. The worst finding decides. ` + "`nightaudit explain CODE`" + ` prints one of these paragraphs.
`)
	group := ""
	for _, e := range audit.Explanations() {
		if e.Group != group {
			group = e.Group
			fmt.Fprintf(&b, "\n## %s: %s\n", e.Verdict, group)
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\nTo clear it: %s\n", e.Reason, e.Means, e.Clear)
		if e.Trace != "" {
			fmt.Fprintf(&b, "\n```text\n%s\n%s```\n", e.Trace, lineOf(e.Claims))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func lineOf(s string) string {
	if s == "" {
		return ""
	}
	return s + "\n"
}

// Claim writes a claim's requirements, each with its finding and every call that
// was considered for it.
func Claim(w io.Writer, j audit.Judged, considered []audit.Considered) error {
	var b strings.Builder
	claimText(&b, j)
	for _, c := range considered {
		fmt.Fprintf(&b, "\n%s %s\n", c.Requirement, Safe(string(c.Asks)))
		if len(c.Calls) == 0 {
			b.WriteString("  no call comes into question\n")
		}
		const most = 50
		for n, call := range c.Calls {
			if n == most {
				fmt.Fprintf(&b, "  … and %s\n", plural(len(c.Calls)-most, "more call"))
				break
			}
			mark := "-"
			if call.Counts {
				mark = "+"
			}
			fmt.Fprintf(&b, "  %s %s %s: %s\n", mark, Safe(call.Place()), Safe(toolName(call.CallRef)), Safe(call.Why))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Stored is a verdict as it lies in the database.
type Stored struct {
	Key, Statement, Verdict, Reason, Source string
	Findings, Requirement                   json.RawMessage
	Audited                                 time.Time
	Calls                                   []StoredCall
}

// StoredCall is what was kept of a call.
type StoredCall struct {
	Line                    int
	Tool, Arguments, Result string
}

// StoredClaim writes a stored verdict with what was kept of its calls.
func StoredClaim(w io.Writer, s Stored) error {
	var findings []struct {
		Requirement, Verdict, Detail string
		Reason                       *string
		Calls                        []struct{ Line int }
	}
	if err := json.Unmarshal(s.Findings, &findings); err != nil {
		return fmt.Errorf("read findings of %s: %w", s.Key, err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s %s\n%skey %s, from %s, audited %s\n%srequires %s\n", s.Verdict, Safe(s.Statement), indent, s.Key[:min(keyDigits, len(s.Key))], s.Source,
		s.Audited.Format(time.RFC3339), indent, Safe(short(string(s.Requirement), 500)))
	named := map[int]bool{}
	for _, f := range findings {
		reason := "shown"
		if f.Reason != nil {
			reason = *f.Reason
		}
		var at []int
		for _, c := range f.Calls {
			named[c.Line] = true
			at = append(at, c.Line)
		}
		fmt.Fprintf(&b, "%s%s: %s%s %s\n", indent, f.Requirement, reason, linesText(at), Safe(f.Detail))
	}
	for _, c := range s.Calls {
		if named[c.Line] {
			fmt.Fprintf(&b, "\nline %d %s\n  arguments %s\n  result    %s\n", c.Line, Safe(c.Tool), Safe(short(c.Arguments, 1000)), Safe(short(c.Result, 2000)))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
