package scheduler

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"nightaudit/store"
	"nightaudit/trace"
)

// The states of a slot on record.
const (
	SlotRunning = "running" // claimed; by a process that is gone, if none runs
	SlotDone    = "done"
	SlotFailed  = "failed"
	SlotSkipped = "skipped"
)

// Marks in the reason of a running slot.
const (
	markStopped     = "stopped"     // its process was told to end, and did
	markInterrupted = "interrupted" // it is run a second time: a process died over it
)

// maxReason bounds a reason, in bytes.
const maxReason = 1000

// Slots is the record of which slots were claimed and how they ended. A label is
// inserted once, whoever tries: that is what makes it run once.
type Slots struct{ store *store.Store }

// NewSlots returns the record that lies in a store.
func NewSlots(s *store.Store) *Slots { return &Slots{store: s} }

// SlotRecord is a slot on record.
type SlotRecord struct {
	Schedule string
	Slot
	State   string
	Reason  string
	Claimed time.Time
	Ended   time.Time // zero while it runs
}

// Recent returns the newest slots on record, newest first.
func (s *Slots) Recent(ctx context.Context, limit int) ([]SlotRecord, error) {
	return s.list(ctx, `ORDER BY claimed_ms DESC, label DESC LIMIT ?`, limit)
}

// running returns the slots whose process did not say how they ended.
func (s *Slots) running(ctx context.Context) ([]SlotRecord, error) {
	return s.list(ctx, `WHERE state = 'running' ORDER BY label`)
}

// newest returns when the newest slot on record by now was due; ok is false when
// there is none. Later ones are left aside: they are from when the clock was wrong,
// and must not keep the schedule waiting until then.
func (s *Slots) newest(ctx context.Context, schedule string, now time.Time) (due time.Time, ok bool, err error) {
	var ms sql.NullInt64
	err = s.store.DB.Read.QueryRowContext(ctx, `
		SELECT max(due_ms)
		FROM scheduler_slots
		WHERE schedule = ? AND due_ms <= ?`, schedule, now.UnixMilli()).Scan(&ms)
	if err != nil {
		return time.Time{}, false, s.store.Explain(fmt.Errorf("find newest slot: %w", err))
	}
	return time.UnixMilli(ms.Int64), ms.Valid, nil
}

// decision is what becomes of the slots that are waiting, in one transaction: a
// process that dies has either decided on all of them or on none.
type decision struct {
	schedule string
	now      time.Time
	run      *waiting // nil: none
	drop     []dropped
}

// waiting is a slot to be decided on.
type waiting struct {
	Slot
	begun *SlotRecord // nil: it is not on record
}

// again tells whether the slot was run a second time already and its process died
// once more. It is given up, or a pass that takes the machine down with it would
// do so at every start.
func (w waiting) again() bool { return w.begun != nil && w.begun.Reason == markInterrupted }

type dropped struct {
	waiting
	reason string
}

// decide records a decision. It returns false where the slot to be run is taken:
// its label ran before.
func (s *Slots) decide(ctx context.Context, d decision) (run bool, err error) {
	err = s.write(ctx, "claim slot", func(ctx context.Context, tx *sql.Tx) error {
		for _, x := range d.drop {
			if err := drop(ctx, tx, d, x); err != nil {
				return err
			}
		}
		if d.run != nil {
			run, err = claim(ctx, tx, d)
		}
		return err
	})
	return run && err == nil, err
}

func claim(ctx context.Context, tx *sql.Tx, d decision) (bool, error) {
	if d.run.begun != nil {
		mark := markInterrupted
		if d.run.begun.Reason == markStopped {
			mark = ""
		}
		return changed(tx.ExecContext(ctx, `
			UPDATE scheduler_slots
			SET reason = ?, claimed_ms = ?
			WHERE schedule = ? AND label = ? AND state = 'running'`,
			mark, d.now.UnixMilli(), d.schedule, d.run.Label))
	}
	return changed(tx.ExecContext(ctx, `
		INSERT INTO scheduler_slots (schedule, label, state, due_ms, claimed_ms)
		VALUES (?, ?, 'running', ?, ?)
		ON CONFLICT DO NOTHING`,
		d.schedule, d.run.Label, d.run.Due.UnixMilli(), d.now.UnixMilli()))
}

