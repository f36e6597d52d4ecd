package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// QuarantineAfter is the number of failures after which a trace is left alone
// until it changes or a person clears it.
const QuarantineAfter = 3

// Failure is a trace that could not be audited.
type Failure struct {
	Source, Path string
	Count        int
	Reason       string // of the last time
	First, Last  time.Time
}

// Fail counts a failure of a trace and returns how many there were by now. The
// pass calls it before it tries a trace that might kill it, or after an error.
func (s *Store) Fail(ctx context.Context, source, path, reason string) (count int, err error) {
	err = s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		now := s.now().UnixMilli()
		return tx.QueryRowContext(ctx, `
			INSERT INTO scheduler_quarantine (source, path, failures, reason, first_ms, last_ms)
			VALUES (?, ?, 1, ?, ?, ?)
			ON CONFLICT (source, path) DO UPDATE SET
				failures = failures + 1,
				reason = excluded.reason,
				last_ms = excluded.last_ms
			RETURNING failures`, source, path, reason, now, now).Scan(&count)
	})
	if err != nil {
		return 0, fmt.Errorf("count failure of %s: %w", path, err)
	}
	return count, nil
}

// Quarantined returns the traces that failed QuarantineAfter times or more.
func (s *Store) Quarantined(ctx context.Context) ([]Failure, error) {
	return s.failures(ctx, QuarantineAfter)
}

// Failures returns every trace that has failed since it was last audited.
func (s *Store) Failures(ctx context.Context) ([]Failure, error) { return s.failures(ctx, 1) }

func (s *Store) failures(ctx context.Context, least int) ([]Failure, error) {
	rows, err := s.DB.Read.QueryContext(ctx, `
		SELECT source, path, failures, reason, first_ms, last_ms
		FROM scheduler_quarantine
		WHERE failures >= ?
		ORDER BY source, path`, least)
	return collect(s, "list failing traces", rows, err, func(scan func(...any) error) (Failure, error) {
		var f Failure
		var first, last sql.NullInt64
		err := scan(&f.Source, &f.Path, &f.Count, &f.Reason, &first, &last)
		f.First, f.Last = instant(first), instant(last)
		return f, err
	})
}

// ClearFailures forgets a trace's failures; that there are none is no error.
func (s *Store) ClearFailures(ctx context.Context, source, path string) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return clearFailures(ctx, tx, source, path)
	})
}

func clearFailures(ctx context.Context, tx *sql.Tx, source, path string) error {
	_, err := tx.ExecContext(ctx, `
		DELETE FROM scheduler_quarantine
		WHERE source = ? AND path = ?`, source, path)
	if err != nil {
		return fmt.Errorf("clear failures of %s: %w", path, err)
	}
	return nil
}
