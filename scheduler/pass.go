package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"nightaudit/audit"
	"nightaudit/budget"
	"nightaudit/rerun"
	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/store"
	"nightaudit/trace"
)

// Pass is one sweep over the sources: audit what is new, queue what failed, work
// on the queue within the allowance. Every step that has ended is in the
// database, so a pass can be killed at any instant and started again.
type Pass struct {
	Store   *store.Store
	Queue   *rerun.Queue
	Runner  *rerun.Runner // nil: plan mode, everything but the request
	Sources []Source
	Policy  rerun.Policy
	Rules   audit.Rules
	Tools   *tools.Set
	// Settle is how long a trace without an end record must be untouched before it
	// counts as finished.
	Settle time.Duration
	// Reaudit also audits what has not changed, by the claims as they are now.
	Reaudit bool
	// DryRun audits and plans, and writes nothing.
	DryRun bool
	Now    func() time.Time
	Log    *slog.Logger
}

// Tally counts what a pass did.
type Tally struct {
	Seen, Unchanged, Growing, Audited, Failed, Quarantined int
	Queued, Attempts                                       int
}

// Run makes one pass. A trace that cannot be audited costs that trace, never the
// pass; the error is one that stops everything: the database, or the context.
func (p *Pass) Run(ctx context.Context) (Tally, error) {
	var t Tally
	quarantined, err := p.quarantined(ctx)
	if err != nil {
		return t, err
	}
	for _, src := range p.Sources {
		seen, err := p.seen(ctx, src)
		if err != nil {
			return t, err
		}
		for file, err := range src.Find(ctx) {
			if err != nil {
				p.Log.Warn("source cannot be read", "source", src.Name, "error", err)
				t.Failed++
				continue
			}
			if err := ctx.Err(); err != nil {
				return t, err
			}
			t.Seen++
			before, known := seen[file.Path]
			switch {
			case known && file.same(before) && !p.Reaudit:
				t.Unchanged++
			case !p.Reaudit && src.touched(file).Before(quarantined[file.key()]): // unchanged since it failed
				t.Quarantined++
			default:
				if err := p.file(ctx, src, file, before, &t); err != nil {
					return t, err
				}
			}
		}
	}
	err = p.drain(ctx, &t)
	return t, err
}

// file audits one file and records what was found. Failing to, or panicking, is
// counted against the file.
func (p *Pass) file(ctx context.Context, src Source, file File, before store.FileState, t *Tally) error {
	done, err := p.auditFile(ctx, src, file, before, t)
	switch {
	case err == nil && !done:
		t.Growing++
	case err == nil:
		t.Audited++
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errStore):
		return p.Store.Explain(err)
	default:
		t.Failed++
		p.Log.Warn("trace cannot be audited", "trace", file.Path, "error", err)
		if p.DryRun {
			return nil
		}
		if _, err := p.Store.Fail(ctx, src.Name, file.Path, trace.Redact(err.Error())); err != nil {
			return p.Store.Explain(err)
		}
	}
	return nil
}

// errStore marks an error of the database, which stops the pass.
var errStore = errors.New("database")

// auditFile is the flow for one file: trace → audit → rerun's queue, and both the
// verdicts and what is queued for them in one transaction. It returns false for a
// file whose run is still being written.
func (p *Pass) auditFile(ctx context.Context, src Source, file File, before store.FileState, t *Tally) (done bool, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("this is a bug, please report it: panic while auditing: %v\n%s", v, debug.Stack())
		}
	}()
	opened, closer, err := OpenTrace(src.root(file.Path), file.Path, src.Scratch)
	if err != nil {
		return false, err
	}
	defer closer.Close()
	rewritten, err := prefixChanged(ctx, opened, before)
	if err != nil {
		return false, err
	}
	given, err := src.beside(file.Path, p.Rules.Kinds)
	if err != nil {
		return false, err
	}
	now := p.Now()
	record := auditRecord{store.AuditRecord{File: file.state(src.Name, now)}}
	var items []rerun.Item
	keys := runKeys{}
	for run, err := range src.reader()(ctx, opened) {
		if err != nil {
			return false, err
		}
		if run.Child {
			continue
		}
		if !p.finished(run, file, now) {
			return false, nil
		}
		if rewritten {
			run.Gaps = append(run.Gaps, trace.Gap{Reason: "rewritten: what was audited before is no longer in the file"})
		}
		expected, err := src.expected(file.Path, run.Task, p.Rules.Kinds)
		if err != nil {
			return false, err
		}
		report, err := audit.Check(run, append(slices.Clone(given), expected...), p.Rules)
		if err != nil {
			return false, err
		}
		verdicts, err := runRecord(keys.next(src.Name, run, file.Path), src.Name, file.Path, report, now)
		if err != nil {
			return false, err
		}
		record.add(run, verdicts)
		more, err := p.plan(report, verdicts)
		if err != nil {
			return false, err
		}
		items = append(items, more...)
	}
	t.Queued += len(items)
	if p.DryRun {
		return true, nil
	}
	if err := p.Store.RecordAudit(ctx, record.AuditRecord, func(tx *sql.Tx) error { return enqueue(ctx, tx, record.Runs, items, now) }); err != nil {
		return false, errors.Join(errStore, err)
	}
	return true, nil
}

