package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // the tests need the zones wherever they run
)

func mustZone(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func mustSchedule(t testing.TB, spec, zone string) Schedule {
	t.Helper()
	s, err := ParseSchedule(spec, mustZone(t, zone))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseSchedule_Refuses(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{"", "is empty"},
		{" \t", "is empty"},
		{"TZ=", "set timezone"},
		{"TZ=0", "set timezone"},
		{"CRON_TZ=UTC", "set timezone"},
		{"CRON_TZ=UTC 30 2 * * *", "set timezone"},
		{"tz=UTC 30 2 * * *", "set timezone"},
		{" TZ=UTC 30 2 * * *", "set timezone"},
		{"@every 24h", "interval"},
		{"@every 1s", "interval"},
		{"@every -1h", "interval"},
		{"@every", "interval"},
		{"@reboot", "allowed are @hourly, @daily"},
		{"@DAILY", "allowed are @hourly, @daily"},
		{"@daily *", "allowed are @hourly, @daily"},
		{"0 30 2 * * *", "seconds"},
		{"30 2 * *", "has 4 fields"},
		{"30 2 * * * * *", "has 7 fields"},
		{"0 0 30 2 *", "never comes"},
		{"0 0 31 4,6,9,11 *", "never comes"},
		{"0 0 , * *", "comma"},
		{"0,,30 2 * * *", "comma"},
		{"30 24 * * *", "hour 0-23"},
		{"60 2 * * *", "minute 0-59"},
		{"30 2 * * 7", "0 is Sunday"},
		{"30 2 0 * *", "day-of-month 1-31"},
		{"x 2 * * *", "minute 0-59"},
		{"30 2 */2 * 1", "restricts the day twice"},
		{"30 2 13 * */2", "restricts the day twice"},
	} {
		_, err := ParseSchedule(c.spec, time.UTC)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("ParseSchedule(%q) = %v, want %q", c.spec, err, c.want)
		}
	}
}

func TestSchedule_Next(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		spec string
		want string
	}{
		{"30 2 * * *", "2026-12-01T02:30 2026-12-02T02:30 2026-12-03T02:30"},
		{"  30  2 * *\t*", "2026-12-01T02:30 2026-12-02T02:30 2026-12-03T02:30"},
		{"@daily", "2026-12-01T00:00 2026-12-02T00:00 2026-12-03T00:00"},
		{"@weekly", "2026-12-06T00:00 2026-12-13T00:00 2026-12-20T00:00"},
		{"0 3 * * mon-fri", "2026-12-01T03:00 2026-12-02T03:00 2026-12-03T03:00"},
		{"0 3 1,15 * 0", "2026-12-01T03:00 2026-12-06T03:00 2026-12-13T03:00"},
		{"0 0 29 2 *", "2028-02-29T00:00 2032-02-29T00:00 2036-02-29T00:00"},
		{"0 12 * * *", "2026-12-01T12:00 2026-12-02T12:00 2026-12-03T12:00"},
	} {
		var got []string
		for _, slot := range mustSchedule(t, c.spec, "UTC").Next(now, 3) {
			got = append(got, slot.Label)
			if slot.Due.Format(labelForm) != slot.Label {
				t.Errorf("%s: slot %s is due %s", c.spec, slot.Label, slot.Due)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: Next() = %s, want %s", c.spec, got, c.want)
		}
	}
}

func TestSchedule_LeapDayOverACommonCentury(t *testing.T) {
	s := mustSchedule(t, "0 0 29 2 *", "UTC")
	after := time.Date(2096, 3, 1, 0, 0, 0, 0, time.UTC)
	if got := s.Next(after, 1); len(got) != 1 || got[0].Label != "2104-02-29T00:00" {
		t.Errorf("Next() = %v", got)
	}
	last, ok := s.last(time.Date(2104, 2, 28, 0, 0, 0, 0, time.UTC))
	if !ok || last.Label != "2096-02-29T00:00" {
		t.Errorf("last() = %v, %t", last, ok)
	}
}

// The instants at which slots around changes of the clock are due.
func TestSchedule_ClockChanges(t *testing.T) {
	for _, c := range []struct{ zone, spec, label, due string }{
		{"America/New_York", "30 2 * * *", "2026-03-08T02:30", "2026-03-08T03:00:00-04:00"},
		{"America/New_York", "30 1 * * *", "2026-11-01T01:30", "2026-11-01T01:30:00-04:00"},
		{"America/New_York", "0 2 * * *", "2026-11-01T02:00", "2026-11-01T02:00:00-05:00"},
		{"Europe/Berlin", "30 2 * * *", "2026-03-29T02:30", "2026-03-29T03:00:00+02:00"},
		{"Europe/Berlin", "30 2 * * *", "2026-10-25T02:30", "2026-10-25T02:30:00+02:00"},
		{"America/Havana", "@daily", "2026-03-08T00:00", "2026-03-08T01:00:00-04:00"},
		{"America/Havana", "30 0 * * *", "2026-11-01T00:30", "2026-11-01T00:30:00-04:00"},
		{"Africa/Cairo", "30 0 * * *", "2026-04-24T00:30", "2026-04-24T01:00:00+03:00"},
		{"Africa/Cairo", "@daily", "2026-10-30T00:00", "2026-10-30T00:00:00+02:00"},
		{"Australia/Lord_Howe", "15 2 * * *", "2026-10-04T02:15", "2026-10-04T02:30:00+11:00"},
		{"Pacific/Apia", "30 2 * * *", "2011-12-30T02:30", "2011-12-31T00:00:00+14:00"},
	} {
		s := mustSchedule(t, c.spec, c.zone)
		want, err := time.Parse(time.RFC3339, c.due)
		if err != nil {
			t.Fatal(err)
		}
		got := slices.Collect(s.Slots(want.Add(-time.Second), want))
		if len(got) != 1 || got[0].Label != c.label || !got[0].Due.Equal(want) {
			t.Errorf("%s %s: slots due %s = %v, want %s", c.spec, c.zone, c.due, got, c.label)
		}
	}
}

