package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestLoop_OrdinaryNights(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.loop.Pass = func(context.Context, Slot) error { time.Sleep(2 * hour); return nil }
		s.start()
		s.wait(2*day + 3*hour)
		s.wantRecord(firstRow, "2000-01-01T02:30 done", "2000-01-02T02:30 done", "2000-01-03T02:30 running")
		s.wait(12 * hour)
		s.stop()
		s.wantRan("2000-01-01T02:30 at 02:30", "2000-01-02T02:30 at 02:30", "2000-01-03T02:30 at 02:30")
		for _, r := range s.record()[1:] {
			if !r.Claimed.Equal(r.Due) || r.Ended.Sub(r.Claimed) != 2*hour {
				t.Errorf("%s: due %s, claimed %s, ended %s", r.Label, r.Due, r.Claimed, r.Ended)
			}
		}
	})
}

func TestLoop_FirstStartCatchesNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.wait(12 * hour)
		s.start()
		s.wait(hour)
		s.stop()
		s.wantRan()
		// Nothing has run yet, but from the first start on nights count.
		s.wait(day)
		s.start()
		s.wait(hour)
		s.stop()
		s.wantRan("2000-01-02T02:30 at 13:00")
	})
}

func TestLoop_MissedNights(t *testing.T) {
	for _, c := range []struct {
		catchUp CatchUp
		back    time.Duration // when it starts again, after 3 January 00:00
		ran     []string
		record  []string
	}{
		{"", 9 * hour, []string{"2000-01-03T02:30 at 09:00"}, []string{
			"2000-01-02T02:30 skipped: missed; the slot 2000-01-03T02:30 is run instead",
			"2000-01-03T02:30 done",
		}},
		{CatchUpOnce, 9 * hour, []string{"2000-01-03T02:30 at 09:00"}, []string{
			"2000-01-02T02:30 skipped: missed; the slot 2000-01-03T02:30 is run instead",
			"2000-01-03T02:30 done",
		}},
		{CatchUpSkip, 9 * hour, nil, []string{
			"2000-01-02T02:30 skipped: missed; catch_up is skip",
			"2000-01-03T02:30 skipped: missed; catch_up is skip",
		}},
		{CatchUpSkip, 2*hour + 30*time.Minute + 40*time.Second, []string{"2000-01-03T02:30 at 02:30:40"}, []string{
			"2000-01-02T02:30 skipped: missed; the slot 2000-01-03T02:30 is run instead",
			"2000-01-03T02:30 done",
		}},
		{CatchUpOnce, hour, []string{"2000-01-02T02:30 at 2000-01-03T01:00", "2000-01-03T02:30 at 02:30"}, []string{
			"2000-01-02T02:30 done", "2000-01-03T02:30 done",
		}},
	} {
		t.Run(fmt.Sprintf("%s after %s", c.catchUp, c.back), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, "30 2 * * *", "UTC")
				s.loop.CatchUp = c.catchUp
				s.start()
				s.wait(12 * hour)
				s.stop()
				s.wait(36*hour + c.back)
				s.start()
				s.wait(3*day + 12*hour - c.back - 2*day)
				s.stop()
				tonight := []string{"2000-01-04T02:30 at 02:30"}
				s.wantRan(slices.Concat([]string{"2000-01-01T02:30 at 02:30"}, c.ran, tonight)...)
				s.wantRecord(slices.Concat([]string{firstRow, "2000-01-01T02:30 done"}, c.record, []string{"2000-01-04T02:30 done"})...)
			})
		})
	}
}

func TestLoop_SleepingMachine(t *testing.T) {
	for _, c := range []struct {
		catchUp CatchUp
		want    []string
	}{
		{CatchUpOnce, []string{"2000-01-01T02:30 at 02:30", "2000-01-02T02:30 at 06:00:30", "2000-01-03T02:30 at 02:30"}},
		{CatchUpSkip, []string{"2000-01-01T02:30 at 02:30", "2000-01-03T02:30 at 02:30"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newSite(t, "30 2 * * *", "UTC")
			s.loop.CatchUp = c.catchUp
			s.start()
			s.wait(22*hour + 20*time.Second)
			s.set(8 * hour) // it wakes at 06:00:20, and the loop ten seconds later
			s.wait(23 * hour)
			s.stop()
			s.wantRan(c.want...)
		})
	}
}

