package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/trace"
)

// Text writes reports as two columns, VERDICT and claim, with the reason, the
// calls and their lines under what is not PASS.
func Text(w io.Writer, reports []*audit.Report) error {
	var b strings.Builder
	for i, r := range reports {
		if len(reports) > 1 {
			if i > 0 {
				b.WriteByte('\n')
			}
			fmt.Fprintf(&b, "%s\n", Safe(runName(r.Run)))
		}
		runText(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func runName(run *trace.Run) string {
	if run.ID == "" {
		return run.Source
	}
	return run.Source + " (run " + run.ID + ")"
}

const indent = "             " // as wide as the verdict's column

func runText(b *strings.Builder, r *audit.Report) {
	for _, j := range r.Claims {
		claimText(b, j)
	}
	if why := NothingChecked(r); why != "" {
		fmt.Fprintf(b, "nothing checked: %s\n", why)
	}
	if n := len(r.NotChecked); n > 0 {
		fmt.Fprintf(b, "%d of %d statements not checked\n", n, r.Totals.Statements)
	}
	for _, g := range r.Run.Gaps {
		fmt.Fprintf(b, "gap on line %d: %s\n", g.Pos.Line, Safe(g.Reason))
	}
	for i, bad := range r.Run.BadLines {
		if i == 20 {
			fmt.Fprintf(b, "… and %d more unreadable lines\n", len(r.Run.BadLines)-i)
			break
		}
		fmt.Fprintf(b, "line %d cannot be read: %s\n", bad.Line, Safe(bad.Reason))
	}
	for _, s := range r.Secrets {
		fmt.Fprintf(b, "line %d holds a secret (%s) at %s: take it out of the trace and replace it where it is valid\n", s.Line, Safe(s.Kind), Safe(s.Place))
	}
}

func claimText(b *strings.Builder, j audit.Judged) {
	fmt.Fprintf(b, "%-12s %s%s\n", j.Verdict, Safe(j.Claim.Text), remarks(j))
	if j.Verdict == audit.Pass {
		return
	}
	worstFirst := slices.Clone(j.Findings)
	slices.SortStableFunc(worstFirst, func(x, y audit.Finding) int {
		switch {
		case x.Verdict.Worse(y.Verdict):
			return -1
		case y.Verdict.Worse(x.Verdict):
			return 1
		}
		return 0
	})
	said := map[string]bool{}
	for _, f := range worstFirst {
		line := fmt.Sprintf("%s%s%s: %s\n", indent, f.Reason, places(f), Safe(f.Detail))
		if f.Verdict == audit.Pass || said[line] { // several requirements may say the same
			continue
		}
		said[line] = f.Expected == nil && f.Observed == nil
		b.WriteString(line)
		if f.Expected != nil {
			fmt.Fprintf(b, "%s  expected %s\n", indent, short(Safe(string(redacted(f.Expected))), 200))
		}
		if f.Observed != nil {
			fmt.Fprintf(b, "%s  observed %s\n", indent, short(Safe(string(redacted(f.Observed))), 200))
		}
	}
}

func remarks(j audit.Judged) string {
	var out string
	if j.Claim.Source == claims.SourceRule {
		out = "  (" + j.Claim.Kind + ")" // one sentence may make several claims
	}
	if j.Recovered {
		out += "  (recovered)"
	}
	if j.OwnMeasure {
		out += "  (own measure)"
	}
	return out
}

// places names the calls of a finding: "config.write, line 1".
func places(f audit.Finding) string {
	if len(f.Calls) == 0 {
		return ""
	}
	const most = 5
	var parts []string
	for i, c := range f.Calls {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(f.Calls)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", Safe(toolName(c)), Safe(c.Place())))
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func toolName(c audit.CallRef) string {
	switch {
	case c.Tool != "":
		return c.Tool
	case c.ID != "":
		return "result " + c.ID.String()
	default:
		return "a call without a tool"
	}
}

// NothingChecked says why no claim of a run was judged; "" where one was.
func NothingChecked(r *audit.Report) string {
	switch {
	case r.Totals.Checked > 0:
		return ""
	case len(r.Claims) > 0:
		return "the only claims are the agent's own, measured by its own requirements"
	case len(r.NotChecked) > 0:
		return "no claims were given, and nothing checks the statements of the summary; write a claims file, or name one with --claims"
	case r.Run.Records == 0:
		return "the trace is empty"
	default:
		return "no claims were given, and the trace makes none; write a claims file, or name one with --claims"
	}
}
