package scheduler

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoop_StopWhileIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.start()
		s.wait(hour + time.Second)
		before := time.Now()
		s.stop()
		if took := time.Since(before); took != 0 {
			t.Errorf("stopping took %s", took)
		}
		s.wantRecord(firstRow)
	})
}

func TestLoop_StopDuringAPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.loop.Pass = func(ctx context.Context, _ Slot) error {
			<-ctx.Done()
			time.Sleep(5 * time.Second) // what is in flight is settled
			return ctx.Err()
		}
		for range 3 { // being stopped often is no fault of the pass
			s.start()
			s.wait(3 * hour)
			before := time.Now()
			s.stop()
			if took := time.Since(before); took != 5*time.Second {
				t.Errorf("stopping took %s, want the 5s of the pass", took)
			}
			s.wantRecord(firstRow, "2000-01-01T02:30 running: stopped")
		}
		s.loop.Pass = func(context.Context, Slot) error { return nil }
		s.start()
		s.wait(hour)
		s.stop()
		s.wantRecord(firstRow, "2000-01-01T02:30 done")
		if len(s.ran) != 4 {
			t.Errorf("ran %d times, want 4: %s", len(s.ran), s.ran)
		}
	})
}

func TestLoop_PanicWhileStopping(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.loop.Pass = func(ctx context.Context, _ Slot) error { <-ctx.Done(); panic("boom") }
		s.start()
		s.wait(3 * hour)
		s.stop()
		s.wantRecord(firstRow, "2000-01-01T02:30 failed: this is a bug, please report it: panic: boom")
	})
}

func TestLoop_PassThatFails(t *testing.T) {
	for _, c := range []struct {
		name, want string
		pass       func() error
	}{
		{"error", "disk full", func() error { return errors.New("disk full") }},
		{"panic", "this is a bug, please report it: panic: boom", func() error { panic("boom") }},
		{"no return", "the pass ended without returning", func() error { runtime.Goexit(); return nil }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, "30 2 * * *", "UTC")
				s.loop.Pass = func(_ context.Context, slot Slot) error {
					if slot.Label == "2000-01-01T02:30" {
						return c.pass()
					}
					return nil
				}
				s.start()
				s.wait(2 * day)
				s.stop()
				s.wantRecord(firstRow, "2000-01-01T02:30 failed: "+c.want, "2000-01-02T02:30 done")
				if !strings.Contains(strings.Join(s.logs, ""), strings.TrimPrefix(c.want, "this is a bug, please report it: ")) {
					t.Errorf("not logged: %q", s.logs)
				}
			})
		})
	}
}

func TestLoop_InterruptedSlot(t *testing.T) {
	for _, c := range []struct {
		name    string
		catchUp CatchUp
		left    map[string]string
		start   time.Duration
		ran     []string
		record  []string
	}{
		{
			"is run again", CatchUpOnce,
			map[string]string{"2000-01-02T02:30": "k"},
			day + 4*hour,
			[]string{"2000-01-02T02:30 at 04:00"},
			[]string{"2000-01-02T02:30 done"},
		},
		{
			"once", CatchUpOnce,
			map[string]string{"2000-01-02T02:30": "kk"},
			day + 4*hour,
			nil,
			[]string{"2000-01-02T02:30 failed: interrupted twice; its work is left to the next slot"},
		},
		{
			"again after it was stopped", CatchUpOnce,
			map[string]string{"2000-01-02T02:30": "ssk"},
			day + 4*hour,
			[]string{"2000-01-02T02:30 at 04:00"},
			[]string{"2000-01-02T02:30 done"},
		},
		{
			"once after it was stopped", CatchUpOnce,
			map[string]string{"2000-01-02T02:30": "skk"},
			day + 4*hour,
			nil,
			[]string{"2000-01-02T02:30 failed: interrupted twice; its work is left to the next slot"},
		},
		{
			"not with skip", CatchUpSkip,
			map[string]string{"2000-01-02T02:30": "k"},
			day + 4*hour,
			nil,
			[]string{"2000-01-02T02:30 failed: interrupted; catch_up is skip"},
		},
		{
			"with skip, at once", CatchUpSkip,
			map[string]string{"2000-01-02T02:30": "k"},
			day + 2*hour + 31*time.Minute,
			[]string{"2000-01-02T02:30 at 02:31"},
			[]string{"2000-01-02T02:30 done"},
		},
		{
			"gives way to a later one", CatchUpOnce,
			map[string]string{"2000-01-01T02:30": "k", "2000-01-02T02:30": "kk"},
			2*day + 4*hour,
			[]string{"2000-01-03T02:30 at 04:00"},
			[]string{
				"2000-01-01T02:30 failed: interrupted; the slot 2000-01-03T02:30 is run instead",
				"2000-01-02T02:30 failed: interrupted twice; the slot 2000-01-03T02:30 is run instead",
				"2000-01-03T02:30 done",
			},
		},
		{
			"of a clock that went back", CatchUpOnce,
			map[string]string{"2000-01-05T02:30": "k"},
			day + 4*hour,
			[]string{"2000-01-05T02:30 at 2000-01-02T04:00"},
			[]string{"2000-01-02T02:30 skipped: due before the first start", "2000-01-05T02:30 done"},
		},
		{
			"of a clock that went back, after nights missed", CatchUpOnce,
			map[string]string{"2000-01-01T02:30": "k", "2000-01-05T02:30": "k"},
			2*day + 4*hour,
			[]string{"2000-01-05T02:30 at 2000-01-03T04:00"},
			[]string{
				"2000-01-01T02:30 failed: interrupted; the slot 2000-01-05T02:30 is run instead",
				"2000-01-02T02:30 skipped: missed; the slot 2000-01-05T02:30 is run instead",
				"2000-01-03T02:30 skipped: missed; the slot 2000-01-05T02:30 is run instead",
				"2000-01-05T02:30 done",
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, "30 2 * * *", "UTC")
				s.loop.CatchUp = c.catchUp
				for label, ends := range c.left {
					s.left(label, ends)
				}
				s.wait(c.start)
				s.start()
				s.wait(hour)
				s.wantRan(c.ran...)
				s.wantRecord(c.record...)
				decided := len(s.logged())
				s.wait(day)
				s.stop()
				if n := len(s.logged()) - decided; n != 2 { // begins, is done
					t.Errorf("the next night logs %d lines, want 2: %q", n, s.logs[decided:])
				}
			})
		})
	}
}

func TestLoop_OtherScheduleLeftASlotRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "0 1 * * *", "UTC")
		s.left("2000-01-01T01:00", "k")
		s.loop.Schedule = mustSchedule(t, "30 2 * * *", "UTC")
		s.start()
		s.wait(hour)
		s.stop()
		s.wantRan()
		s.wantRecord(firstRow, "2000-01-01T01:00 failed: interrupted; its schedule is no longer configured")
	})
}