// Over 400 days, whatever the zone does, each date has its slots once, and each is
// due in the first minute in which a clock shows its label or a later time.
func TestSchedule_EachLabelOnce(t *testing.T) {
	for _, name := range []string{
		"America/New_York", "Europe/Berlin", "America/Havana", "Africa/Cairo", "Australia/Lord_Howe",
		"Asia/Kolkata", "Pacific/Apia",
	} {
		t.Run(name, func(t *testing.T) {
			zone := mustZone(t, name)
			year := 2026
			if name == "Pacific/Apia" {
				year = 2011 // the year that had no 30 December there
			}
			start := time.Date(year, 1, 1, 12, 0, 0, 0, zone)
			end := time.Date(year, 1, 401, 12, 0, 0, 0, zone)
			dues := map[string]time.Time{}
			labels := everyLabel(start, end)
			i := 0
			for at := start; !at.After(end); at = at.Add(time.Minute) {
				shown := wallClock(at, zone).Format(labelForm)
				for ; i < len(labels) && labels[i] <= shown; i++ {
					dues[labels[i]] = at
				}
			}
			for _, spec := range []string{"30 2 * * *", "30 0 * * *", "15 3 * * *", "@daily", "@hourly", "*/30 * * * *"} {
				checkSlots(t, mustSchedule(t, spec, name), start, end, dues)
			}
		})
	}
}

// everyLabel lists the quarter hours of the calendar after start, up to end.
func everyLabel(start, end time.Time) []string {
	var list []string
	last := wallClock(end, end.Location())
	for wall := wallClock(start, start.Location()).Add(15 * time.Minute); !wall.After(last); wall = wall.Add(15 * time.Minute) {
		list = append(list, wall.Format(labelForm))
	}
	return list
}

func checkSlots(t *testing.T, s Schedule, start, end time.Time, dues map[string]time.Time) {
	t.Helper()
	got := map[string]bool{}
	for slot := range s.Slots(start, end) {
		if got[slot.Label] {
			t.Errorf("%s: slot %s twice", s, slot.Label)
		}
		got[slot.Label] = true
		if want := dues[slot.Label]; !slot.Due.Equal(want) {
			t.Errorf("%s: slot %s is due %s, want %s", s, slot.Label, slot.Due, want)
		}
	}
	want := 0
	for label := range dues {
		wall, err := time.Parse(labelForm, label)
		if err != nil {
			t.Fatal(err)
		}
		if !s.cron.Next(wall.Add(-time.Minute)).Equal(wall) {
			continue
		}
		if want++; !got[label] {
			t.Errorf("%s: no slot %s", s, label)
		}
	}
	if want < 400 || len(got) != want {
		t.Errorf("%s: %d slots, want %d and at least 400", s, len(got), want)
	}
}

// However a span is cut, its parts have the slots of the whole: the loop asks for
// what came due since it last looked.
func TestSchedule_SlotsOfPartsAreThoseOfTheWhole(t *testing.T) {
	for _, name := range []string{"America/Havana", "Australia/Lord_Howe", "Africa/Cairo"} {
		s := mustSchedule(t, "*/20 * * * *", name)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		end := start.AddDate(1, 0, 0)
		whole := slices.Collect(s.Slots(start, end))
		var parts []Slot
		for at := start; at.Before(end); {
			next := at.Add(47*time.Minute + 13*time.Second)
			if next.After(end) {
				next = end
			}
			parts = slices.AppendSeq(parts, s.Slots(at, next))
			at = next
		}
		if !slices.Equal(parts, whole) {
			t.Errorf("%s: %d slots in parts, %d in the whole", name, len(parts), len(whole))
		}
	}
}

// FuzzParseSchedule: no line makes the parser panic, and a schedule that it takes
// has slots, in order, none by an interval shorter than a minute.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range []string{
		"30 2 * * *", "@daily", "@every 1s", "TZ=", "CRON_TZ=UTC", "TZ=UTC @every", "0 0 30 2 *", "0 0 29 2 ?",
		"*/5 1-3 1,15 jan-mar mon", "0 0 0 0 0", "*-5 * * * *", "1-2-3 * * * *", "5/9999999999999999999 * * * *", ", , , , ,",
	} {
		f.Add(spec)
	}
	zone := mustZone(f, "America/Havana")
	now := time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := ParseSchedule(spec, zone)
		if err != nil {
			return
		}
		list := s.Next(now, 3)
		if len(list) != 3 {
			t.Fatalf("%q has %d slots", spec, len(list))
		}
		before := Slot{Due: now}
		for _, slot := range list {
			if slot.Label <= before.Label || slot.Due.Before(before.Due) || !slot.Due.After(now) {
				t.Fatalf("%q: %v after %v", spec, slot, before)
			}
			before = slot
		}
		if last, ok := s.last(now); !ok || last.Due.After(now) || last.Label >= list[0].Label {
			t.Fatalf("%q: last is %v, %t, next %v", spec, last, ok, list[0])
		}
		if again, err := ParseSchedule(s.spec, zone); err != nil || again.String() != s.String() {
			t.Fatalf("%q parses to %q, then %q, %v", spec, s, again, err)
		}
	})
}
