package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"nightaudit/budget"
	"nightaudit/report"
	"nightaudit/rerun"
	"nightaudit/store"
)

// Digest gathers what has happened since a time out of the database, so that the
// digest of a night is the same whether the pass has just ended, was cut off, or
// is long over.
func Digest(ctx context.Context, st *store.Store, q *rerun.Queue, account *budget.Account, since, now time.Time) (report.Night, error) {
	n := report.Night{Since: since, Until: now}
	var err error
	if n.Attempts, err = q.Attempts(ctx, since); err != nil {
		return n, st.Explain(err)
	}
	for i := range n.Attempts {
		// A killed attempt never wrote down its sum; the books know it.
		if n.Attempts[i].Tokens, err = account.SpentBy(ctx, n.Attempts[i].ID); err != nil {
			return n, st.Explain(err)
		}
	}
	if n.Runs, err = nightRuns(ctx, st, since, n.Attempts); err != nil {
		return n, st.Explain(err)
	}
	all, err := q.All(ctx)
	if err != nil {
		return n, st.Explain(err)
	}
	for _, w := range all {
		if w.State == "queued" || w.State == "parked" || w.State == "running" {
			n.Waiting = append(n.Waiting, w)
		}
	}
	failures, err := st.Failures(ctx)
	if err != nil {
		return n, st.Explain(err)
	}
	for _, f := range failures {
		if f.Count >= store.QuarantineAfter || !f.Last.Before(since) {
			n.Problems = append(n.Problems, report.Problem{Path: f.Path, Reason: f.Reason, Count: f.Count, Quarantined: f.Count >= store.QuarantineAfter})
		}
	}
	if n.Budget, err = account.Report(ctx, now); err != nil {
		return n, st.Explain(err)
	}
	return n, nil
}

// nightRuns joins the runs with their claims that are not PASS.
func nightRuns(ctx context.Context, st *store.Store, since time.Time, attempts []rerun.Attempt) ([]report.NightRun, error) {
	runs, err := st.Runs(ctx, since)
	if err != nil {
		return nil, err
	}
	outcomes := map[string]rerun.Outcome{}
	for _, a := range attempts {
		for _, c := range a.Claims {
			outcomes[c.Key] = c.Outcome
		}
	}
	var out []report.NightRun
	for _, r := range runs {
		run := report.NightRun{
			Path: r.Path, SessionID: r.SessionID, Calls: r.Calls, BadLines: r.BadLines, Pass: r.Totals.Pass, Unsupported: r.Totals.Unsupported,
			Contradicted: r.Totals.Contradicted, NotChecked: r.Totals.NotChecked,
		}
		history, err := st.History(ctx, store.Filter{RunKey: r.RunKey, Since: since})
		if err != nil {
			return nil, err
		}
		for i := len(history) - 1; i >= 0; i-- { // oldest first, the order of the claims
			c := history[i]
			switch {
			case c.TraceHash != r.TraceHash:
			case c.Verdict == "PASS":
				if c.OwnMeasure {
					run.OwnMeasure++
				}
			default:
				claim, err := nightClaim(c)
				if err != nil {
					return nil, err
				}
				claim.Outcome = outcomes[c.ClaimKey]
				run.Claims = append(run.Claims, claim)
			}
		}
		out = append(out, run)
	}
	return out, nil
}

// nightClaim takes from the stored findings the one that decides.
func nightClaim(c store.ClaimRecord) (report.NightClaim, error) {
	out := report.NightClaim{Key: c.ClaimKey, Statement: c.Statement, Verdict: c.Verdict, Reason: c.Reason}
	var findings []struct {
		Verdict string
		Reason  *string
		Detail  string
		Calls   []struct{ Line int }
	}
	if err := json.Unmarshal(c.Findings, &findings); err != nil {
		return out, fmt.Errorf("read findings of %s: %w", c.ClaimKey, err)
	}
	for _, f := range findings {
		if f.Verdict != c.Verdict || f.Reason == nil || *f.Reason != c.Reason {
			continue
		}
		out.Detail = f.Detail
		for _, call := range f.Calls {
			out.Lines = append(out.Lines, call.Line)
		}
		break
	}
	return out, nil
}