func TestLoop_ClockSetBack(t *testing.T) {
	for _, c := range []struct {
		name string
		wait time.Duration // when it is set back by an hour
		pass time.Duration // how long the pass takes
	}{
		{"soon after the pass", 2*hour + 45*time.Minute, time.Minute},
		{"during the pass", 2*hour + 45*time.Minute, 2 * hour},
		{"to before the last look", 2*hour + 30*time.Minute + time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, "30 2 * * *", "UTC")
				s.loop.Pass = func(context.Context, Slot) error { time.Sleep(c.pass); return nil }
				s.start()
				s.wait(c.wait)
				s.set(-hour)
				s.wait(2 * day)
				s.stop()
				s.wantRan("2000-01-01T02:30 at 02:30", "2000-01-02T02:30 at 02:30")
				s.wantRecord(firstRow, "2000-01-01T02:30 done", "2000-01-02T02:30 done")
			})
		})
	}
}

// A clock that was years ahead and is put right must not leave the nights waiting
// for the years to pass.
func TestLoop_ClockWasAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.set(10 * 365 * day)
		s.start()
		s.wait(12 * hour)
		s.set(-10 * 365 * day)
		s.wait(day)
		s.stop()
		s.wantRan("2009-12-29T02:30 at 02:30", "2000-01-02T02:30 at 02:30")
	})
}

func TestLoop_TooManyMissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "* * * * *", "UTC")
		s.start()
		s.wait(90 * time.Second)
		s.set(5 * day)
		s.wait(Wake)
		s.stop()
		s.wantRan("2000-01-01T00:01 at 00:01", "2000-01-06T00:02 at 00:02")
		if n := len(s.record()); n != 2+maxMissed {
			t.Errorf("%d slots on record, want %d", n, 2+maxMissed)
		}
		if logs := strings.Join(s.logs, ""); !strings.Contains(logs, "missed=7201 recorded=1000") {
			t.Error("what is not recorded is not logged")
		}
	})
}

// What comes due while a pass runs waits, and is then treated as missed.
func TestLoop_DueDuringAPass(t *testing.T) {
	for _, c := range []struct {
		catchUp CatchUp
		ran     []string
		record  []string
	}{
		{CatchUpOnce, []string{"2000-01-01T01:00 at 01:00", "2000-01-01T03:00 at 03:30", "2000-01-01T06:00 at 06:00"}, []string{
			"2000-01-01T00:00 skipped: due before the first start",
			"2000-01-01T01:00 done",
			"2000-01-01T02:00 skipped: came due during the pass of 2000-01-01T01:00; the slot 2000-01-01T03:00 is run instead",
			"2000-01-01T03:00 done",
			"2000-01-01T04:00 skipped: came due during the pass of 2000-01-01T03:00; the slot 2000-01-01T06:00 is run instead",
			"2000-01-01T05:00 skipped: came due during the pass of 2000-01-01T03:00; the slot 2000-01-01T06:00 is run instead",
			"2000-01-01T06:00 running: stopped",
		}},
		{CatchUpSkip, []string{"2000-01-01T01:00 at 01:00", "2000-01-01T04:00 at 04:00"}, []string{
			"2000-01-01T00:00 skipped: due before the first start",
			"2000-01-01T01:00 done",
			"2000-01-01T02:00 skipped: came due during the pass of 2000-01-01T01:00; catch_up is skip",
			"2000-01-01T03:00 skipped: came due during the pass of 2000-01-01T01:00; catch_up is skip",
			"2000-01-01T04:00 running: stopped",
		}},
	} {
		t.Run(string(c.catchUp), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, "@hourly", "UTC")
				s.loop.CatchUp = c.catchUp
				s.loop.Pass = func(ctx context.Context, _ Slot) error {
					sleep(ctx, 2*hour+30*time.Minute)
					return ctx.Err()
				}
				s.start()
				s.wait(6*hour + 10*time.Minute)
				s.stop()
				s.wantRan(c.ran...)
				s.wantRecord(c.record...)
			})
		})
	}
}

