package budget

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ReasonUnbilled is the reason to void a request that was sent: the endpoint
// refused it before it generated anything, and so did not bill it.
const ReasonUnbilled = "unbilled refusal"

// Purpose says what tokens are for.
type Purpose struct {
	ClaimKey  string
	AttemptID int64 // 0: not part of a re-run
	Endpoint  string
	Model     string
}

// Request asks for tokens: the most that one HTTP request can cost. A retry is a
// request of its own.
type Request struct {
	Tokens  int64
	Purpose Purpose
	Now     time.Time // zero: the account's clock
}

// Reservation is tokens held for a request that is not billed yet.
type Reservation struct {
	ID     int64
	Tokens int64
	At     time.Time // when it was entered; see Account.Reserve
}

// Usage is what an endpoint says that a request cost.
type Usage struct {
	Prompt, Completion int64
	Total              int64
	Reported           bool   // false: nobody knows
	Model              string // that answered; "" is the one asked for
}

// cost is what a request is booked at. An endpoint's own sum may leave out what
// its parts hold, or the other way round; the larger counts. Nonsense is not a
// report. What is unknown costs all that was reserved, or what was seen of it.
func (u Usage) cost(reserved int64) (tokens int64, source string) {
	sane := true
	for _, n := range []int64{u.Prompt, u.Completion, u.Total} {
		sane = sane && n >= 0 && n <= maxTokens/2
	}
	if !sane {
		return reserved, sourceAssumed
	}
	seen := max(u.Total, u.Prompt+u.Completion)
	if u.Reported {
		return seen, sourceReported
	}
	return max(reserved, seen), sourceAssumed
}

// Reserve holds tokens for one request. When it returns, the reservation is on
// the disk, and the request may be written after MarkSent. It fails with an
// ExhaustedError when the tokens do not fit an allowance. An entry is never dated
// before the last one, so a clock that goes back opens no period again.
func (a *Account) Reserve(ctx context.Context, r Request) (Reservation, error) {
	if err := ctx.Err(); err != nil {
		return Reservation{}, fmt.Errorf("reserve tokens: %w", err)
	}
	if r.Tokens <= 0 || r.Tokens > maxTokens {
		return Reservation{}, fmt.Errorf("reserve tokens: %d is out of range", r.Tokens)
	}
	if r.Now.IsZero() {
		r.Now = a.now()
	}
	var held entry
	err := a.write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		held, err = a.reserve(ctx, tx, r)
		return err
	})
	if err != nil {
		return Reservation{}, fmt.Errorf("reserve %d tokens: %w", r.Tokens, err)
	}
	return Reservation{ID: held.ID, Tokens: held.Held, At: fromMillis(held.AtMillis)}, nil
}

func (a *Account) reserve(ctx context.Context, tx *sql.Tx, r Request) (entry, error) {
	last, err := lastEntry(ctx, tx)
	if err != nil {
		return entry{}, err
	}
	at := last.after(r.Now)
	for _, al := range a.allowances {
		if err := openPeriod(ctx, tx, al, at); err != nil {
			return entry{}, fmt.Errorf("allowance %s: %w", al.Name, err)
		}
	}
	e, err := add(ctx, tx, last, entry{
		Kind: kindReserve, Held: r.Tokens, AtMillis: at.UnixMilli(), Purpose: r.Purpose,
	})
	// The trigger's own words: the database refuses, this only says why.
	if err != nil && strings.Contains(err.Error(), ErrExhausted.Error()) {
		return entry{}, a.exhausted(ctx, tx, r.Tokens, at)
	}
	return e, err
}

// exhausted finds the allowance that has the least left.
func (a *Account) exhausted(ctx context.Context, tx *sql.Tx, needed int64, at time.Time) error {
	e := &ExhaustedError{Needed: needed}
	held, err := heldNow(ctx, tx)
	if err != nil {
		return err
	}
	for i, al := range a.allowances {
		s, _, err := periodAt(ctx, tx, al, at)
		if err != nil {
			return err
		}
		if left := s.tokens - s.spent - held; i == 0 || left < e.Left {
			e.Allowance, e.Left, e.PeriodEnd = al.Name, left, s.end
		}
	}
	return e
}