// drop records that a slot is not run: skipped where it was never begun, failed
// where it was.
func drop(ctx context.Context, tx *sql.Tx, d decision, x dropped) error {
	if x.begun != nil {
		_, err := tx.ExecContext(ctx, `
			UPDATE scheduler_slots
			SET state = 'failed', reason = ?, ended_ms = ?
			WHERE schedule = ? AND label = ? AND state = 'running'`,
			x.reason, d.now.UnixMilli(), d.schedule, x.Label)
		return err
	}
	_, err := tx.ExecContext(ctx, `
		INSERT INTO scheduler_slots (schedule, label, state, reason, due_ms, claimed_ms, ended_ms)
		VALUES (?1, ?2, 'skipped', ?3, ?4, ?5, ?5)
		ON CONFLICT DO NOTHING`,
		d.schedule, x.Label, x.reason, x.Due.UnixMilli(), d.now.UnixMilli())
	return err
}

// finish records how a running slot ended: done, or failed for a reason.
func (s *Slots) finish(ctx context.Context, schedule, label string, now time.Time, failure error) error {
	state, reason := SlotDone, ""
	if failure != nil {
		state, reason = SlotFailed, cut(trace.Redact(failure.Error()), maxReason)
	}
	return s.update(ctx, "finish slot "+label, `
		UPDATE scheduler_slots
		SET state = ?, reason = ?, ended_ms = ?
		WHERE schedule = ? AND label = ? AND state = 'running'`,
		state, reason, now.UnixMilli(), schedule, label)
}

// stop leaves a slot running on record, to be run again at the next start, and
// notes that its process was told to end, which is no fault of the pass.
func (s *Slots) stop(ctx context.Context, schedule, label string) error {
	return s.update(ctx, "stop slot "+label, `
		UPDATE scheduler_slots
		SET reason = ?
		WHERE schedule = ? AND label = ? AND state = 'running'`,
		markStopped, schedule, label)
}

// abandon records as failed what a schedule that is no longer configured left
// running; nobody would run it again.
func (s *Slots) abandon(ctx context.Context, r SlotRecord, now time.Time) error {
	return s.update(ctx, "abandon slot "+r.Label, `
		UPDATE scheduler_slots
		SET state = 'failed', reason = ?, ended_ms = ?
		WHERE schedule = ? AND label = ? AND state = 'running'`,
		"interrupted; its schedule is no longer configured", now.UnixMilli(), r.Schedule, r.Label)
}

func (s *Slots) update(ctx context.Context, what, query string, args ...any) error {
	return s.write(ctx, what, func(ctx context.Context, tx *sql.Tx) error {
		ok, err := changed(tx.ExecContext(ctx, query, args...))
		if err == nil && !ok {
			err = errors.New("it is not running")
		}
		return err
	})
}

// write runs fn in one transaction that ctx does not cut off: what was decided
// must be known.
func (s *Slots) write(ctx context.Context, what string, fn func(context.Context, *sql.Tx) error) (err error) {
	defer func() {
		if err != nil {
			err = s.store.Explain(fmt.Errorf("%s: %w", what, err))
		}
	}()
	ctx = context.WithoutCancel(ctx)
	tx, err := s.store.DB.Write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

func changed(r sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := r.RowsAffected()
	return n > 0, err
}

func (s *Slots) list(ctx context.Context, rest string, args ...any) (list []SlotRecord, err error) {
	defer func() {
		if err != nil {
			err = s.store.Explain(fmt.Errorf("list slots: %w", err))
		}
	}()
	rows, err := s.store.DB.Read.QueryContext(ctx, `
		SELECT
			schedule,
			label,
			state,
			reason,
			due_ms,
			claimed_ms,
			ended_ms
		FROM scheduler_slots `+rest, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r SlotRecord
		var due, claimed int64
		var ended sql.NullInt64
		if err := rows.Scan(&r.Schedule, &r.Label, &r.State, &r.Reason, &due, &claimed, &ended); err != nil {
			return nil, err
		}
		r.Due, r.Claimed = time.UnixMilli(due).UTC(), time.UnixMilli(claimed).UTC()
		if ended.Valid {
			r.Ended = time.UnixMilli(ended.Int64).UTC()
		}
		list = append(list, r)
	}
	return list, rows.Err()
}
