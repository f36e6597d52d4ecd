package scheduler

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// CatchUp says what becomes of slots that came due while nothing could run them.
type CatchUp string

// The ways to catch up. Every slot that is not run is on record as skipped.
const (
	CatchUpOnce CatchUp = "once" // the newest is run late; the zero value too
	CatchUpSkip CatchUp = "skip" // none is
)

const (
	// Wake is the longest that the loop sleeps, hence the longest between two calls
	// of OnTick. A timer that is set for the night is late by as long as the machine
	// slept, and knows nothing of a clock that was set.
	Wake = 30 * time.Second
	// grace is how late a slot may begin without counting as missed.
	grace = 2 * Wake
	// maxMissed is how many missed slots are recorded one by one. More of them come
	// from a clock that was years off.
	maxMissed = 1000
)

// Loop runs a pass at each slot of a schedule, one at a time, each slot once. One
// loop works on a store at a time; see Lock.
type Loop struct {
	Schedule Schedule
	Slots    *Slots
	CatchUp  CatchUp
	// Pass does the work of a slot and returns soon after ctx is cancelled. A slot
	// whose process died or was stopped is passed again, at the next start.
	Pass func(ctx context.Context, slot Slot) error
	Log  *slog.Logger
	// Now is the wall clock; nil is time.Now.
	Now func() time.Time
	// OnTick, unless nil, is called at least every Wake, also while a pass runs: it
	// tells a watchdog that the loop is alive.
	OnTick func()
}

