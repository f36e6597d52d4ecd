package rerun

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"nightaudit/rerun/endpoint"
)

// What an endpoint has said of itself outlives the pass (endpoint_state): one that
// is used up until tomorrow, or that refuses the key, is not asked again by the
// next segment or the next night.

// forever is until when an endpoint is left alone that refuses us: until its
// configuration changes.
var forever = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// Leave notes that an endpoint is to be left alone, as its error says. Fingerprint
// stands for its configuration: with another one it is asked again.
func (q *Queue) Leave(ctx context.Context, name, fingerprint string, e *endpoint.Error, now time.Time) error {
	until := e.Until
	if e.Class == endpoint.ClassDisable {
		until = forever
	}
	_, err := q.db.ExecContext(context.WithoutCancel(ctx), `
		INSERT INTO endpoint_state (endpoint, model, parked_until_ms, park_reason, learnt, updated_ms)
		VALUES (?, '', ?, ?, json_object('fingerprint', ?), ?)
		ON CONFLICT (endpoint, model) DO UPDATE SET
		  parked_until_ms = excluded.parked_until_ms, park_reason = excluded.park_reason, learnt = excluded.learnt, updated_ms = excluded.updated_ms`,
		name, until.UnixMilli(), e.Error(), fingerprint, now.UnixMilli())
	if err != nil {
		return fmt.Errorf("note the state of endpoint %s: %w", name, err)
	}
	return nil
}

// Left tells until when an endpoint is left alone, and why; the zero time where it
// is not.
func (q *Queue) Left(ctx context.Context, name, fingerprint string, now time.Time) (until time.Time, why string, err error) {
	var ms sql.NullInt64
	var of string
	err = q.db.QueryRowContext(ctx, `
		SELECT parked_until_ms, coalesce(park_reason, ''), coalesce(learnt ->> 'fingerprint', '') FROM endpoint_state WHERE endpoint = ? AND model = ''`, name).Scan(&ms, &why, &of)
	if errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, "", nil
	}
	if err != nil {
		return time.Time{}, "", fmt.Errorf("read the state of endpoint %s: %w", name, err)
	}
	if until = time.UnixMilli(ms.Int64).UTC(); of != fingerprint || !ms.Valid || !now.Before(until) {
		return time.Time{}, "", nil
	}
	return until, why, nil
}

// serves forgets what an endpoint had said: it has answered since.
func (q *Queue) serves(ctx context.Context, name string) error {
	if _, err := q.db.ExecContext(context.WithoutCancel(ctx), `UPDATE endpoint_state SET parked_until_ms = NULL WHERE endpoint = ? AND model = ''`, name); err != nil {
		return fmt.Errorf("note the state of endpoint %s: %w", name, err)
	}
	return nil
}

// Forever tells whether an endpoint is left alone until its configuration changes.
func Forever(until time.Time) bool { return until.Equal(forever) }
