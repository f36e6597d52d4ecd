package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"nightaudit/budget"
)

// BudgetText writes the state of the books: what is allowed, held, spent and left,
// and how many re-runs that still buys, by the formula of the first article.
func BudgetText(w io.Writer, r budget.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "allowance    %14s tokens, %s to %s\n", digits(r.Allowance), day(r.Start), day(r.End))
	fmt.Fprintf(&b, "held         %14s\n", digits(r.Held))
	fmt.Fprintf(&b, "spent        %14s%s\n", digits(r.Spent), assumed(r))
	fmt.Fprintf(&b, "left         %14s%s\n", digits(r.Left), overdrawn(r))
	for _, o := range r.Others {
		fmt.Fprintf(&b, "%-12s %14s of %s left until %s\n", o.Name, digits(o.Left), digits(o.Allowance), o.End.Format(time.RFC3339))
	}
	b.WriteByte('\n')
	guess := ""
	if r.AverageIsGuess {
		guess = "  (a guess until there are samples; never used to reserve)"
	}
	fmt.Fprintf(&b, "re-runs      %14s\n", digits(int64(r.ReRuns)))
	fmt.Fprintf(&b, "average      %14s tokens a re-run%s\n", digits(r.Average), guess)
	fmt.Fprintf(&b, "re-runs left %14s  = left / average = %s / %s\n", digits(r.ReRunsLeft), digits(r.Left), digits(r.Average))
	fmt.Fprintf(&b, "a period buys%14s  = allowance / average = %s / %s\n", digits(r.ReRunsPerAllowance), digits(r.Allowance), digits(r.Average))
	spendText(&b, "by day", r.Days, func(s budget.Spend) string { return s.Day })
	spendText(&b, "by model", r.Models, func(s budget.Spend) string { return Safe(s.Model + " at " + s.Endpoint) })
	if r.BooksAhead > 0 {
		fmt.Fprintf(&b, "\nthe books are %v ahead of the clock: it was set back, and their time waits for it\n", r.BooksAhead.Round(time.Second))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func spendText(b *strings.Builder, title string, list []budget.Spend, name func(budget.Spend) string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", title)
	for _, s := range list {
		fmt.Fprintf(b, "  %-32s %12s tokens, %s, %s\n", name(s), digits(s.Tokens), plural(s.Requests, "request"), plural(s.ReRuns, "re-run"))
	}
}

func assumed(r budget.Report) string {
	if r.Assumed == 0 {
		return ""
	}
	return fmt.Sprintf("  (%s of it assumed: no endpoint reported it)", digits(r.Assumed))
}

func overdrawn(r budget.Report) string {
	if r.Overdrawn == 0 {
		return ""
	}
	return fmt.Sprintf("  (overdrawn by %s: nothing more is admitted until %s)", digits(r.Overdrawn), day(r.End))
}

// budgetLine is the budget on one line, for the digest.
func budgetLine(r budget.Report) string {
	guess := ""
	if r.AverageIsGuess {
		guess = " (a guess until there are samples)"
	}
	return fmt.Sprintf("tokens: %s of %s spent%s, %s left; %s re-runs left = %s / %s on average%s\n",
		digits(r.Spent), digits(r.Allowance), overdrawn(r), digits(r.Left), digits(r.ReRunsLeft), digits(r.Left), digits(r.Average), guess)
}

func day(t time.Time) string { return t.Format("2006-01-02") }

// digits groups a number by thousands: 10,000,000.
func digits(n int64) string {
	s := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, s = "-", s[1:]
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return sign + s
}

type budgetJSON struct {
	At                 time.Time   `json:"at"`
	Start              time.Time   `json:"start"`
	End                time.Time   `json:"end"`
	Allowance          int64       `json:"allowance"`
	Held               int64       `json:"held"`
	Spent              int64       `json:"spent"`
	Left               int64       `json:"left"`
	Overdrawn          int64       `json:"overdrawn"`
	Assumed            int64       `json:"assumed"`
	ReRuns             int         `json:"reruns"`
	Average            int64       `json:"average"`
	AverageIsGuess     bool        `json:"average_is_guess"`
	ReRunsLeft         int64       `json:"reruns_left"`
	ReRunsPerAllowance int64       `json:"reruns_per_allowance"`
	Caps               []capJSON   `json:"caps"`
	Days               []spendJSON `json:"days"`
	Models             []spendJSON `json:"models"`
}

type capJSON struct {
	Name      string    `json:"name"`
	Allowance int64     `json:"allowance"`
	Left      int64     `json:"left"`
	End       time.Time `json:"end"`
}

type spendJSON struct {
	Day      string `json:"day,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	Model    string `json:"model,omitempty"`
	Requests int    `json:"requests"`
	ReRuns   int    `json:"reruns"`
	Tokens   int64  `json:"tokens"`
	Assumed  int64  `json:"assumed"`
}

func toBudgetJSON(r budget.Report) budgetJSON {
	out := budgetJSON{
		At: r.At, Start: r.Start, End: r.End, Allowance: r.Allowance, Held: r.Held, Spent: r.Spent, Left: r.Left, Overdrawn: r.Overdrawn,
		Assumed: r.Assumed, ReRuns: r.ReRuns, Average: r.Average, AverageIsGuess: r.AverageIsGuess, ReRunsLeft: r.ReRunsLeft,
		ReRunsPerAllowance: r.ReRunsPerAllowance, Caps: []capJSON{}, Days: spends(r.Days), Models: spends(r.Models),
	}
	for _, o := range r.Others {
		out.Caps = append(out.Caps, capJSON{Name: o.Name, Allowance: o.Allowance, Left: o.Left, End: o.End})
	}
	return out
}

func spends(list []budget.Spend) []spendJSON {
	out := []spendJSON{}
	for _, s := range list {
		out = append(out, spendJSON{Day: s.Day, Endpoint: s.Endpoint, Model: s.Model, Requests: s.Requests, ReRuns: s.ReRuns, Tokens: s.Tokens, Assumed: s.Assumed})
	}
	return out
}

// BudgetJSON writes the state of the books as one document.
func BudgetJSON(w io.Writer, r budget.Report) error { return encode(w, toBudgetJSON(r)) }
