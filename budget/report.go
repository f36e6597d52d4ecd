package budget

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// guessedAverage is what the first article reckons a re-run costs. It is shown
// until there are samples, and nothing is ever reserved by it.
const guessedAverage = 4000

// samples is how many re-runs, the latest ones, stand for the average while a
// period has none of its own.
const samples = 200

// Report is the state of the book at one instant.
type Report struct {
	At time.Time
	// BooksAhead is how far the last entry is dated after the clock: the clock
	// went back, and the book's time stands still until it has caught up.
	BooksAhead time.Duration

	Balance           // of the first allowance
	Others  []Balance // the caps beside it

	Assumed      int64   // part of Spent that no endpoint reported
	AssumedShare float64 // Assumed / Spent, 0 when nothing is spent

	ReRuns             int   // attempts with something settled, in the period
	Average            int64 // tokens a re-run, rounded up
	AverageIsGuess     bool  // there are no samples yet
	ReRunsLeft         int64 // Left / Average
	ReRunsPerAllowance int64 // Allowance / Average, the article's formula

	Days   []Spend // in order
	Models []Spend // the dearest first
	Head   string  // hash of the last entry; noted elsewhere, it seals the book
}

// Balance is an allowance in its current period. Spent is what the reservations
// of the period cost; Held is everything open, also from the period before.
type Balance struct {
	Name        string
	Allowance   int64
	Start, End  time.Time // End is not part of it
	Held, Spent int64
	Left        int64 // what can still be reserved, never negative
	Overdrawn   int64 // by how much Held and Spent pass the Allowance
}

// Spend is a part of what was spent: of one day (its date in the allowance's
// zone), or of one model at one endpoint.
type Spend struct {
	Day, Endpoint, Model string
	Requests, ReRuns     int
	Tokens, Assumed      int64
	Prompt, Completion   int64 // as far as reported
}

// Report reads the book as of now. It writes nothing.
func (a *Account) Report(ctx context.Context, now time.Time) (Report, error) {
	r := Report{}
	err := a.read(ctx, func(tx *sql.Tx) error {
		last, err := lastEntry(ctx, tx)
		if err != nil {
			return err
		}
		r.At, r.Head = last.after(now), last.Hash
		r.BooksAhead = r.At.Sub(fromMillis(now.UnixMilli()))
		if err := a.balances(ctx, tx, &r); err != nil {
			return err
		}
		settled, err := settledWithin(ctx, tx, r.Start, r.End)
		if err != nil {
			return err
		}
		r.tally(settled, a.allowances[0].Zone)
		return r.forecast(ctx, tx, settled)
	})
	if err != nil {
		return Report{}, fmt.Errorf("report budget: %w", err)
	}
	return r, nil
}

// SpentBy returns the tokens booked for an attempt, also one that was cut off
// before it could say what it cost.
func (a *Account) SpentBy(ctx context.Context, attemptID int64) (tokens int64, err error) {
	err = a.read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `
			SELECT coalesce(sum(spent), 0) FROM budget_entries WHERE kind = 'settle' AND attempt_id = ?`, attemptID).Scan(&tokens)
	})
	if err != nil {
		return 0, fmt.Errorf("read what attempt %d cost: %w", attemptID, err)
	}
	return tokens, nil
}

func (a *Account) balances(ctx context.Context, tx *sql.Tx, r *Report) error {
	held, err := heldNow(ctx, tx)
	if err != nil {
		return err
	}
	for i, al := range a.allowances {
		s, _, err := periodAt(ctx, tx, al, r.At)
		if err != nil {
			return err
		}
		left := s.tokens - s.spent - held
		b := Balance{
			Name: al.Name, Allowance: s.tokens, Start: s.start, End: s.end,
			Held: held, Spent: s.spent, Left: max(left, 0), Overdrawn: max(-left, 0),
		}
		if i == 0 {
			r.Balance = b
			continue
		}
		r.Others = append(r.Others, b)
	}
	return nil
}

// settlement is one settled request, dated by its reservation.
type settlement struct {
	at                 time.Time
	source             string
	tokens             int64
	prompt, completion int64
	purpose            Purpose
}