// Run runs passes until ctx is cancelled, and returns nil then, when the pass that
// was running has returned. What goes wrong in a pass or with the database is
// logged and never ends the loop; an error is of what was wrong before it began.
//
// At the first start with a schedule nothing is caught up: its nights begin then.
func (l *Loop) Run(ctx context.Context) error {
	if l.CatchUp != "" && l.CatchUp != CatchUpOnce && l.CatchUp != CatchUpSkip {
		return fmt.Errorf("catch_up %q is unknown; allowed are %s, %s", l.CatchUp, CatchUpOnce, CatchUpSkip)
	}
	r := &nights{Loop: l}
	if err := r.takeOver(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for ctx.Err() == nil {
		r.tick()
		wait, err := r.look(ctx)
		if err != nil && ctx.Err() == nil {
			l.Log.Error("slots cannot be recorded, trying again", "error", err)
			wait = Wake
		}
		sleep(ctx, wait)
	}
	return nil
}

// nights is a loop that runs.
type nights struct {
	*Loop
	// begun are the slots that earlier processes left running.
	begun []waiting
	// No slot is due from quietFrom until quietUntil: there is no need to look.
	quietFrom, quietUntil time.Time
	// last is the slot that was run last, and when: what came due meanwhile had to
	// wait.
	last                 Slot
	lastBegan, lastEnded time.Time
}

// now strips the monotonic clock, which stands still while a machine sleeps and
// does not follow when its clock is set.
func (r *nights) now() time.Time {
	if r.Now != nil {
		return r.Now().Round(0)
	}
	return time.Now().Round(0)
}

func (r *nights) tick() {
	if r.OnTick != nil {
		r.OnTick()
	}
}

// takeOver finds the slots that earlier processes left running.
func (r *nights) takeOver(ctx context.Context) error {
	list, err := r.Slots.running(ctx)
	if err != nil {
		return err
	}
	for _, x := range list {
		if x.Schedule == r.Schedule.String() {
			r.begun = append(r.begun, waiting{Slot: x.Slot, begun: &x})
			continue
		}
		if err := r.Slots.abandon(ctx, x, r.now()); err != nil {
			return err
		}
	}
	return nil
}

// look runs the slot that is due, if any is, decides on those that are late, and
// says how long to sleep: after a pass that may be no time at all.
func (r *nights) look(ctx context.Context) (time.Duration, error) {
	now := r.now()
	if now.Before(r.quietFrom) || !now.Before(r.quietUntil) {
		if err := r.decide(ctx, now); err != nil {
			return 0, err
		}
		r.quietFrom, r.quietUntil = now, r.Schedule.Next(now, 1)[0].Due
	}
	return min(max(r.quietUntil.Sub(r.now()), 0), Wake), nil
}

// decide decides on the slots due by now, and runs the one that is to be run.
func (r *nights) decide(ctx context.Context, now time.Time) error {
	due, err := r.due(ctx, now)
	if err != nil || len(due) == 0 {
		return err
	}
	d := r.weigh(due, now)
	run, err := r.Slots.decide(ctx, d)
	if err != nil {
		return err
	}
	r.begun = nil
	for _, x := range d.drop {
		r.Log.Warn("slot is not run", "slot", x.Label, "reason", x.reason)
	}
	if run {
		r.pass(ctx, *d.run, now)
	}
	return nil
}

// due lists the slots to be decided on, in the order of their labels.
func (r *nights) due(ctx context.Context, now time.Time) ([]waiting, error) {
	list := slices.Clone(r.begun)
	after, ok, err := r.Slots.newest(ctx, r.Schedule.String(), now)
	if err != nil {
		return nil, err
	}
	if !ok {
		return list, r.first(ctx, now)
	}
	for _, slot := range r.missed(after, now) {
		list = append(list, waiting{Slot: slot})
	}
	slices.SortStableFunc(list, func(a, b waiting) int { return strings.Compare(a.Label, b.Label) })
	return list, nil
}

// missed lists the newest slots that came due after one instant and by another.
func (r *nights) missed(after, now time.Time) []Slot {
	var list []Slot
	over := 0
	for slot := range r.Schedule.Slots(after, now) {
		if len(list) == 2*maxMissed {
			list = slices.Delete(list, 0, maxMissed)
			over += maxMissed
		}
		list = append(list, slot)
	}
	if n := len(list) - maxMissed; n > 0 {
		list = list[n:]
		over += n
	}
	if over > 0 {
		r.Log.Warn("too many slots were missed, the oldest are not recorded", "missed", over+len(list), "recorded", len(list))
	}
	return list
}

// first puts the slot before the first start on record, as that from which nights
// count: should the first one be missed, it is known to be.
func (r *nights) first(ctx context.Context, now time.Time) error {
	slot, ok := r.Schedule.last(now)
	if !ok {
		return nil
	}
	_, err := r.Slots.decide(ctx, decision{
		schedule: r.Schedule.String(), now: now,
		drop: []dropped{{waiting{Slot: slot}, "due before the first start"}},
	})
	return err
}

// weigh decides on the slots that are waiting: one pass does the work of all, so
// at most the newest is run.
func (r *nights) weigh(list []waiting, now time.Time) decision {
	d := decision{schedule: r.Schedule.String(), now: now}
	newest := list[len(list)-1]
	onTime := now.Sub(newest.Due) <= grace
	instead := "the slot " + newest.Label + " is run instead"
	switch {
	case newest.again():
		instead = "its work is left to the next slot"
	case onTime || r.CatchUp != CatchUpSkip:
		d.run = &newest
		list = list[:len(list)-1]
	default:
		instead = "catch_up is skip"
	}
	for _, w := range list {
		d.drop = append(d.drop, dropped{w, r.why(w) + "; " + instead})
	}
	return d
}

// why says what kept a slot from being run in its time.
func (r *nights) why(w waiting) string {
	switch {
	case w.again():
		return "interrupted twice"
	case w.begun != nil:
		return "interrupted"
	case !r.lastBegan.IsZero() && !w.Due.Before(r.lastBegan) && !w.Due.After(r.lastEnded):
		return "came due during the pass of " + r.last.Label
	}
	return "missed"
}

// pass runs the pass of a slot and records how it ended.
func (r *nights) pass(ctx context.Context, w waiting, now time.Time) {
	log := r.Log.With("slot", w.Label)
	log.Info("pass begins", "late", max(now.Sub(w.Due), 0), "resumed", w.begun != nil)
	err := r.attend(ctx, w.Slot)
	ended := r.now()
	r.last, r.lastBegan, r.lastEnded = w.Slot, now, ended
	var record error
	switch {
	case err != nil && ctx.Err() != nil && !errors.Is(err, errPanic):
		log.Info("pass is stopped and goes on at the next start", "error", err)
		record = r.Slots.stop(ctx, r.Schedule.String(), w.Label)
	case err != nil:
		log.Error("pass failed", "error", err)
		record = r.Slots.finish(ctx, r.Schedule.String(), w.Label, ended, err)
	default:
		log.Info("pass is done", "took", ended.Sub(now))
		record = r.Slots.finish(ctx, r.Schedule.String(), w.Label, ended, nil)
	}
	if record != nil {
		// It stays on record as running, and is looked at again at the next start.
		log.Error("end of pass cannot be recorded", "error", record)
	}
}

// attend waits for the pass, and ticks meanwhile.
func (r *nights) attend(ctx context.Context, slot Slot) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("the pass ended without returning")
		defer func() { done <- err }()
		err = r.guarded(ctx, slot)
	}()
	ticker := time.NewTicker(Wake)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			r.tick()
		}
	}
}

var errPanic = errors.New("this is a bug, please report it: panic")

func (r *nights) guarded(ctx context.Context, slot Slot) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errPanic, v)
			r.Log.Error("panic in pass", "slot", slot.Label, "panic", v, "stack", string(debug.Stack()))
		}
	}()
	return r.Pass(ctx, slot)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
