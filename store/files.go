package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// The states of a file.
const (
	StatusAudited    = "audited"    // its runs are finished and were audited
	StatusGrowing    = "growing"    // some run in it was not finished yet
	StatusUnreadable = "unreadable" // nothing could be said about it
)

// FileState is what was last seen of a trace file. Size, ModTime and Inode tell
// whether it changed; SHA256 is that of the Size bytes, so that a file which only
// grew can be told from one that was rewritten.
type FileState struct {
	Path, Source string
	Size         int64
	ModTime      time.Time
	Inode        uint64
	Format       string
	SHA256       string
	Records      int
	AuditedAt    time.Time
	Status       string
}

const fileColumns = `
	source,
	path,
	size,
	mtime_ns,
	inode,
	format,
	sha256,
	records,
	status,
	audited_ms`

// Files returns the files of a source that were seen, ordered by path.
func (s *Store) Files(ctx context.Context, source string) ([]FileState, error) {
	rows, err := s.DB.Read.QueryContext(ctx, `
		SELECT `+fileColumns+`
		FROM store_files
		WHERE source = ?
		ORDER BY path`, source)
	return collect(s, "list files", rows, err, scanFile)
}

// File returns what was seen of one file; ok is false when it was never seen.
func (s *Store) File(ctx context.Context, source, path string) (f FileState, ok bool, err error) {
	row := s.DB.Read.QueryRowContext(ctx, `
		SELECT `+fileColumns+`
		FROM store_files
		WHERE source = ? AND path = ?`, source, path)
	f, err = scanFile(row.Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return FileState{}, false, nil
	}
	if err != nil {
		return FileState{}, false, s.Explain(fmt.Errorf("look up file %s: %w", path, err))
	}
	return f, true, nil
}

func scanFile(scan func(...any) error) (FileState, error) {
	var f FileState
	var mtime, inode int64
	var audited sql.NullInt64
	err := scan(&f.Source, &f.Path, &f.Size, &mtime, &inode, &f.Format, &f.SHA256, &f.Records, &f.Status, &audited)
	f.ModTime = time.Unix(0, mtime).UTC()
	f.Inode = uint64(inode)
	f.AuditedAt = instant(audited)
	return f, err
}

func saveFile(ctx context.Context, tx *sql.Tx, f FileState) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO store_files (`+fileColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (source, path) DO UPDATE SET
			size = excluded.size,
			mtime_ns = excluded.mtime_ns,
			inode = excluded.inode,
			format = excluded.format,
			sha256 = excluded.sha256,
			records = excluded.records,
			status = excluded.status,
			audited_ms = excluded.audited_ms`,
		f.Source, f.Path, f.Size, f.ModTime.UnixNano(), int64(f.Inode), f.Format, f.SHA256, f.Records,
		f.Status, f.AuditedAt.UnixMilli())
	if err != nil {
		return fmt.Errorf("save file %s: %w", f.Path, err)
	}
	return nil
}

// collect drains rows through scan; it takes the query's error so that a list is
// one call.
func collect[T any](s *Store, what string, rows *sql.Rows, err error, scan func(func(...any) error) (T, error)) ([]T, error) {
	if err != nil {
		return nil, s.Explain(fmt.Errorf("%s: %w", what, err))
	}
	defer rows.Close()
	var list []T
	for rows.Next() {
		item, err := scan(rows.Scan)
		if err != nil {
			return nil, s.Explain(fmt.Errorf("%s: %w", what, err))
		}
		list = append(list, item)
	}
	if err := rows.Err(); err != nil {
		return nil, s.Explain(fmt.Errorf("%s: %w", what, err))
	}
	return list, nil
}
