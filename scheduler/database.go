package scheduler

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"nightaudit/store/sqlite"
	"nightaudit/trace"
)

// Some agents keep their sessions in an SQLite database that they hold open. Even
// to open it for reading may write beside it, so it and its write-ahead log are
// copied, and the copy is opened and at once deleted: such databases also hold
// tokens, which no kill may leave behind.

// databaseMagic is how an SQLite file begins.
var databaseMagic = []byte("SQLite format 3\x00")

// maxDatabase is how large a database may be, in bytes: it is copied whole.
const maxDatabase = 8 << 30

func isDatabase(src trace.Source) bool {
	head := make([]byte, len(databaseMagic))
	n, _ := src.ReadAt(head, 0) // what cannot be read is no database, and its reader says why
	return n == len(head) && bytes.Equal(head, databaseMagic)
}

// databaseIn returns what opens a copy of the database at file; scratch is where
// the copy lies for a moment, "" the folder for temporary files.
func databaseIn(file, scratch string) func(context.Context) (*sql.DB, io.Closer, error) {
	return func(ctx context.Context) (*sql.DB, io.Closer, error) {
		if scratch != "" {
			if err := os.MkdirAll(scratch, 0o700); err != nil {
				return nil, nil, fmt.Errorf("copy %s: %w", file, err)
			}
		}
		dir, err := os.MkdirTemp(scratch, "nightaudit-db-")
		if err != nil {
			return nil, nil, fmt.Errorf("copy %s: %w", file, err)
		}
		defer os.RemoveAll(dir)
		own := filepath.Join(dir, "copy.db")
		if err := copyDatabase(ctx, file, own); err != nil {
			return nil, nil, err
		}
		db, err := sqlite.Open(ctx, own, sqlite.Options{ReadOnly: true})
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", file, err)
		}
		// One connection, which has its files open before they are deleted.
		db.Read.SetMaxOpenConns(1)
		var tables int
		if err := db.Read.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&tables); err != nil {
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", file, err), db.Close())
		}
		return db.Read, db, nil
	}
}

// copyDatabase copies a database and its log as they are at one moment: where
// either has changed meanwhile, again.
func copyDatabase(ctx context.Context, from, to string) error {
	const tries = 5
	for range tries {
		before := databaseState(from)
		if err := copyFile(ctx, from, to); err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		err := copyFile(ctx, from+"-wal", to+"-wal")
		if errors.Is(err, fs.ErrNotExist) {
			err = os.RemoveAll(to + "-wal") // of an earlier try
		}
		if err != nil {
			return fmt.Errorf("copy %s: %w", from, err)
		}
		if databaseState(from) == before {
			return nil
		}
	}
	return fmt.Errorf("copy %s: it is written to all the time; it will be tried again", from)
}

// databaseState is what changes when a database or its log does.
func databaseState(file string) (state [4]int64) {
	for i, name := range []string{file, file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			state[2*i], state[2*i+1] = info.Size(), info.ModTime().UnixNano()
		}
	}
	return state
}

func copyFile(ctx context.Context, from, to string) (err error) {
	in, size, err := openRegular(func() (*os.File, error) { return os.OpenFile(from, os.O_RDONLY|syscall.O_NONBLOCK, 0) })
	if err != nil {
		return err
	}
	defer in.Close()
	if size > maxDatabase {
		return fmt.Errorf("it has %d MiB, more than %d", size>>20, maxDatabase>>20)
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	for at := int64(0); at < size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(out, in, min(16<<20, size-at))
		if at += n; errors.Is(err, io.EOF) {
			return nil // it shrank; the state tells
		} else if err != nil {
			return err
		}
	}
	return nil
}
