package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Period is how long an allowance lasts.
type Period string

// The periods, all by the calendar of the allowance's zone.
const (
	Month Period = "month"
	Day   Period = "day"
	// Night lasts from noon to noon, so that a pass over midnight has one cap.
	Night Period = "night"
)

func (p Period) known() bool { return p == Month || p == Day || p == Night }

// span is a period as instants, start included and end not.
type span struct {
	start, end time.Time
	tokens     int64
	spent      int64
}

// bounds computes the period that holds t from the calendar.
func (p Period) bounds(t time.Time, zone *time.Location) (start, end time.Time) {
	local := t.In(zone)
	y, m, d := local.Date()
	// Where a zone turns its clock back over midnight, the first computed period
	// can end before t although t's date lies in it, hence the neighbours.
	for n := -1; ; n++ {
		start, end = p.first(y, m, d, n, zone), p.first(y, m, d, n+1, zone)
		if t.Before(end) {
			return start, end
		}
	}
}

// first is the first instant of the n-th period after that of the date.
func (p Period) first(y int, m time.Month, d, n int, zone *time.Location) time.Time {
	switch p {
	case Month:
		return firstInstant(y, m+time.Month(n), 1, 0, zone)
	case Night:
		return firstInstant(y, m, d+n, 12, zone)
	default:
		return firstInstant(y, m, d+n, 0, zone)
	}
}

// firstInstant is the first instant at which a clock in the zone shows the hour
// of that date or a later time. time.Date alone does not promise that where the
// hour is skipped (midnight, in some zones) or shown twice.
func firstInstant(y int, m time.Month, d, hour int, zone *time.Location) time.Time {
	wall := time.Date(y, m, d, hour, 0, 0, 0, time.UTC)
	from, to := wall.Add(-26*time.Hour), wall.Add(26*time.Hour)
	best := to
	consider := func(t time.Time) {
		_, offset := t.In(zone).Zone()
		if !t.UTC().Add(time.Duration(offset)*time.Second).Before(wall) && t.Before(best) {
			best = t
		}
	}
	for at := from; at.Before(to); {
		_, offset := at.In(zone).Zone()
		consider(wall.Add(-time.Duration(offset) * time.Second))
		_, next := at.In(zone).ZoneBounds()
		if next.IsZero() || !next.Before(to) {
			break
		}
		consider(next)
		at = next
	}
	// The offset after the last change applies too.
	_, offset := to.In(zone).Zone()
	consider(wall.Add(-time.Duration(offset) * time.Second))
	return best.UTC()
}

// openPeriod returns the period of an allowance that holds at, storing it where
// at is the first entry in it. A stored period stands: a zone that is configured
// anew neither moves its end nor opens it again.
func openPeriod(ctx context.Context, tx *sql.Tx, al Allowance, at time.Time) error {
	s, stored, err := periodAt(ctx, tx, al, at)
	if err != nil {
		return err
	}
	if stored {
		_, err = tx.ExecContext(ctx, `
			UPDATE budget_periods
			SET tokens = ?
			WHERE allowance = ? AND period = ? AND start_ms = ? AND tokens <> ?`,
			al.Tokens, al.Name, string(al.Period), s.start.UnixMilli(), al.Tokens)
		return err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO budget_periods (allowance, period, start_ms, end_ms, zone, tokens, spent)
		VALUES (?, ?, ?, ?, ?, ?, ?)`,
		al.Name, string(al.Period), s.start.UnixMilli(), s.end.UnixMilli(), al.Zone.String(), al.Tokens, s.spent)
	return err
}

// periodAt finds the period that holds at, or computes the one to be stored. Its
// tokens are always those in force.
func periodAt(ctx context.Context, tx *sql.Tx, al Allowance, at time.Time) (s span, stored bool, err error) {
	s.tokens = al.Tokens
	var start, end int64
	err = tx.QueryRowContext(ctx, `
		SELECT start_ms, end_ms, spent
		FROM budget_periods
		WHERE allowance = ? AND period = ? AND start_ms <= ? AND ? < end_ms`,
		al.Name, string(al.Period), at.UnixMilli(), at.UnixMilli()).Scan(&start, &end, &s.spent)
	if err == nil {
		s.start, s.end = fromMillis(start), fromMillis(end)
		return s, true, nil
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return span{}, false, fmt.Errorf("find period: %w", err)
	}
	s, err = newPeriod(ctx, tx, al, at)
	return s, false, err
}

// newPeriod begins where the last one ended, should a changed zone overlap it.
func newPeriod(ctx context.Context, tx *sql.Tx, al Allowance, at time.Time) (span, error) {
	s := span{tokens: al.Tokens}
	s.start, s.end = al.Period.bounds(at, al.Zone)
	var last sql.NullInt64
	err := tx.QueryRowContext(ctx, `
		SELECT max(end_ms)
		FROM budget_periods
		WHERE allowance = ? AND period = ? AND end_ms <= ?`,
		al.Name, string(al.Period), at.UnixMilli()).Scan(&last)
	if err != nil {
		return span{}, fmt.Errorf("find last period: %w", err)
	}
	if last.Valid && fromMillis(last.Int64).After(s.start) {
		s.start = fromMillis(last.Int64)
	}
	s.spent, err = spentWithin(ctx, tx, s.start.UnixMilli(), s.end.UnixMilli())
	return s, err
}

// spentWithin sums what was spent by reservations made in [start, end).
func spentWithin(ctx context.Context, tx *sql.Tx, start, end int64) (tokens int64, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT coalesce(sum(s.spent), 0)
		FROM budget_entries AS r
		JOIN budget_entries AS s ON s.reservation_id = r.id AND s.kind = 'settle'
		WHERE r.kind = 'reserve' AND r.at_ms >= ? AND r.at_ms < ?`, start, end).Scan(&tokens)
	if err != nil {
		return 0, fmt.Errorf("sum spend: %w", err)
	}
	return tokens, nil
}

func fromMillis(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
