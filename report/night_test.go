package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nightaudit/budget"
	"nightaudit/rerun"
)

func books() budget.Report {
	return budget.Report{
		At: time.Date(2026, 8, 1, 15, 0, 0, 0, time.UTC),
		Balance: budget.Balance{
			Name: "monthly", Allowance: 10_000_000, Start: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), End: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC),
			Held: 5000, Spent: 1_200_000, Left: 8_795_000,
		},
		Others:  []budget.Balance{{Name: "daily", Allowance: 500_000, Left: 400_000, End: time.Date(2026, 8, 2, 0, 0, 0, 0, time.UTC)}},
		Assumed: 1000, ReRuns: 300, Average: 4000, AverageIsGuess: true, ReRunsLeft: 2198, ReRunsPerAllowance: 2500,
		Days:   []budget.Spend{{Day: "2026-08-01", Requests: 1, ReRuns: 1, Tokens: 4000}},
		Models: []budget.Spend{{Endpoint: "local", Model: "m", Requests: 12, ReRuns: 3, Tokens: 1_200_000}},
	}
}

func TestBudgetText(t *testing.T) {
	write := func(r budget.Report) string {
		return text(t, func(b *strings.Builder) error { return BudgetText(b, r) })
	}
	same(t, write(books()), `allowance        10,000,000 tokens, 2026-08-01 to 2026-09-01
held                  5,000
spent             1,200,000  (1,000 of it assumed: no endpoint reported it)
left              8,795,000
daily               400,000 of 500,000 left until 2026-08-02T00:00:00Z

re-runs                 300
average               4,000 tokens a re-run  (a guess until there are samples; never used to reserve)
re-runs left          2,198  = left / average = 8,795,000 / 4,000
a period buys         2,500  = allowance / average = 10,000,000 / 4,000

by day
  2026-08-01                              4,000 tokens, 1 request, 1 re-run

by model
  m at local                          1,200,000 tokens, 12 requests, 3 re-runs
`)
	over := books()
	over.Others, over.Days, over.Models, over.Assumed, over.AverageIsGuess = nil, nil, nil, 0, false
	over.Left, over.Overdrawn, over.ReRunsLeft, over.BooksAhead = 0, 7, 0, 90*time.Second
	same(t, write(over), `allowance        10,000,000 tokens, 2026-08-01 to 2026-09-01
held                  5,000
spent             1,200,000
left                      0  (overdrawn by 7: nothing more is admitted until 2026-09-01)

re-runs                 300
average               4,000 tokens a re-run
re-runs left              0  = left / average = 0 / 4,000
a period buys         2,500  = allowance / average = 10,000,000 / 4,000

the books are 1m30s ahead of the clock: it was set back, and their time waits for it
`)
}

