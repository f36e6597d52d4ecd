// Package store is nightaudit's memory: one SQLite file. Which traces were seen,
// what was found in them and what they showed goes in; history for the pass and
// the reports comes out. It also makes the tables of the other packages (see
// migrations), but leaves what is in those to them.
//
// Whatever a call acknowledged survives a kill or a power cut at any later
// instant: one transaction a call, flushed before the call returns.
package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"nightaudit/store/sqlite"
)

// applicationID marks the file as nightaudit's ("naud"), for us and for file(1).
const applicationID = 0x6e617564

// Options say how the store is opened. The zero value writes and uses time.Now.
type Options struct {
	// ReadOnly opens an existing store beside a daemon and writes nothing.
	ReadOnly bool
	// Now is the clock of what the store stamps itself; nil is time.Now.
	Now func() time.Time
}

// Store is an open store.
type Store struct {
	// DB is for the packages whose tables lie in the same file.
	DB  *sqlite.DB
	now func() time.Time
}

// Open opens the store at path, makes it where it is missing and brings its
// tables up to date. It fails with ErrNewerSchema, or with an error of
// store/sqlite that says what is wrong with the file.
func Open(ctx context.Context, path string, o Options) (*Store, error) {
	db, err := sqlite.Open(ctx, path, sqlite.Options{ReadOnly: o.ReadOnly, ApplicationID: applicationID})
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	s := &Store{DB: db, now: o.Now}
	if s.now == nil {
		s.now = time.Now
	}
	if err := s.migrate(ctx, o.ReadOnly); err != nil {
		db.Close()
		return nil, fmt.Errorf("open store: %w", s.Explain(err))
	}
	return s, nil
}

// Close closes the store; it is safe to call twice.
func (s *Store) Close() error { return s.DB.Close() }

// Explain turns an error of any package that uses the file into one sentence for
// the user where the file is to blame (disk full, damaged), and returns it as it
// is otherwise.
func (s *Store) Explain(err error) error { return sqlite.Explain(s.DB.Path, err) }

// write runs fn in one transaction. It is not cut off by ctx once it runs: an
// interrupted commit leaves nobody knowing whether the record was kept.
func (s *Store) write(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error) error {
	conn, err := s.DB.Write.Conn(ctx)
	if err != nil {
		return s.Explain(fmt.Errorf("wait for the writing connection: %w", err))
	}
	defer conn.Close()
	ctx = context.WithoutCancel(ctx)
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return s.Explain(fmt.Errorf("begin: %w", err))
	}
	defer tx.Rollback()
	if err := fn(ctx, tx); err != nil {
		return s.Explain(err)
	}
	if err := tx.Commit(); err != nil {
		return s.Explain(fmt.Errorf("commit: %w", err))
	}
	return nil
}

// millis and instant convert at the border: the zero time is NULL in the tables.
func millis(t time.Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

func instant(ms sql.NullInt64) time.Time {
	if !ms.Valid {
		return time.Time{}
	}
	return time.UnixMilli(ms.Int64).UTC()
}
