package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"nightaudit/audit"
	"nightaudit/budget"
	"nightaudit/rerun"
	"nightaudit/trace"
)

// Night is what a pass, or all passes since a time, have found and done: the
// digest that a person reads in the morning.
type Night struct {
	Since, Until time.Time
	Runs         []NightRun
	Attempts     []rerun.Attempt
	Waiting      []rerun.Waiting // segments that are neither repaired nor given up
	Problems     []Problem
	Budget       budget.Report
	// PlanMode says why nothing is re-run; "" where an endpoint is configured.
	PlanMode string
}

// NightRun is one audited run of the night.
type NightRun struct {
	Path, SessionID                             string
	Calls, BadLines                             int
	Pass, Unsupported, Contradicted, NotChecked int
	OwnMeasure                                  int
	Claims                                      []NightClaim // those that are not PASS
}

// NightClaim is a claim that did not pass.
type NightClaim struct {
	Key, Statement, Verdict, Reason, Detail string
	Lines                                   []int
	// Outcome of the latest re-run, "" where there was none.
	Outcome rerun.Outcome
}

// Problem is a trace that could not be audited.
type Problem struct {
	Path, Reason string
	Count        int
	Quarantined  bool
}

// keyDigits is how much of a claim's key is shown: what rerun, explain and
// history take.
const keyDigits = 8

// NightText writes the digest.
func NightText(w io.Writer, n Night) error {
	var b strings.Builder
	var pass, unsupported, contradicted, unchecked int
	for _, r := range n.Runs {
		pass += r.Pass - r.OwnMeasure
		unsupported += r.Unsupported
		contradicted += r.Contradicted
		unchecked += r.NotChecked
	}
	fmt.Fprintf(&b, "%s audited: %d PASS, %d UNSUPPORTED, %d CONTRADICTED; %s not checked\n",
		plural(len(n.Runs), "run"), pass, unsupported, contradicted, plural(unchecked, "statement"))
	if n := uncheckedRuns(n.Runs); n > 0 {
		fmt.Fprintf(&b, "%s: nothing checked\n", plural(n, "run"))
	}
	for _, r := range n.Runs {
		nightRun(&b, r)
	}
	nightEnd(&b, n)
	_, err := io.WriteString(w, b.String())
	return err
}

// uncheckedRuns counts the runs of which no claim was judged.
func uncheckedRuns(runs []NightRun) int {
	n := 0
	for _, r := range runs {
		if r.checked() == 0 {
			n++
		}
	}
	return n
}

// checked counts the claims that were judged by a measure other than their own.
func (r NightRun) checked() int { return r.Pass - r.OwnMeasure + r.Unsupported + r.Contradicted }

// QueueText writes what waits, what cannot be audited, and the budget: a digest
// without its runs.
func QueueText(w io.Writer, n Night) error {
	var b strings.Builder
	if len(n.Waiting) == 0 {
		b.WriteString("no segment waits for a re-run\n")
	}
	nightEnd(&b, n)
	_, err := io.WriteString(w, strings.TrimPrefix(b.String(), "\n"))
	return err
}

func nightEnd(b *strings.Builder, n Night) {
	nightProblems(b, n.Problems)
	nightReruns(b, n)
	if n.Budget.Allowance > 0 {
		b.WriteByte('\n')
		b.WriteString(budgetLine(n.Budget))
	}
}

func nightRun(b *strings.Builder, r NightRun) {
	if len(r.Claims) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", Safe(r.Path))
	for _, c := range r.Claims {
		outcome := ""
		switch {
		case c.Outcome != "":
			outcome = "  → " + string(c.Outcome)
		case audit.Reason(c.Reason).NeedsPerson():
			outcome = "  (needs a person: no re-run mends it)"
		}
		fmt.Fprintf(b, "  %-12s %s  %s%s\n", c.Verdict, c.Key[:min(keyDigits, len(c.Key))], Safe(c.Statement), outcome)
		fmt.Fprintf(b, "               %s%s: %s\n", c.Reason, linesText(c.Lines), Safe(c.Detail))
	}
}

