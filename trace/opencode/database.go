package opencode

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"nightaudit/trace"
)

// maxSession is how many bytes one session may have: it is held in memory.
const maxSession = 256 << 20

// maxDepth is how deep sessions of sub-agents are followed.
const maxDepth = 8

// IsDatabase tells whether a database is one of opencode's.
func IsDatabase(ctx context.Context, db *sql.DB) (bool, error) {
	var have int
	err := db.QueryRowContext(ctx, `
		SELECT (SELECT count(*) FROM pragma_table_info('session') WHERE name IN ('id', 'directory', 'time_created'))
		     + (SELECT count(*) FROM pragma_table_info('message') WHERE name IN ('id', 'session_id', 'data'))
		     + (SELECT count(*) FROM pragma_table_info('part') WHERE name IN ('id', 'message_id', 'data'))`).Scan(&have)
	if err != nil {
		return false, fmt.Errorf("read the tables: %w", err)
	}
	return have == 9, nil
}

// readDatabase writes each session out as `opencode export` would, and reads that:
// the hash of such a run is that of its rows. Only the tables of sessions, messages
// and parts are read; others hold tokens.
func readDatabase(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		db, closer, err := src.Database(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer closer.Close() //nolint:errcheck // a copy, which is gone already
		d := &database{ctx: ctx, name: src.Name, db: db}
		ids, err := d.sessions()
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", src.Name, err))
			return
		}
		for _, id := range ids {
			run, err := d.read(id, 0)
			if err != nil {
				yield(nil, fmt.Errorf("read session %s of %s: %w", id, src.Name, err))
				return
			}
			if !yield(run, nil) {
				return
			}
		}
	}
}

type database struct {
	ctx  context.Context
	name string
	db   *sql.DB
}

func (d *database) sessions() ([]string, error) {
	rows, err := d.db.QueryContext(d.ctx, `SELECT id FROM session ORDER BY time_created, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// read reads a session, with those of the sub-agents that its calls have started.
func (d *database) read(id string, depth int) (*trace.Run, error) {
	text, err := d.export(id)
	if err != nil {
		return nil, err
	}
	src := trace.Source{Name: d.name, Size: int64(len(text)), ReaderAt: bytes.NewReader(text)}
	runs, err := readExport(d.ctx, src)
	if err != nil {
		return nil, err
	}
	run := runs[0]
	run.SHA256 = sha256.Sum256(text)
	for i := len(run.Calls) - 1; i >= 0 && depth < maxDepth; i-- {
		if !run.Calls[i].Delegates {
			continue
		}
		part, err := run.Value(run.Calls[i].Record)
		if err != nil {
			return nil, err
		}
		child := part.Path("state", "metadata", "sessionId").Text()
		if child == "" || child == id {
			continue
		}
		sub, err := d.read(child, depth+1)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue // archived or deleted: the call stays marked
		case err != nil:
			return nil, err
		}
		run.Attach(i, sub, "session "+child)
	}
	return run, nil
}

// export writes a session as one JSON text, a part a line. It fails with
// sql.ErrNoRows where there is none.
func (d *database) export(id string) ([]byte, error) {
	var directory, version, parent sql.NullString
	var created int64
	err := d.db.QueryRowContext(d.ctx, `SELECT directory, version, parent_id, time_created FROM session WHERE id = ?`, id).Scan(&directory, &version, &parent, &created)
	if err != nil {
		return nil, err
	}
	info := map[string]any{"id": id, "directory": directory.String, "version": version.String, "time": map[string]int64{"created": created}}
	if parent.Valid {
		info["parentID"] = parent.String
	}
	var text bytes.Buffer
	text.WriteString(`{"info":`)
	if err := writeJSON(&text, info); err != nil {
		return nil, err
	}
	text.WriteString(`,"messages":[`)
	if err := d.messages(id, &text); err != nil {
		return nil, err
	}
	text.WriteString("]}\n")
	return text.Bytes(), nil
}

func (d *database) messages(id string, text *bytes.Buffer) error {
	rows, err := d.db.QueryContext(d.ctx, `
		SELECT message.id, message.data, part.id, part.data
		FROM message LEFT JOIN part ON part.message_id = message.id
		WHERE message.session_id = ?
		ORDER BY message.id, part.id`, id)
	if err != nil {
		return err
	}
	defer rows.Close()
	last := ""
	for rows.Next() {
		var message, info, part, data sql.NullString
		if err := rows.Scan(&message, &info, &part, &data); err != nil {
			return err
		}
		switch {
		case message.String != last && last != "":
			text.WriteString("]},\n")
		case message.String == last:
			text.WriteString(",\n")
		}
		if message.String != last {
			last = message.String
			text.WriteString(`{"info":`)
			text.Write(object(info.String))
			text.WriteString(",\"parts\":[\n")
		}
		if part.Valid {
			text.Write(object(data.String))
		}
		if text.Len() > maxSession {
			return fmt.Errorf("it is larger than %d MiB", maxSession>>20)
		}
	}
	if last != "" {
		text.WriteString("]}")
	}
	return rows.Err()
}

// object is a column's JSON on one line; what is none becomes null, which its
// reader takes for a bad line.
func object(data string) []byte {
	var b bytes.Buffer
	if json.Compact(&b, []byte(data)) != nil {
		return []byte("null")
	}
	return b.Bytes()
}

func writeJSON(text *bytes.Buffer, v any) error {
	raw, err := json.Marshal(v)
	text.Write(raw)
	return err
}
