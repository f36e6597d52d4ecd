package scheduler

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Schedule names local date-times at which a pass is due, such as every day at
// 02:30 in Europe/Berlin. ParseSchedule makes one; the zero value is of no use.
type Schedule struct {
	spec string
	cron cron.Schedule
	zone *time.Location
}

// Slot is one time that a schedule names. It is known by its label, not by an
// instant, because that is what happens once: a clock that is turned back shows
// 02:30 twice, and one that is turned forward never shows it.
type Slot struct {
	Label string // the local date-time, such as 2026-11-30T02:30
	// Due is the first instant at which a clock in the schedule's zone shows the
	// label or a later time. Over a gap that is the gap's end, at an overlap the
	// first of the two. A date that a zone leaves out altogether (Samoa's 30
	// December 2011) has its slots too, due at the end of the gap.
	Due time.Time
}

const labelForm = "2006-01-02T15:04"

const fieldNames = "minute hour day-of-month month day-of-week"

// ParseSchedule reads a cron line of five fields or a descriptor such as @daily.
// What would surprise at night is refused: a zone inside the line, intervals,
// seconds, and dates that never come. A nil zone is time.Local.
func ParseSchedule(spec string, zone *time.Location) (Schedule, error) {
	if zone == nil {
		zone = time.Local
	}
	fields := strings.Fields(spec)
	s := Schedule{spec: strings.Join(fields, " "), zone: zone}
	err := checkFields(fields)
	if err == nil {
		s.cron, err = parseCron(s.spec)
	}
	// A year without 29 February would do as well: next looks further.
	if err == nil && s.next(time.Date(1999, time.December, 31, 0, 0, 0, 0, time.UTC)).IsZero() {
		err = errors.New("names a date that never comes")
	}
	if err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", spec, err)
	}
	return s, nil
}

// checkFields refuses what robfig/cron takes and should not, and what it would
// refuse without saying what to write instead.
func checkFields(fields []string) error {
	if len(fields) == 0 {
		return fmt.Errorf("is empty; allowed are five fields (%s) or a descriptor such as @daily", fieldNames)
	}
	first := strings.ToUpper(fields[0])
	switch {
	case strings.HasPrefix(first, "TZ=") || strings.HasPrefix(first, "CRON_TZ="):
		return errors.New("names a zone; set timezone instead")
	case strings.HasPrefix(first, "@EVERY"):
		return errors.New("is an interval, which starts anew with the daemon; name times of day instead, such as 0 */6 * * *")
	case strings.HasPrefix(first, "@"):
		return checkDescriptor(fields)
	case len(fields) == 6:
		return fmt.Errorf("has 6 fields; allowed are five (%s), seconds are not", fieldNames)
	case len(fields) != 5:
		return fmt.Errorf("has %d fields; allowed are five (%s)", len(fields), fieldNames)
	}
	for _, f := range fields {
		if slices.Contains(strings.Split(f, ","), "") {
			return fmt.Errorf("field %q has a comma too many", f)
		}
	}
	return checkDays(fields[2], fields[4])
}

func checkDescriptor(fields []string) error {
	known := []string{"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"}
	if len(fields) > 1 || !slices.Contains(known, fields[0]) {
		return fmt.Errorf("is no descriptor; allowed are %s", strings.Join(known, ", "))
	}
	return nil
}

// checkDays refuses a step beside a second restriction of the day: Vixie's cron
// wants both to hold, the parser either, and nobody sees which was meant.
func checkDays(month, week string) error {
	free := func(f string) bool { return f == "*" || f == "?" }
	step := func(f string) bool { return f[0] == '*' || f[0] == '?' }
	if free(month) || free(week) || !step(month) && !step(week) {
		return nil
	}
	return fmt.Errorf("restricts the day twice, by %s and by %s; with a step, one of day-of-month and day-of-week must be *", month, week)
}

// parseCron guards the parser, which panics on some input.
func parseCron(spec string) (s cron.Schedule, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cannot be read: %v", v)
		}
	}()
	s, err = cron.ParseStandard(spec)
	if err != nil {
		return nil, fmt.Errorf("%w; allowed are minute 0-59, hour 0-23, day-of-month 1-31, month 1-12, day-of-week 0-6 (0 is Sunday)", err)
	}
	return s, nil
}

// String identifies the schedule: its line and its zone. A schedule that is
// changed is another one, with no slots on record.
func (s Schedule) String() string { return s.spec + " " + s.zone.String() }

// Slots yields the slots due after one instant and no later than another, in the
// order of their labels. Slots of one schedule may be due at the same instant, at
// the end of a gap.
func (s Schedule) Slots(after, until time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for slot := range s.from(after) {
			if slot.Due.After(until) || !yield(slot) {
				return
			}
		}
	}
}

// Next returns the n slots due after now.
func (s Schedule) Next(now time.Time, n int) []Slot {
	var list []Slot
	for slot := range s.from(now) {
		if len(list) >= n {
			break
		}
		list = append(list, slot)
	}
	return list
}

// last returns the newest slot due by now. It looks back eleven years, further
// than any schedule's slots lie apart.
func (s Schedule) last(now time.Time) (last Slot, ok bool) {
	for days := 1; days <= 4096 && !ok; days *= 2 {
		for slot := range s.Slots(now.AddDate(0, 0, -days), now) {
			last, ok = slot, true
		}
	}
	return last, ok
}

// from yields the slots due after an instant, without end. A label that the clock
// shows at that instant, or has passed, is due by then; so all others are tried.
func (s Schedule) from(after time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for wall := s.next(wallClock(after, s.zone)); !wall.IsZero(); wall = s.next(wall) {
			slot := Slot{Label: wall.Format(labelForm), Due: firstInstant(wall, s.zone).In(s.zone)}
			if slot.Due.After(after) && !yield(slot) {
				return
			}
		}
	}
}

// next asks the parser's schedule for the label after a wall clock, which is
// written as if it were UTC: in a zone of its own it misses labels in gaps and
// repeats those in overlaps. It gives up after five years, and 29 February may be
// eight away.
func (s Schedule) next(wall time.Time) time.Time {
	for range 3 {
		if t := s.cron.Next(wall); !t.IsZero() {
			return t
		}
		wall = wall.AddDate(4, 0, 0)
	}
	return time.Time{}
}

// wallClock is what a clock in the zone shows at an instant, as if it were UTC.
func wallClock(t time.Time, zone *time.Location) time.Time {
	_, offset := t.In(zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// firstInstant is the first instant at which a clock in the zone shows wall or
// later. time.Date does not promise that where wall is skipped or shown twice. No
// zone is more than 26 hours from UTC, so the search begins before it.
func firstInstant(wall time.Time, zone *time.Location) time.Time {
	at := wall.Add(-26 * time.Hour)
	for {
		_, offset := at.In(zone).Zone()
		_, end := at.In(zone).ZoneBounds()
		t := wall.Add(-time.Duration(offset) * time.Second)
		if t.Before(at) {
			t = at // the clock was turned forward past it
		}
		if end.IsZero() || t.Before(end) {
			return t
		}
		at = end
	}
}
