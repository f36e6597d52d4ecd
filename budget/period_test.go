package budget_test

import (
	"errors"
	"testing"
	"time"

	"nightaudit/budget"
)

func mustZone(t *testing.T, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// TestPeriod_Bounds looks at the stored period through a report, in zones whose
// clocks change near the boundary.
func TestPeriod_Bounds(t *testing.T) {
	tests := []struct {
		name, zone     string
		period         budget.Period
		at, start, end string
	}{
		{"summer time begins in the month", "Europe/Berlin", budget.Month, "2026-03-10T12:00:00Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},
		{"the last instant", "Europe/Berlin", budget.Month, "2026-03-31T21:59:59.999Z", "2026-02-28T23:00:00Z", "2026-03-31T22:00:00Z"},
		{"the first instant of the next", "Europe/Berlin", budget.Month, "2026-03-31T22:00:00Z", "2026-03-31T22:00:00Z", "2026-04-30T22:00:00Z"},
		{"winter time begins", "America/New_York", budget.Month, "2026-11-15T00:00:00Z", "2026-11-01T04:00:00Z", "2026-12-01T05:00:00Z"},
		{"a month over the year's end", "America/New_York", budget.Month, "2027-01-01T04:59:00Z", "2026-12-01T05:00:00Z", "2027-01-01T05:00:00Z"},
		{"a day of 23 hours", "America/New_York", budget.Day, "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"a day of 25 hours", "Europe/Berlin", budget.Day, "2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},
		{"midnight is skipped", "America/Havana", budget.Day, "2026-03-08T12:00:00Z", "2026-03-08T05:00:00Z", "2026-03-09T04:00:00Z"},
		{"midnight comes twice", "America/Havana", budget.Day, "2026-11-01T05:30:00Z", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},
		{"the day before a skipped day", "Pacific/Apia", budget.Day, "2011-12-30T09:00:00Z", "2011-12-29T10:00:00Z", "2011-12-30T10:00:00Z"},
		{"the day after a skipped day", "Pacific/Apia", budget.Day, "2011-12-30T11:00:00Z", "2011-12-30T10:00:00Z", "2011-12-31T10:00:00Z"},
		{"one night over midnight", "Europe/Berlin", budget.Night, "2026-03-29T00:30:00Z", "2026-03-28T11:00:00Z", "2026-03-29T10:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			at, err := time.Parse(time.RFC3339, tt.at)
			if err != nil {
				t.Fatal(err)
			}
			al := budget.Allowance{Name: "a", Tokens: 100, Period: tt.period, Zone: mustZone(t, tt.zone)}
			a := mustOpen(t, mustStore(t).DB.Write, al)
			mustReserve(t, a, 1, at)
			r := mustReport(t, a, at)
			start, end := r.Start.Format(time.RFC3339), r.End.Format(time.RFC3339)
			if start != tt.start || end != tt.end {
				t.Errorf("got [%s, %s), want [%s, %s)", start, end, tt.start, tt.end)
			}
		})
	}
}

func TestPeriod_ClockThatGoesBackReopensNothing(t *testing.T) {
	a := mustOpen(t, mustStore(t).DB.Write, monthly(100))
	march := time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC)
	april := march.Add(2 * time.Hour)
	mustReserve(t, a, 60, april)
	r, err := a.Reserve(t.Context(), budget.Request{Tokens: 41, Now: march})
	if !errors.Is(err, budget.ErrExhausted) {
		t.Fatalf("got %+v, %v, want ErrExhausted: March is over", r, err)
	}
	if got := mustReserve(t, a, 40, march).At; !got.Equal(april) {
		t.Errorf("entered at %v, want %v", got, april)
	}
	if got := mustReport(t, a, march).BooksAhead; got != 2*time.Hour {
		t.Errorf("ahead by %v, want 2h", got)
	}
	mustVerify(t, a)
}

func TestPeriod_InFlightOverTheBoundaryIsHeldInBoth(t *testing.T) {
	a := mustOpen(t, mustStore(t).DB.Write, monthly(100))
	march := time.Date(2026, 3, 31, 23, 0, 0, 0, time.UTC)
	april := march.Add(2 * time.Hour)
	id := mustReserve(t, a, 70, march).ID
	if _, err := a.Reserve(t.Context(), budget.Request{Tokens: 31, Now: april}); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
	if err := a.Settle(t.Context(), id, reported(70)); err != nil {
		t.Fatal(err)
	}
	mustReserve(t, a, 100, april)
	if r := mustReport(t, a, april); r.Spent != 0 || r.Held != 100 {
		t.Errorf("April: %+v, want what March reserved to count in March", r.Balance)
	}
	mustVerify(t, a)
}

func TestOpen_ConfigurationChanges(t *testing.T) {
	db := mustStore(t).DB.Write
	a := mustOpen(t, db, monthly(100))
	if err := a.Settle(t.Context(), mustReserve(t, a, 60, noon).ID, reported(60)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name       string
		allowances []budget.Allowance
		left       int64
		end        string
	}{
		{"more tokens", []budget.Allowance{monthly(150)}, 90, "2026-04-01T00:00:00Z"},
		{"fewer than are spent", []budget.Allowance{monthly(50)}, 0, "2026-04-01T00:00:00Z"},
		{"another zone: the period stands", []budget.Allowance{{Name: "month", Tokens: 100, Zone: mustZone(t, "America/New_York")}}, 40, "2026-04-01T00:00:00Z"},
		{"by day: what today cost counts", []budget.Allowance{{Name: "month", Tokens: 100, Period: budget.Day}}, 40, "2026-03-11T00:00:00Z"},
		{"a new cap counts it too", []budget.Allowance{monthly(200), {Name: "night", Tokens: 70, Period: budget.Night}}, 10, "2026-03-11T12:00:00Z"},
		{"the cap is gone", []budget.Allowance{monthly(200)}, 140, "2026-04-01T00:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := mustOpen(t, db, tt.allowances...)
			_, err := a.Reserve(t.Context(), budget.Request{Tokens: tt.left + 1, Now: noon})
			var e *budget.ExhaustedError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, want an ExhaustedError", err)
			}
			if left := max(e.Left, 0); left != tt.left || e.PeriodEnd.Format(time.RFC3339) != tt.end {
				t.Errorf("got %+v, want %d left until %s", *e, tt.left, tt.end)
			}
			if tt.left > 0 {
				if err := a.Void(t.Context(), mustReserve(t, a, tt.left, noon).ID, "fits"); err != nil {
					t.Fatal(err)
				}
			}
			mustVerify(t, a)
		})
	}
}

func TestView_Refused(t *testing.T) {
	for name, allowances := range map[string][]budget.Allowance{
		"none":           {},
		"no name":        {{Tokens: 1}},
		"negative":       {{Name: "a", Tokens: -1}},
		"unknown period": {{Name: "a", Period: "week"}},
		"named twice":    {{Name: "a"}, {Name: "a"}},
	} {
		if _, err := budget.View(nil, budget.Options{Allowances: allowances}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