// plan cuts a report into segments and makes an item of each that may be re-run.
func (p *Pass) plan(r *audit.Report, verdicts store.RunRecord) ([]rerun.Item, error) {
	origin := rerun.Origin{RunKey: verdicts.RunKey, TraceHash: verdicts.TraceHash, Source: verdicts.Source, Path: verdicts.Path}
	for _, c := range verdicts.Claims {
		origin.ClaimKeys = append(origin.ClaimKeys, c.ClaimKey)
	}
	var items []rerun.Item
	for _, s := range r.Segments {
		it, ok, err := rerun.Plan(r, s, origin, p.Policy, p.Tools)
		if err != nil {
			return nil, err
		}
		if ok {
			items = append(items, it)
		}
	}
	return items, nil
}

func enqueue(ctx context.Context, tx *sql.Tx, runs []store.RunRecord, items []rerun.Item, now time.Time) error {
	for _, r := range runs {
		if err := rerun.MakeStale(ctx, tx, r.RunKey, r.Path, items, now); err != nil {
			return err
		}
	}
	for _, it := range items {
		if err := rerun.Enqueue(ctx, tx, it, now); err != nil {
			return err
		}
	}
	return nil
}

// drain works on the queue until it is empty, the allowance is used up, or the
// endpoint has to be left alone.
func (p *Pass) drain(ctx context.Context, t *Tally) error {
	if p.Runner == nil || p.DryRun {
		return nil
	}
	until, why, err := p.Queue.Left(ctx, p.Runner.Name, p.Runner.Fingerprint, p.Now())
	if err != nil {
		return p.Store.Explain(err)
	}
	if !until.IsZero() {
		p.Log.Warn("the endpoint is left alone", "endpoint", p.Runner.Name, "until", until, "because", why)
		return nil
	}
	ready, err := p.Queue.Ready(ctx, p.Now())
	if err != nil {
		return err
	}
	for _, w := range ready {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a, err := p.Runner.Attempt(ctx, w.Item)
		if errors.Is(err, rerun.ErrTools) {
			p.Log.Warn("segment passed over", "trace", w.Path, "error", err)
			continue
		}
		t.Attempts++
		p.Log.Info("re-run ended", "trace", w.Path, "attempt", a.ID, "outcome", string(a.Outcome), "stop", a.StopReason, "tokens", a.Tokens)
		if ctx.Err() != nil {
			return errors.Join(ctx.Err(), err)
		}
		var failed *endpoint.Error
		switch {
		case err == nil:
		case errors.Is(err, budget.ErrExhausted):
			p.Log.Info("the allowance is used up; the rest of the queue waits", "error", err)
			return nil
		case errors.As(err, &failed):
			p.Log.Warn("the endpoint does not serve us", "error", failed, "class", string(failed.Class))
			switch failed.Class {
			case endpoint.ClassPark, endpoint.ClassDisable:
				return p.Store.Explain(p.Queue.Leave(ctx, p.Runner.Name, p.Runner.Fingerprint, failed, p.Now()))
			case endpoint.ClassRetry:
				return nil // it does not answer tonight; each try may be booked whole
			}
		case errors.Is(err, rerun.ErrTokens):
		default:
			return p.Store.Explain(err)
		}
	}
	return nil
}

// finished tells whether a run is over: its end is recorded, or nobody has
// touched the file for a while.
func (p *Pass) finished(run *trace.Run, file File, now time.Time) bool {
	return run.Ended && !run.Torn || now.Sub(file.ModTime) >= p.Settle
}
