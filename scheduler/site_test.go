package scheduler

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"nightaudit/store"
)

// site is a machine with a state directory, on which loops are started and stopped.
// In a synctest bubble its clock begins at midnight, 1 January 2000, UTC.
type site struct {
	t     *testing.T
	store *store.Store
	loop  Loop
	stop  func() // stops the loop and waits for it

	mu    sync.Mutex
	shift time.Duration // how far the clock was set from time.Now
	ran   []string      // labels and when they began, as the clock showed it
	logs  []string
}

func newSite(t *testing.T, spec, zone string) *site {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "night.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s := &site{t: t, store: db}
	s.loop = Loop{
		Schedule: mustSchedule(t, spec, zone), Slots: NewSlots(db), Now: s.now, Log: slog.New(slog.NewTextHandler(s, nil)),
		Pass: func(context.Context, Slot) error { return nil },
	}
	return s
}

func (s *site) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.shift)
}

// Write takes the log.
func (s *site) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logs = append(s.logs, string(line))
	return len(line), nil
}

func (s *site) logged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logs)
}

// set sets the clock, which a machine that sleeps does too: its timers stood still.
func (s *site) set(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shift += by
}

func (s *site) start() {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.t.Context())
	loop := s.loop
	loop.Pass = func(ctx context.Context, slot Slot) error {
		s.note(slot)
		return s.loop.Pass(ctx, slot)
	}
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	s.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Errorf("Run() = %v", err)
		}
	}
}

func (s *site) note(slot Slot) {
	began := s.now().In(s.loop.Schedule.zone).Format("2006-01-02T15:04:05")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, slot.Label+" at "+strings.TrimSuffix(strings.TrimPrefix(began, slot.Label[:11]), ":00"))
}

// wait lets the time of the bubble pass, up to and with what happens at its end.
func (s *site) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *site) wantRan(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.ran, want) {
		s.t.Errorf("ran\n\t%s\nwant\n\t%s", strings.Join(s.ran, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// wantRecord compares the record, oldest label first.
func (s *site) wantRecord(want ...string) {
	s.t.Helper()
	var got []string
	for _, r := range s.record() {
		got = append(got, strings.TrimSuffix(fmt.Sprintf("%s %s: %s", r.Label, r.State, r.Reason), ": "))
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("record\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func (s *site) record() []SlotRecord {
	s.t.Helper()
	list, err := s.loop.Slots.Recent(s.t.Context(), 1e6)
	if err != nil {
		s.t.Fatal(err)
	}
	slices.SortFunc(list, func(a, b SlotRecord) int { return strings.Compare(a.Label, b.Label) })
	return list
}

const (
	hour     = time.Hour
	day      = 24 * hour
	firstRow = "1999-12-31T02:30 skipped: due before the first start"
)

// left puts a slot on record as processes leave it that end in its pass, one after
// the other: killed (k) or stopped (s).
func (s *site) left(label, ends string) {
	s.t.Helper()
	due, err := time.ParseInLocation(labelForm, label, s.loop.Schedule.zone)
	if err != nil {
		s.t.Fatal(err)
	}
	schedule := s.loop.Schedule.String()
	w := waiting{Slot: Slot{Label: label, Due: due}}
	for _, end := range ends {
		ok, err := s.loop.Slots.decide(s.t.Context(), decision{schedule: schedule, now: due, run: &w})
		if err != nil || !ok {
			s.t.Fatalf("claim %s: %t, %v", label, ok, err)
		}
		if end == 's' {
			if err := s.loop.Slots.stop(s.t.Context(), schedule, label); err != nil {
				s.t.Fatal(err)
			}
		}
		list, err := s.loop.Slots.running(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		i := slices.IndexFunc(list, func(r SlotRecord) bool { return r.Label == label })
		w.begun = &list[i]
	}
}