func TestLoop_Ticks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		last, most, n := time.Now(), time.Duration(0), 0
		s.loop.OnTick = func() {
			most, last, n = max(most, time.Since(last)), time.Now(), n+1
		}
		s.loop.Pass = func(context.Context, Slot) error { time.Sleep(3*hour + 7*time.Second); return nil }
		s.start()
		s.wait(day)
		s.stop()
		if most > Wake || n < int(day/Wake) || n > int(day/Wake)+10 {
			t.Errorf("%d ticks, at most %s apart, want %d or a few more, %s", n, most, day/Wake, Wake)
		}
	})
}

// A database that fails is tried again at each wake, not in a tight loop.
func TestLoop_DatabaseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, "30 2 * * *", "UTC")
		s.start()
		s.wait(hour)
		s.store.Close()
		s.wait(2 * hour)
		s.stop()
		s.wantRan()
		if n := len(s.logs); n < 59 || n > 62 || !strings.Contains(s.logs[n-1], "trying again") {
			t.Errorf("%d lines of log, want one each half minute: %q", n, s.logs[n-1])
		}
	})
	s := newSite(t, "30 2 * * *", "UTC")
	s.store.Close()
	if err := s.loop.Run(t.Context()); err == nil {
		t.Error("Run() on a closed database = nil")
	}
}

func TestLoop_UnknownCatchUp(t *testing.T) {
	err := (&Loop{CatchUp: "all"}).Run(t.Context())
	if want := `catch_up "all" is unknown; allowed are once, skip`; err == nil || err.Error() != want {
		t.Errorf("Run() = %v, want %s", err, want)
	}
}

// Of many that claim a label at once one gets it.
func TestSlots_ClaimedOnce(t *testing.T) {
	s := newSite(t, "30 2 * * *", "UTC")
	now := time.Date(2026, 11, 30, 2, 30, 0, 0, time.UTC)
	w := waiting{Slot: Slot{Label: "2026-11-30T02:30", Due: now}}
	got := make(chan bool, 16)
	var wg sync.WaitGroup
	for range cap(got) {
		wg.Go(func() {
			ok, err := s.loop.Slots.decide(t.Context(), decision{schedule: "nightly", now: now, run: &w})
			if err != nil {
				t.Error(err)
			}
			got <- ok
		})
	}
	wg.Wait()
	close(got)
	n := 0
	for ok := range got {
		if ok {
			n++
		}
	}
	if n != 1 {
		t.Errorf("claimed by %d, want 1", n)
	}
	if err := s.loop.Slots.finish(t.Context(), "nightly", w.Label, now, nil); err != nil {
		t.Error(err)
	}
	if err := s.loop.Slots.finish(t.Context(), "nightly", w.Label, now, nil); err == nil {
		t.Error("finish() of a slot that is done = nil")
	}
}

// The real loop and database over 400 nights, with both changes of the clock in
// them, and the daemon down until noon on each 15th.
func TestLoop_400Nights(t *testing.T) {
	nights := 400
	if testing.Short() {
		nights = 100 // with the change in spring
	}
	for _, c := range []struct{ spec, zone string }{
		{"30 2 * * *", "America/New_York"},
		{"30 0 * * *", "America/Havana"},
	} {
		t.Run(c.zone, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, c.spec, c.zone)
				zone := s.loop.Schedule.zone
				time.Sleep(12 * hour)
				started := time.Now()
				s.start()
				for n := range nights {
					noon := time.Date(2000, 1, 2+n, 12, 0, 0, 0, zone)
					if noon.Day() == 15 {
						s.wait(time.Until(noon.Add(-14 * hour)))
						s.stop()
						s.wait(time.Until(noon))
						s.start()
					}
					s.wait(time.Until(noon) + time.Minute)
				}
				s.stop()
				var want []string
				for slot := range s.loop.Schedule.Slots(started, time.Now()) {
					want = append(want, slot.Label+" done")
				}
				if len(want) != nights || len(s.ran) != nights {
					t.Errorf("%d slots, ran %d times, want %d", len(want), len(s.ran), nights)
				}
				first := s.record()[0].Label + " skipped: due before the first start"
				s.wantRecord(append([]string{first}, want...)...)
			})
		})
	}
}
