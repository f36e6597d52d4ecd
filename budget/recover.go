package budget

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Recovered is what a crash had left open.
type Recovered struct {
	Voided  int   // never sent
	Settled int   // sent, and booked whole
	Tokens  int64 // that were assumed for them
}

// Recover closes what a killed program left open: a reservation that was never
// marked as sent is void, any other is booked whole, because nobody knows. It
// runs at the start, before anything is reserved, under the lock that keeps a
// second program away: what is open then belongs to nobody.
func (a *Account) Recover(ctx context.Context, now time.Time) (Recovered, error) {
	var done Recovered
	err := a.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		ids, err := openIDs(ctx, tx)
		if err != nil {
			return err
		}
		for _, id := range ids {
			o, err := openReservation(ctx, tx, id)
			if err != nil {
				return err
			}
			e := o.void("never sent")
			if o.sent {
				e = o.settle(Usage{})
				e.Reason = "recovered"
			}
			if err := follow(ctx, tx, o, e, now); err != nil {
				return err
			}
			done.count(e)
		}
		return nil
	})
	if err != nil {
		return Recovered{}, fmt.Errorf("recover reservations: %w", err)
	}
	return done, nil
}

func (r *Recovered) count(e entry) {
	if e.Kind == kindVoid {
		r.Voided++
		return
	}
	r.Settled++
	r.Tokens += e.Spent
}

func openIDs(ctx context.Context, tx *sql.Tx) ([]int64, error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT r.id
		FROM budget_entries AS r
		WHERE r.kind = 'reserve'
			AND NOT EXISTS (
				SELECT 1
				FROM budget_entries AS e
				WHERE e.reservation_id = r.id AND e.kind IN ('settle', 'void'))
		ORDER BY r.id`)
	if err != nil {
		return nil, fmt.Errorf("list open reservations: %w", err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("list open reservations: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