func TestDigits(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", -1000: "-1,000", -999: "-999", 1234567: "1,234,567", 9223372036854775807: "9,223,372,036,854,775,807"} {
		if got := digits(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func night() Night {
	const key = "0123456789abcdef"
	return Night{
		Since: time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(2026, 8, 2, 0, 0, 0, 0, time.UTC),
		Runs: []NightRun{
			{Path: "a/run.jsonl", Calls: 4, Pass: 2, Contradicted: 1, NotChecked: 3, OwnMeasure: 1, Claims: []NightClaim{
				{Key: key, Statement: "updated", Verdict: "CONTRADICTED", Reason: "failed", Detail: "config.write failed", Lines: []int{1, 2, 3, 4, 5, 6}, Outcome: rerun.Repaired},
				{Key: "ab", Statement: "short key", Verdict: "UNSUPPORTED", Reason: "no_call", Detail: "no call of x is recorded"},
			}},
			{Path: "clean.jsonl", Pass: 1},
		},
		Attempts: []rerun.Attempt{
			{Number: 1, Path: "a/run.jsonl", Outcome: rerun.Repaired, Tokens: 3500, StopReason: "done", Note: "not shown", Claims: []rerun.ClaimOutcome{{Key: key, Text: "updated", First: "CONTRADICTED", Merged: "PASS", Outcome: rerun.Repaired}}},
			{Number: 2, Path: "b.jsonl", StopReason: "budget", Note: "stopped", Proposal: "try x", Claims: []rerun.ClaimOutcome{{Key: "ab", Text: "t", First: "CONTRADICTED", Outcome: rerun.GaveUp, Reason: "failed", Detail: "w failed"}}},
		},
		Waiting: []rerun.Waiting{
			{Item: rerun.Item{Path: "c.jsonl", Claims: []rerun.Claim{{Key: key}, {Key: "ab"}}}, State: "parked", ParkedUntil: time.Date(2026, 8, 2, 3, 0, 0, 0, time.UTC), Note: "rate limit"},
			{Item: rerun.Item{Path: "d.jsonl", Claims: []rerun.Claim{{Key: key}}}, State: "queued"},
		},
		Problems: []Problem{{Path: "e.jsonl", Reason: "cannot be read", Count: 2, Quarantined: true}},
		PlanMode: "no endpoint is configured",
		Budget:   books(),
	}
}

func TestNightText(t *testing.T) {
	write := func(n Night) string {
		return text(t, func(b *strings.Builder) error { return NightText(b, n) })
	}
	same(t, write(night()), `2 runs audited: 2 PASS, 0 UNSUPPORTED, 1 CONTRADICTED; 3 statements not checked

a/run.jsonl
  CONTRADICTED 01234567  updated  → REPAIRED
               failed (lines 1, 2, 3, 4, 5, …): config.write failed
  UNSUPPORTED  ab  short key
               no_call: no call of x is recorded

1 trace could not be audited
  e.jsonl: cannot be read (2 failures; left alone until it or its claims change, or run --once --reaudit)

2 re-runs
  REPAIRED      attempt 1, 3500 tokens, ended by done: a/run.jsonl
                01234567  CONTRADICTED → REPAIRED: updated
  not judged    attempt 2, 0 tokens, ended by budget: b.jsonl
                ab  CONTRADICTED → GAVE_UP: t
                  failed: w failed
                stopped
                proposal (no verdict changes): try x

2 segments waiting for a re-run (nothing is sent: no endpoint is configured)
  01234567,ab  c.jsonl  parked until 2026-08-02T03:00:00Z: rate limit
  01234567  d.jsonl

tokens: 1,200,000 of 10,000,000 spent, 8,795,000 left; 2,198 re-runs left = 8,795,000 / 4,000 on average (a guess until there are samples)
`)
	same(t, write(Night{}), "0 runs audited: 0 PASS, 0 UNSUPPORTED, 0 CONTRADICTED; 0 statements not checked\n")
}

func TestNightJSON(t *testing.T) {
	out := text(t, func(b *strings.Builder) error { return NightJSON(b, night()) })
	var doc nightJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != 1 || len(doc.Runs) != 2 || doc.Runs[0].OwnMeasure != 1 || *doc.Runs[0].Claims[0].Outcome != "REPAIRED" || doc.Runs[0].Claims[1].Outcome != nil ||
		doc.Attempts[1].Outcome != nil || *doc.Attempts[1].Proposal != "try x" || len(doc.Waiting[0].Claims) != 2 || !doc.Problems[0].Quarantined || doc.Budget.Left != 8_795_000 {
		t.Errorf("%s", out)
	}
	empty := text(t, func(b *strings.Builder) error { return NightJSON(b, Night{}) })
	for _, list := range []string{"runs", "attempts", "waiting", "problems"} {
		if !strings.Contains(empty, `"`+list+`": []`) {
			t.Errorf("%s is no list in\n%s", list, empty)
		}
	}
	if !strings.Contains(empty, `"budget": null`) || !strings.Contains(empty, `"plan_mode": null`) {
		t.Error(empty)
	}
	budgetOut := text(t, func(b *strings.Builder) error { return BudgetJSON(b, books()) })
	var b budgetJSON
	if err := json.Unmarshal([]byte(budgetOut), &b); err != nil || b.Caps[0].Name != "daily" || b.ReRunsPerAllowance != 2500 || !b.AverageIsGuess {
		t.Errorf("%v: %s", err, budgetOut)
	}
}
