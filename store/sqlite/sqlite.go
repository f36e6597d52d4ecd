// Package sqlite opens a SQLite file: a path goes in, a DB with one connection
// that writes and a few that read comes out. It sets the pragmas that keep every
// acknowledged commit through a power cut, refuses files that are not its
// caller's, and says in one sentence what is wrong with a file. What is in the
// tables is left to others. It is the only user of the driver.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

const (
	busyTimeout = 5 * time.Second
	maxReaders  = 4
)

// Options say how a file is opened.
type Options struct {
	// ReadOnly opens an existing file and never writes to it.
	ReadOnly bool
	// ApplicationID is the mark of the caller's files. A file with another mark,
	// or with tables and no mark, is refused; an empty file is not. Zero: no check.
	ApplicationID int32
}

// DB is an open file.
type DB struct {
	Path string
	// Write has one connection, whose transactions take the write lock when they
	// begin, so that none fails halfway for having read first. Of a file opened
	// read-only it is Read, on which every write fails.
	Write *sql.DB
	// Read has a few connections that cannot write and never wait for a writer.
	Read *sql.DB
}

// Open opens the file at path, creating it (0600) and its folder (0700) where
// they are missing and the file is not to be read-only.
func Open(ctx context.Context, path string, o Options) (*DB, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if err := prepare(abs, o.ReadOnly); err != nil {
		return nil, err
	}
	// Looked at before anything is set: setting WAL would change a foreign file.
	if err := inspect(ctx, abs, o.ApplicationID); err != nil {
		return nil, Explain(abs, err)
	}
	d := &DB{Path: abs}
	if d.Read, err = pool(readerDSN(abs), maxReaders); err != nil {
		return nil, err
	}
	if o.ReadOnly {
		d.Write = d.Read
		return d, nil
	}
	if d.Write, err = pool(writerDSN(abs), 1); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	if err := useWAL(ctx, d.Write); err != nil {
		return nil, errors.Join(Explain(abs, err), d.Close())
	}
	return d, nil
}

// Close closes all connections; it is safe to call twice.
func (d *DB) Close() error {
	var errs []error
	for _, p := range []*sql.DB{d.Read, d.Write} {
		if p != nil {
			errs = append(errs, p.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close database %s: %w", d.Path, err)
	}
	return nil
}

// Check lets SQLite look through the file: quickly, or (full) comparing every
// index with its table. A damaged file gives ErrCorrupt.
func (d *DB) Check(ctx context.Context, full bool) error {
	query := `PRAGMA quick_check(1)`
	if full {
		query = `PRAGMA integrity_check(1)`
	}
	var verdict string
	if err := d.Read.QueryRowContext(ctx, query).Scan(&verdict); err != nil {
		return Explain(d.Path, err)
	}
	if verdict != "ok" {
		return &FileError{Path: d.Path, Kind: ErrCorrupt, Err: errors.New(verdict)}
	}
	return nil
}

func pool(dsn string, conns int) (*sql.DB, error) {
	p, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	p.SetMaxOpenConns(conns)
	p.SetMaxIdleConns(conns)
	return p, nil
}

// creating is held while a new file is made: to close a descriptor of a file
// drops every lock that this process has on it, those of SQLite's too, so nobody
// may open the file before its creator has closed it.
var creating sync.Mutex

func prepare(path string, readOnly bool) error {
	creating.Lock()
	defer creating.Unlock()
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return &FileError{Path: path, Kind: ErrNotDatabase, Err: errors.New("it is a directory")}
	case err == nil:
		return nil
	case readOnly && errors.Is(err, fs.ErrNotExist) && dirExists(path):
		return &FileError{Path: path, Kind: ErrMissing, Err: err}
	case readOnly || !errors.Is(err, fs.ErrNotExist):
		return unreachable(path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return unreachable(path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return unreachable(path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("create database %s: %w", path, err)
	}
	return nil
}

func inspect(ctx context.Context, path string, want int32) error {
	p, err := pool(readerDSN(path), 1)
	if err != nil {
		return err
	}
	defer p.Close()
	var id int32
	var tables int
	err = p.QueryRowContext(ctx, `
		SELECT
			(SELECT application_id FROM pragma_application_id),
			(SELECT count(*) FROM sqlite_schema)`).Scan(&id, &tables)
	if err != nil {
		return fmt.Errorf("read header: %w", err)
	}
	if want == 0 || id == want || id == 0 && tables == 0 {
		return nil
	}
	return &FileError{Path: path, Kind: ErrForeign, Err: fmt.Errorf("application id %d, not %d", id, want)}
}

// useWAL is no part of the DSN: processes that meet at a fresh file fail with
// "locked" at once, whatever the busy timeout, and the mode stays in the file.
func useWAL(ctx context.Context, p *sql.DB) error {
	var mode string
	var err error
	for wait := 5 * time.Millisecond; wait < busyTimeout; wait *= 2 {
		err = p.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
		if err == nil || !isBusy(err) {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
	if err != nil {
		return fmt.Errorf("set write-ahead log: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("set write-ahead log: this file system does not support it (journal mode stays %s)", mode)
	}
	return nil
}

// writerDSN: FULL, because NORMAL loses acknowledged commits at a power cut, and
// a lost settlement is money spent twice. recursive_triggers lets INSERT OR
// REPLACE meet the triggers that forbid deleting. mode=rw never makes a new file
// in place of one that vanished.
func writerDSN(path string) string {
	return dsn(path, url.Values{
		"mode":       {"rw"},
		"_txlock":    {"immediate"},
		"_defensive": {"1"},
		"_dqs":       {"0"},
		"_error_rc":  {"1"},
		"_pragma": {
			pragma("busy_timeout", busyTimeout.Milliseconds()),
			pragma("synchronous", 2),
			pragma("foreign_keys", 1),
			pragma("trusted_schema", 0),
			pragma("recursive_triggers", 1),
			pragma("temp_store", 2),
			pragma("wal_autocheckpoint", 1000),
			pragma("journal_size_limit", 64<<20),
		},
	})
}

func readerDSN(path string) string {
	return dsn(path, url.Values{
		"mode":       {"ro"},
		"_defensive": {"1"},
		"_dqs":       {"0"},
		"_error_rc":  {"1"},
		"_pragma": {
			pragma("busy_timeout", busyTimeout.Milliseconds()),
			pragma("trusted_schema", 0),
			pragma("temp_store", 2),
			pragma("query_only", 1),
		},
	})
}

func dsn(path string, q url.Values) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}
	return u.String()
}

func pragma(name string, value int64) string {
	return name + "(" + strconv.FormatInt(value, 10) + ")"
}
