package budget

import (
	"testing"
	"time"
)

// TestBounds_Sweep goes through two years by steps of 50 minutes, in awkward
// zones: every instant lies in its period, and the periods follow one another.
func TestBounds_Sweep(t *testing.T) {
	from := time.Date(2010, 12, 1, 0, 0, 0, 0, time.UTC)
	for _, name := range []string{
		"America/Havana", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Kolkata", "Europe/Berlin", "Pacific/Apia",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []Period{Month, Day, Night} {
			start, end := p.bounds(from, zone)
			for at := from; at.Before(from.AddDate(2, 0, 0)); at = at.Add(50 * time.Minute) {
				s, e := p.bounds(at, zone)
				if at.Before(s) || !at.Before(e) {
					t.Fatalf("%s %s: %v is not in [%v, %v)", name, p, at, s, e)
				}
				if s.Equal(start) && e.Equal(end) {
					continue
				}
				if !s.Equal(end) {
					t.Fatalf("%s %s: [%v, %v) does not follow [%v, %v)", name, p, s, e, start, end)
				}
				start, end = s, e
			}
		}
	}
}
