package budget

import (
	"context"
	"database/sql"
	"fmt"
)

// Verified is what Verify has gone through.
type Verified struct {
	Entries int64
	Head    string // hash of the last entry
}

// Verify reads the whole book and recomputes it: the chain of hashes, what each
// reservation went through, and the sums by which reservations are admitted. The
// first thing that does not agree is reported as ErrMismatch. Entries cut off at
// the end are found by comparing Head with one that was noted before.
func (a *Account) Verify(ctx context.Context) (Verified, error) {
	c := checker{open: map[int64]*open{}, reserved: map[int64]int64{}}
	err := a.read(ctx, func(tx *sql.Tx) error {
		if err := c.entries(ctx, tx); err != nil {
			return err
		}
		if err := c.held(ctx, tx); err != nil {
			return err
		}
		return c.periods(ctx, tx)
	})
	if err != nil {
		return Verified{}, fmt.Errorf("verify budget: %w", err)
	}
	return Verified{Entries: c.last.ID, Head: c.last.Hash}, nil
}

// checker is the book as the entries read so far make it.
type checker struct {
	last     entry
	open     map[int64]*open
	reserved map[int64]int64 // when, by reservation
	spends   []spent
}

type spent struct{ at, tokens int64 }

func (c *checker) entries(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT `+entryColumns+` FROM budget_entries ORDER BY id`)
	if err != nil {
		return fmt.Errorf("read entries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		e, free, err := scanEntry(rows.Scan)
		if err != nil {
			return fmt.Errorf("read entries: %w", err)
		}
		if err := c.entry(e, free); err != nil {
			return fmt.Errorf("entry %d: %w", e.ID, err)
		}
	}
	return rows.Err()
}

func (c *checker) entry(e entry, free int64) error {
	hash, err := e.sum()
	switch {
	case err != nil:
		return err
	case e.ID != c.last.ID+1:
		return fmt.Errorf("%w: entries before it are missing", ErrMismatch)
	case e.PrevHash != c.last.Hash:
		return fmt.Errorf("%w: it is not chained to the entry before it", ErrMismatch)
	case e.Hash != hash:
		return fmt.Errorf("%w: it was changed after it was written", ErrMismatch)
	case free+e.Held+e.Spent != 0:
		return fmt.Errorf("%w: its accounts do not balance", ErrMismatch)
	case e.AtMillis < c.last.AtMillis:
		return fmt.Errorf("%w: it is dated before the entry before it", ErrMismatch)
	}
	c.last = e
	return c.step(e)
}

// step follows a reservation through its states.
func (c *checker) step(e entry) error {
	if e.Kind == kindReserve {
		c.open[e.ID] = &open{id: e.ID, tokens: e.Held}
		c.reserved[e.ID] = e.AtMillis
		return nil
	}
	o := c.open[e.Reservation]
	if o == nil {
		return fmt.Errorf("%w: reservation %d is not open", ErrMismatch, e.Reservation)
	}
	switch {
	case e.Kind == kindSent && !o.sent:
		o.sent = true
		return nil
	case e.Kind == kindSettle && e.Held == -o.tokens:
		c.spends = append(c.spends, spent{c.reserved[o.id], e.Spent})
	case e.Kind == kindVoid && e.Held == -o.tokens && (!o.sent || e.Reason == ReasonUnbilled):
	default:
		return fmt.Errorf("%w: %s does not follow for reservation %d", ErrMismatch, e.Kind, o.id)
	}
	delete(c.open, o.id)
	return nil
}

func (c *checker) held(ctx context.Context, tx *sql.Tx) error {
	var want int64
	for _, o := range c.open {
		want += o.tokens
	}
	return eachSum(ctx, tx, `SELECT name, 0, 0, held FROM budget_allowances ORDER BY name`,
		func(name string, _, _, got int64) error {
			if got != want {
				return fmt.Errorf("%w: allowance %s holds %d tokens, its entries %d", ErrMismatch, name, got, want)
			}
			return nil
		})
}

func (c *checker) periods(ctx context.Context, tx *sql.Tx) error {
	return eachSum(ctx, tx, `SELECT allowance, start_ms, end_ms, spent FROM budget_periods ORDER BY id`,
		func(name string, start, end, got int64) error {
			var want int64
			for _, s := range c.spends {
				if s.at >= start && s.at < end {
					want += s.tokens
				}
			}
			if got != want {
				return fmt.Errorf("%w: allowance %s, period from %s: %d tokens spent, its entries say %d",
					ErrMismatch, name, fromMillis(start).Format("2006-01-02 15:04"), got, want)
			}
			return nil
		})
}

func eachSum(ctx context.Context, tx *sql.Tx, query string, check func(name string, start, end, sum int64) error) error {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return fmt.Errorf("read sums: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var start, end, sum int64
		if err := rows.Scan(&name, &start, &end, &sum); err != nil {
			return fmt.Errorf("read sums: %w", err)
		}
		if err := check(name, start, end, sum); err != nil {
			return err
		}
	}
	return rows.Err()
}