func settledWithin(ctx context.Context, tx *sql.Tx, start, end time.Time) ([]settlement, error) {
	rows, err := tx.QueryContext(ctx, `
		SELECT
			r.at_ms,
			s.source,
			s.spent,
			s.prompt,
			s.completion,
			s.attempt_id,
			s.endpoint,
			s.model
		FROM budget_entries AS r
		JOIN budget_entries AS s ON s.reservation_id = r.id AND s.kind = 'settle'
		WHERE r.kind = 'reserve' AND r.at_ms >= ? AND r.at_ms < ?
		ORDER BY r.id`, start.UnixMilli(), end.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("list settlements: %w", err)
	}
	defer rows.Close()
	var list []settlement
	for rows.Next() {
		var s settlement
		var at int64
		err := rows.Scan(&at, &s.source, &s.tokens, &s.prompt, &s.completion,
			&s.purpose.AttemptID, &s.purpose.Endpoint, &s.purpose.Model)
		if err != nil {
			return nil, fmt.Errorf("list settlements: %w", err)
		}
		s.at = fromMillis(at)
		list = append(list, s)
	}
	return list, rows.Err()
}

// tally splits the settlements by day and by model.
func (r *Report) tally(settled []settlement, zone *time.Location) {
	days, models := newParts(), newParts()
	for _, s := range settled {
		days.add(Spend{Day: s.at.In(zone).Format(time.DateOnly)}, s)
		models.add(Spend{Endpoint: s.purpose.Endpoint, Model: s.purpose.Model}, s)
		if s.source == sourceAssumed {
			r.Assumed += s.tokens
		}
	}
	if r.Spent > 0 {
		r.AssumedShare = float64(r.Assumed) / float64(r.Spent)
	}
	r.Days, r.Models = days.list, models.list
	slices.SortStableFunc(r.Days, func(x, y Spend) int { return cmp.Compare(x.Day, y.Day) })
	slices.SortStableFunc(r.Models, func(x, y Spend) int { return cmp.Compare(y.Tokens, x.Tokens) })
}

// parts sums settlements under the fields of a Spend that name the part.
type parts struct {
	list  []Spend
	index map[Spend]int
	seen  map[[2]int64]bool // part and attempt
}

func newParts() *parts {
	return &parts{index: map[Spend]int{}, seen: map[[2]int64]bool{}}
}

func (p *parts) add(name Spend, s settlement) {
	i, ok := p.index[name]
	if !ok {
		i = len(p.list)
		p.index[name] = i
		p.list = append(p.list, name)
	}
	part := &p.list[i]
	part.Requests++
	part.Tokens += s.tokens
	part.Prompt += s.prompt
	part.Completion += s.completion
	if s.source == sourceAssumed {
		part.Assumed += s.tokens
	}
	attempt := [2]int64{int64(i), s.purpose.AttemptID}
	if s.purpose.AttemptID != 0 && !p.seen[attempt] {
		p.seen[attempt] = true
		part.ReRuns++
	}
}

// forecast counts the re-runs and says how many more there may be.
func (r *Report) forecast(ctx context.Context, tx *sql.Tx, settled []settlement) error {
	var tokens, n int64
	attempts := map[int64]bool{}
	for _, s := range settled {
		if s.purpose.AttemptID != 0 {
			attempts[s.purpose.AttemptID] = true
			tokens += s.tokens
		}
	}
	n = int64(len(attempts))
	r.ReRuns = len(attempts)
	if n == 0 {
		var err error
		if tokens, n, err = latestAttempts(ctx, tx); err != nil {
			return err
		}
	}
	r.Average, r.AverageIsGuess = guessedAverage, n == 0
	if n > 0 {
		r.Average = max(1, (tokens+n-1)/n)
	}
	r.ReRunsLeft = r.Left / r.Average
	r.ReRunsPerAllowance = r.Allowance / r.Average
	return nil
}

func latestAttempts(ctx context.Context, tx *sql.Tx) (tokens, n int64, err error) {
	err = tx.QueryRowContext(ctx, `
		SELECT coalesce(sum(tokens), 0), count(*)
		FROM (
			SELECT sum(spent) AS tokens
			FROM budget_entries
			WHERE kind = 'settle' AND attempt_id <> 0
			GROUP BY attempt_id
			ORDER BY max(id) DESC
			LIMIT ?)`, samples).Scan(&tokens, &n)
	if err != nil {
		return 0, 0, fmt.Errorf("average re-runs: %w", err)
	}
	return tokens, n, nil
}