func linesText(lines []int) string {
	const most = 5
	var parts []string
	for i, l := range lines {
		if i == most {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprint(l))
	}
	switch len(lines) {
	case 0:
		return ""
	case 1:
		return " (line " + parts[0] + ")"
	default:
		return " (lines " + strings.Join(parts, ", ") + ")"
	}
}

func nightProblems(b *strings.Builder, problems []Problem) {
	if len(problems) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s could not be audited\n", plural(len(problems), "trace"))
	for _, p := range problems {
		state := ""
		if p.Quarantined {
			state = "; left alone until it or its claims change, or run --once --reaudit"
		}
		fmt.Fprintf(b, "  %s: %s (%s%s)\n", Safe(p.Path), short(Safe(p.Reason), 300), plural(p.Count, "failure"), state)
	}
}

func nightReruns(b *strings.Builder, n Night) {
	if len(n.Attempts) > 0 {
		fmt.Fprintf(b, "\n%s\n", plural(len(n.Attempts), "re-run"))
		for _, a := range n.Attempts {
			attemptText(b, a)
		}
	}
	if len(n.Waiting) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s waiting for a re-run", plural(len(n.Waiting), "segment"))
	if n.PlanMode != "" {
		fmt.Fprintf(b, " (nothing is sent: %s)", n.PlanMode)
	}
	b.WriteByte('\n')
	for _, w := range n.Waiting {
		fmt.Fprintf(b, "  %s  %s%s\n", claimsOf(w), Safe(w.Path), waitNote(w))
	}
}

func attemptText(b *strings.Builder, a rerun.Attempt) {
	outcome := string(a.Outcome)
	if outcome == "" {
		outcome = "not judged"
	}
	fmt.Fprintf(b, "  %-13s attempt %d, %d tokens, ended by %s: %s\n", outcome, a.Number, a.Tokens, Safe(a.StopReason), Safe(a.Path))
	for _, c := range a.Claims {
		fmt.Fprintf(b, "                %s  %s → %s: %s\n", c.Key[:min(keyDigits, len(c.Key))], c.First, c.Outcome, Safe(c.Text))
		if c.Detail != "" {
			fmt.Fprintf(b, "                  %s: %s\n", c.Reason, Safe(c.Detail))
		}
	}
	if a.Note != "" && a.Outcome != rerun.Repaired {
		fmt.Fprintf(b, "                %s\n", short(Safe(a.Note), 300))
	}
	if a.Proposal != "" {
		fmt.Fprintf(b, "                proposal (no verdict changes): %s\n", short(Safe(a.Proposal), 600))
	}
}

func claimsOf(w rerun.Waiting) string {
	var keys []string
	for _, c := range w.Claims {
		keys = append(keys, c.Key[:min(keyDigits, len(c.Key))])
	}
	return strings.Join(keys, ",")
}

func waitNote(w rerun.Waiting) string {
	switch {
	case w.State == "parked":
		return "  parked until " + w.ParkedUntil.Format(time.RFC3339) + ": " + short(Safe(w.Note), 200)
	case w.Note != "":
		return "  " + short(Safe(w.Note), 200)
	default:
		return ""
	}
}

// NightJSON writes the digest as one document.
func NightJSON(w io.Writer, n Night) error { return encode(w, toNightJSON(n)) }

type nightJSON struct {
	Version  int            `json:"version"`
	Since    time.Time      `json:"since"`
	Until    time.Time      `json:"until"`
	Runs     []nightRunJSON `json:"runs"`
	Attempts []attemptJSON  `json:"attempts"`
	Waiting  []waitingJSON  `json:"waiting"`
	Problems []problemJSON  `json:"problems"`
	PlanMode *string        `json:"plan_mode"`
	Budget   *budgetJSON    `json:"budget"`
}

type nightRunJSON struct {
	Trace        string           `json:"trace"`
	Run          *string          `json:"run"`
	Calls        int              `json:"calls"`
	BadLines     int              `json:"bad_lines"`
	Pass         int              `json:"pass"`
	OwnMeasure   int              `json:"own_measure"`
	Unsupported  int              `json:"unsupported"`
	Contradicted int              `json:"contradicted"`
	NotChecked   int              `json:"not_checked"`
	Nothing      bool             `json:"nothing_checked"`
	Claims       []nightClaimJSON `json:"claims"`
}

