// Package budget keeps the book of tokens. A request to reserve goes in before
// anything is sent to an endpoint, what the endpoint billed goes in afterwards,
// and what is left of the allowances comes out. What the tokens are spent on, and
// when, is left to others; it gets a database and never opens one.
//
// The book is append-only. Each entry moves tokens between three accounts, free,
// held and spent, and a reservation goes through
//
//	reserve → sent → settle (reported or assumed)
//	reserve → void, or sent → void for a refusal that was not billed
//
// A reservation is committed before its request is written, so whatever the
// interleaving, crash or clock, held + spent never passes an allowance by a
// reservation: the database itself refuses it. Settling records the truth. Where
// an endpoint bills more than was reserved, that is booked, and nothing more is
// admitted until the period ends.
package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// maxTokens is far above any real number of tokens and far below what would
// overflow a sum of them.
const maxTokens = 1 << 50

// Allowance is a number of tokens per period. Every reservation must fit every
// allowance.
type Allowance struct {
	Name   string
	Tokens int64
	Period Period         // "" is Month
	Zone   *time.Location // nil is UTC
}

// Options are what an Account is opened with.
type Options struct {
	// Allowances are those in force; the first is the one that Report is about.
	Allowances []Allowance
	// Now is the clock of entries for which none is passed; nil is time.Now.
	Now func() time.Time
}

// Account is the book. It is safe for use by many goroutines.
type Account struct {
	db         *sql.DB
	allowances []Allowance
	now        func() time.Time
}

// Errors that callers branch on.
var (
	ErrExhausted     = errors.New("allowance exhausted")
	ErrNoReservation = errors.New("no such reservation")
	ErrResolved      = errors.New("reservation is settled or void already")
	ErrSent          = errors.New("reservation was sent")
	ErrMismatch      = errors.New("the book does not agree with itself")
)

// ExhaustedError says by how much a reservation did not fit; it is ErrExhausted.
type ExhaustedError struct {
	Allowance string
	Needed    int64
	Left      int64     // negative when overdrawn
	PeriodEnd time.Time // when there is a new allowance
}

// Error gives the numbers in one line.
func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("allowance %s exhausted: %d tokens needed, %d left until %s",
		e.Allowance, e.Needed, e.Left, e.PeriodEnd.Format(time.RFC3339))
}

// Unwrap makes it ErrExhausted.
func (e *ExhaustedError) Unwrap() error { return ErrExhausted }

// Open puts the allowances in force and returns the book. db must begin its
// transactions with the write lock taken, and have the tables. An allowance that
// is no longer named stops limiting; a changed number of tokens holds from the
// next reservation on; a changed zone from the next period on.
func Open(ctx context.Context, db *sql.DB, o Options) (*Account, error) {
	a, err := View(db, o)
	if err != nil {
		return nil, err
	}
	err = a.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `UPDATE budget_allowances SET active = 0`); err != nil {
			return err
		}
		for _, al := range a.allowances {
			if err := putInForce(ctx, tx, al); err != nil {
				return fmt.Errorf("allowance %s: %w", al.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open budget: %w", err)
	}
	return a, nil
}

// View returns the book without writing to it, for reports beside a daemon; db
// may be read-only.
func View(db *sql.DB, o Options) (*Account, error) {
	if len(o.Allowances) == 0 {
		return nil, errors.New("open budget: no allowance is configured")
	}
	a := &Account{db: db, now: o.Now}
	if a.now == nil {
		a.now = time.Now
	}
	names := map[string]bool{}
	for _, al := range o.Allowances {
		if al.Period == "" {
			al.Period = Month
		}
		if al.Zone == nil {
			al.Zone = time.UTC
		}
		if err := al.validate(); err != nil {
			return nil, fmt.Errorf("open budget: allowance %q: %w", al.Name, err)
		}
		if names[al.Name] {
			return nil, fmt.Errorf("open budget: allowance %q is named twice", al.Name)
		}
		names[al.Name] = true
		a.allowances = append(a.allowances, al)
	}
	return a, nil
}

func (al Allowance) validate() error {
	switch {
	case al.Name == "":
		return errors.New("name is missing")
	case al.Tokens < 0 || al.Tokens > maxTokens:
		return fmt.Errorf("%d tokens is out of range", al.Tokens)
	case !al.Period.known():
		return fmt.Errorf("unknown period %q (month, day or night)", al.Period)
	}
	return nil
}

// putInForce gives a new allowance what is held already: open requests may still
// be billed.
func putInForce(ctx context.Context, tx *sql.Tx, al Allowance) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO budget_allowances (name, period, zone, tokens, active, held)
		VALUES (?, ?, ?, ?, 1, (SELECT coalesce(sum(held), 0) FROM budget_entries))
		ON CONFLICT (name) DO UPDATE SET
			period = excluded.period,
			zone = excluded.zone,
			tokens = excluded.tokens,
			active = 1`,
		al.Name, string(al.Period), al.Zone.String(), al.Tokens)
	return err
}

// writeTimeout bounds the wait for the one writing connection.
const writeTimeout = 30 * time.Second

// write runs fn in one transaction that a cancelled ctx no longer cuts off: what
// was spent must be booked even while the program is being stopped.
func (a *Account) write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	ctx = context.WithoutCancel(ctx)
	wait, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	conn, err := a.db.Conn(wait)
	if err != nil {
		return fmt.Errorf("wait for the writing connection: %w", err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// read runs fn over one snapshot of the book.
func (a *Account) read(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := a.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer tx.Rollback()
	return fn(tx)
}
