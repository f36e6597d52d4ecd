package report

import (
	"fmt"
	"io"
	"strings"

	"nightaudit/audit"
	"nightaudit/rerun"
	"nightaudit/trace"
)

// CutText writes the segments of each run: what a re-run keeps, and what it redoes.
func CutText(w io.Writer, reports []*audit.Report) error {
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteByte('\n')
		}
		if len(reports) > 1 {
			fmt.Fprintf(&b, "%s\n", Safe(runName(r.Run)))
		}
		cutRun(&b, r)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cutRun(b *strings.Builder, r *audit.Report) {
	if why := NothingChecked(r); why != "" {
		fmt.Fprintf(b, "nothing to cut: nothing was checked: %s\n", why)
		return
	}
	if len(r.Segments) == 0 {
		b.WriteString("nothing to cut: every claim passes\n")
		return
	}
	for i, s := range r.Segments {
		fmt.Fprintf(b, "segment %d\n", i+1)
		for _, c := range s.Claims {
			j := r.Claims[c]
			fmt.Fprintf(b, "  fails       %s %s: %s (%s)%s\n", j.Verdict, Safe(j.Claim.ID), Safe(j.Claim.Text), j.Reason, byHand(j))
		}
		fmt.Fprintf(b, "  checkpoint  %s\n", checkpointText(s))
		fmt.Fprintf(b, "  keep        %s\n", keepText(r.Run, s))
		fmt.Fprintf(b, "  redo        %s\n", redoText(s))
		for _, d := range s.Downstream {
			fmt.Fprintf(b, "  audit again %s: %s\n", Safe(r.Claims[d].Claim.ID), Safe(r.Claims[d].Claim.Text))
		}
	}
}

// CutContext writes what a re-run of segment n would be sent: the two messages, a
// bound of their tokens, and why a claim is left out of it.
func CutContext(w io.Writer, r *audit.Report, n int, it rerun.Item, queued bool, p rerun.Policy) error {
	var b strings.Builder
	fmt.Fprintf(&b, "segment %d\n", n+1)
	for _, c := range r.Segments[n].Claims {
		j := r.Claims[c]
		if ok, why := p.Queueable(j); !ok {
			fmt.Fprintf(&b, "  left out: %s: %s\n", Safe(j.Claim.ID), why)
		}
	}
	if !queued {
		b.WriteString("  nothing would be sent\n")
	} else {
		fmt.Fprintf(&b, "  at most %s tokens of context; tools that the claims need: %s\n", digits(it.Estimate), Safe(strings.Join(it.Tools, ", ")))
		fmt.Fprintf(&b, "--- system\n%s\n--- user\n%s", lines(it.System), lines(it.User))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// lines makes a text of several lines safe, line by line.
func lines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString(Safe(strings.TrimSuffix(line, "\n")))
		b.WriteByte('\n')
	}
	return b.String()
}

func byHand(j audit.Judged) string {
	if j.Reason.NeedsPerson() {
		return ": needs a person, no re-run mends it"
	}
	return ""
}

func checkpointText(s audit.Segment) string {
	if s.Checkpoint == nil {
		return "the beginning (no claim passes before the fault)"
	}
	return callText(s.Checkpoint)
}

func keepText(run *trace.Run, s audit.Segment) string {
	if s.Cut == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s up to %s", plural(len(s.Prefix(run)), "call"), callText(s.Cut))
}

func redoText(s audit.Segment) string {
	if s.Start == nil {
		return "what is missing, behind the last call"
	}
	if *s.Start == *s.End {
		return callText(s.Start)
	}
	return fmt.Sprintf("%s to %s", callText(s.Start), callText(s.End))
}

func callText(c *audit.CallRef) string {
	text := fmt.Sprintf("%s %s", Safe(c.Place()), Safe(toolName(*c)))
	if c.ID != "" && c.Tool != "" {
		text += " (" + Safe(c.ID.String()) + ")"
	}
	return text
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