type nightClaimJSON struct {
	Key     string  `json:"key"`
	Claim   string  `json:"claim"`
	Verdict string  `json:"verdict"`
	Reason  string  `json:"reason"`
	Detail  string  `json:"detail"`
	Lines   []int   `json:"lines"`
	Outcome *string `json:"outcome"`
}

type attemptJSON struct {
	ID         int64                `json:"id"`
	Number     int                  `json:"number"`
	Trace      string               `json:"trace"`
	OwnTrace   string               `json:"own_trace"`
	Outcome    *string              `json:"outcome"`
	StopReason string               `json:"stop_reason"`
	Tokens     int64                `json:"tokens"`
	Model      string               `json:"model"`
	Endpoint   string               `json:"endpoint"`
	Claims     []rerun.ClaimOutcome `json:"claims"`
	Proposal   *string              `json:"proposal"`
}

type waitingJSON struct {
	Trace  string   `json:"trace"`
	Claims []string `json:"claims"`
	State  string   `json:"state"`
	Note   string   `json:"note"`
}

type problemJSON struct {
	Trace       string `json:"trace"`
	Reason      string `json:"reason"`
	Count       int    `json:"count"`
	Quarantined bool   `json:"quarantined"`
}

func toNightJSON(n Night) nightJSON {
	out := nightJSON{
		Version: 1, Since: n.Since, Until: n.Until, Runs: []nightRunJSON{}, Attempts: []attemptJSON{}, Waiting: []waitingJSON{}, Problems: []problemJSON{},
		PlanMode: orNull(n.PlanMode),
	}
	for _, r := range n.Runs {
		run := nightRunJSON{
			Trace: r.Path, Run: orNull(trace.Redact(r.SessionID)), Calls: r.Calls, BadLines: r.BadLines, Pass: r.Pass, OwnMeasure: r.OwnMeasure,
			Unsupported: r.Unsupported, Contradicted: r.Contradicted, NotChecked: r.NotChecked, Nothing: r.checked() == 0, Claims: []nightClaimJSON{},
		}
		for _, c := range r.Claims {
			run.Claims = append(run.Claims, nightClaimJSON{
				Key: c.Key, Claim: trace.Redact(c.Statement), Verdict: c.Verdict, Reason: c.Reason, Detail: trace.Redact(c.Detail), Lines: append([]int{}, c.Lines...), Outcome: orNull(string(c.Outcome)),
			})
		}
		out.Runs = append(out.Runs, run)
	}
	for _, a := range n.Attempts {
		out.Attempts = append(out.Attempts, attemptJSON{
			ID: a.ID, Number: a.Number, Trace: a.Path, OwnTrace: a.TracePath, Outcome: orNull(string(a.Outcome)), StopReason: trace.Redact(a.StopReason), Tokens: a.Tokens,
			Model: a.Model, Endpoint: a.Endpoint, Claims: shownOutcomes(a.Claims), Proposal: orNull(trace.Redact(a.Proposal)),
		})
	}
	for _, w := range n.Waiting {
		item := waitingJSON{Trace: w.Path, Claims: []string{}, State: w.State, Note: trace.Redact(w.Note)}
		for _, c := range w.Claims {
			item.Claims = append(item.Claims, c.Key)
		}
		out.Waiting = append(out.Waiting, item)
	}
	for _, p := range n.Problems {
		out.Problems = append(out.Problems, problemJSON{Trace: p.Path, Reason: trace.Redact(p.Reason), Count: p.Count, Quarantined: p.Quarantined})
	}
	if n.Budget.Allowance > 0 {
		b := toBudgetJSON(n.Budget)
		out.Budget = &b
	}
	return out
}

// shownOutcomes returns the outcomes with their texts fit to be shown.
func shownOutcomes(list []rerun.ClaimOutcome) []rerun.ClaimOutcome {
	out := append([]rerun.ClaimOutcome{}, list...)
	for i := range out {
		out[i].ID, out[i].Text, out[i].Detail = trace.Redact(out[i].ID), trace.Redact(out[i].Text), trace.Redact(out[i].Detail)
	}
	return out
}
