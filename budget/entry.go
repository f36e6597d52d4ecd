package budget

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The kinds of entries and the sources of a settlement.
const (
	kindReserve = "reserve"
	kindSent    = "sent"
	kindSettle  = "settle"
	kindVoid    = "void"

	sourceReported = "reported"
	sourceAssumed  = "assumed"
)

// entry is one line of the book. Held and Spent are the moves into those two
// accounts; the third, free, takes the opposite of both.
type entry struct {
	ID          int64
	Reservation int64
	Kind        string
	Held, Spent int64
	AtMillis    int64
	Source      string
	Reason      string
	Prompt      int64
	Completion  int64
	Purpose     Purpose
	PrevHash    string
	Hash        string
}

const entryColumns = `
	id,
	reservation_id,
	kind,
	free,
	held,
	spent,
	at_ms,
	source,
	reason,
	prompt,
	completion,
	claim_key,
	attempt_id,
	endpoint,
	model,
	prev_hash,
	hash`

// sum is the entry's hash over all its other fields, the last entry's hash among
// them. JSON keeps the fields apart, whatever text is in them.
func (e entry) sum() (string, error) {
	fields := []any{
		e.ID, e.Reservation, e.Kind, e.Held, e.Spent, e.AtMillis, e.Source, e.Reason, e.Prompt, e.Completion,
		e.Purpose.ClaimKey, e.Purpose.AttemptID, e.Purpose.Endpoint, e.Purpose.Model, e.PrevHash,
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return "", fmt.Errorf("hash entry: %w", err)
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:]), nil
}

func scanEntry(scan func(...any) error) (e entry, free int64, err error) {
	err = scan(&e.ID, &e.Reservation, &e.Kind, &free, &e.Held, &e.Spent, &e.AtMillis, &e.Source, &e.Reason,
		&e.Prompt, &e.Completion, &e.Purpose.ClaimKey, &e.Purpose.AttemptID, &e.Purpose.Endpoint, &e.Purpose.Model,
		&e.PrevHash, &e.Hash)
	return e, free, err
}

// lastEntry is the zero entry for an empty book.
func lastEntry(ctx context.Context, tx *sql.Tx) (entry, error) {
	var e entry
	err := tx.QueryRowContext(ctx, `
		SELECT id, at_ms, hash
		FROM budget_entries
		ORDER BY id DESC
		LIMIT 1`).Scan(&e.ID, &e.AtMillis, &e.Hash)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return entry{}, fmt.Errorf("read last entry: %w", err)
	}
	return e, nil
}

// after dates an entry: a clock that went back must not reach into a period that
// is over, so time in the book stands still until the clock has caught up.
func (e entry) after(now time.Time) time.Time {
	if ms := now.UnixMilli(); e.ID == 0 || ms > e.AtMillis {
		return fromMillis(ms)
	}
	return fromMillis(e.AtMillis)
}

// add writes e behind last, and fills in its id, hashes and, for a reservation,
// the reservation's id, which is that of the entry.
func add(ctx context.Context, tx *sql.Tx, last entry, e entry) (entry, error) {
	e.ID, e.PrevHash = last.ID+1, last.Hash
	if e.Kind == kindReserve {
		e.Reservation = e.ID
	}
	var err error
	if e.Hash, err = e.sum(); err != nil {
		return entry{}, err
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO budget_entries (`+entryColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Reservation, e.Kind, -e.Held-e.Spent, e.Held, e.Spent, e.AtMillis, e.Source, e.Reason,
		e.Prompt, e.Completion, e.Purpose.ClaimKey, e.Purpose.AttemptID, e.Purpose.Endpoint, e.Purpose.Model,
		e.PrevHash, e.Hash)
	if err != nil {
		return entry{}, fmt.Errorf("write entry: %w", err)
	}
	return e, nil
}