func heldNow(ctx context.Context, tx *sql.Tx) (held int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT coalesce(sum(held), 0) FROM budget_entries`).Scan(&held)
	if err != nil {
		return 0, fmt.Errorf("sum held tokens: %w", err)
	}
	return held, nil
}

// MarkSent notes that the request is about to be written. It must return before
// the first byte is: a reservation without the mark provably cost nothing. After
// an error of it, the request must not be sent.
func (a *Account) MarkSent(ctx context.Context, id int64) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("mark reservation %d sent: %w", id, err)
	}
	return a.move(ctx, "mark reservation %d sent: %w", id, func(o open) (entry, error) {
		if o.sent {
			return entry{}, ErrSent
		}
		return entry{Kind: kindSent}, nil
	})
}

// Settle books what a request cost: what is reported, or all that was reserved.
// It may pass the allowance, because it is the truth, and it is not cut off by a
// cancelled ctx. A reservation is settled or voided once; then ErrResolved.
func (a *Account) Settle(ctx context.Context, id int64, u Usage) error {
	return a.move(ctx, "settle reservation %d: %w", id, func(o open) (entry, error) {
		return o.settle(u), nil
	})
}

// Void gives back a reservation whose request was not sent, or was refused
// without a bill (ReasonUnbilled); with any other reason a reservation that is
// marked as sent gives ErrSent.
func (a *Account) Void(ctx context.Context, id int64, reason string) error {
	return a.move(ctx, "void reservation %d: %w", id, func(o open) (entry, error) {
		if reason == "" {
			return entry{}, errors.New("a reason is missing")
		}
		if o.sent && reason != ReasonUnbilled {
			return entry{}, ErrSent
		}
		return o.void(reason), nil
	})
}

// move adds one entry to an open reservation; format wraps its errors.
func (a *Account) move(ctx context.Context, format string, id int64, next func(open) (entry, error)) error {
	err := a.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		o, err := openReservation(ctx, tx, id)
		if err != nil {
			return err
		}
		e, err := next(o)
		if err != nil {
			return err
		}
		return follow(ctx, tx, o, e, a.now())
	})
	if err != nil {
		return fmt.Errorf(format, id, err)
	}
	return nil
}

// follow dates e and writes it behind the last entry.
func follow(ctx context.Context, tx *sql.Tx, o open, e entry, now time.Time) error {
	last, err := lastEntry(ctx, tx)
	if err != nil {
		return err
	}
	e.Reservation, e.AtMillis = o.id, last.after(now).UnixMilli()
	_, err = add(ctx, tx, last, e)
	return err
}

// open is a reservation that is neither settled nor void.
type open struct {
	id, tokens int64
	sent       bool
	purpose    Purpose
}

func (o open) settle(u Usage) entry {
	tokens, source := u.cost(o.tokens)
	p := o.purpose
	if u.Model != "" {
		p.Model = u.Model
	}
	e := entry{Kind: kindSettle, Held: -o.tokens, Spent: tokens, Source: source, Purpose: p}
	if source == sourceReported {
		e.Prompt, e.Completion = u.Prompt, u.Completion
	}
	return e
}

func (o open) void(reason string) entry {
	return entry{Kind: kindVoid, Held: -o.tokens, Reason: reason}
}

func openReservation(ctx context.Context, tx *sql.Tx, id int64) (open, error) {
	o := open{id: id}
	var resolved bool
	err := tx.QueryRowContext(ctx, `
		SELECT
			r.held,
			r.claim_key,
			r.attempt_id,
			r.endpoint,
			r.model,
			EXISTS (SELECT 1 FROM budget_entries WHERE reservation_id = r.id AND kind = 'sent'),
			EXISTS (SELECT 1 FROM budget_entries WHERE reservation_id = r.id AND kind IN ('settle', 'void'))
		FROM budget_entries AS r
		WHERE r.id = ? AND r.kind = 'reserve'`, id).Scan(&o.tokens,
		&o.purpose.ClaimKey, &o.purpose.AttemptID, &o.purpose.Endpoint, &o.purpose.Model, &o.sent, &resolved)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return open{}, ErrNoReservation
	case err != nil:
		return open{}, fmt.Errorf("read reservation: %w", err)
	case resolved:
		return open{}, ErrResolved
	}
	return o, nil
}
