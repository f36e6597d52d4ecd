package goose

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// maxSession is how many bytes one session may have: it is held in memory.
const maxSession = 256 << 20

// IsDatabase tells whether a database is one of goose's sessions.
func IsDatabase(ctx context.Context, db *sql.DB) (bool, error) {
	for table, columns := range map[string][]string{
		"sessions": {"id", "working_dir", "created_at"},
		"messages": {"id", "session_id", "role", "content_json", "created_timestamp"},
	} {
		have, err := columnsOf(ctx, db, table)
		if err != nil {
			return false, err
		}
		for _, c := range columns {
			if !have[c] {
				return false, nil
			}
		}
	}
	return true, nil
}

func columnsOf(ctx context.Context, db *sql.DB, table string) (map[string]bool, error) {
	rows, err := db.QueryContext(ctx, `SELECT name FROM pragma_table_info(?)`, table)
	if err != nil {
		return nil, fmt.Errorf("read the columns of %s: %w", table, err)
	}
	defer rows.Close()
	out := map[string]bool{}
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("read the columns of %s: %w", table, err)
		}
		out[name] = true
	}
	return out, rows.Err()
}

// readDatabase writes each session out as the lines of a session's file, and reads
// those: the hash of such a run is that of its rows.
func readDatabase(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		db, closer, err := src.Database(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		defer closer.Close() //nolint:errcheck // a copy, which is gone already
		ids, err := sessionIDs(ctx, db)
		if err != nil {
			yield(nil, fmt.Errorf("read %s: %w", src.Name, err))
			return
		}
		for _, id := range ids {
			text, err := sessionText(ctx, db, id)
			if err != nil {
				yield(nil, fmt.Errorf("read session %s of %s: %w", id, src.Name, err))
				return
			}
			run, err := readFile(ctx, trace.Source{Name: src.Name, Size: int64(len(text)), ReaderAt: bytes.NewReader(text)})
			if err == nil {
				run.SHA256 = sha256.Sum256(text)
			}
			if !yield(run, err) || err != nil {
				return
			}
		}
	}
}

func sessionIDs(ctx context.Context, db *sql.DB) ([]string, error) {
	rows, err := db.QueryContext(ctx, `SELECT id FROM sessions ORDER BY created_at, id`)
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

// headerColumns are the columns of a session that are read, where they are there.
// created_at comes as text, whatever the driver takes it for.
var headerColumns = []string{
	"id", "working_dir", "created_at", "session_type", "parent_session_id", "input_tokens", "output_tokens", "total_tokens",
	"accumulated_input_tokens", "accumulated_output_tokens", "accumulated_total_tokens", "model_config_json",
}

func sessionText(ctx context.Context, db *sql.DB, id string) ([]byte, error) {
	have, err := columnsOf(ctx, db, "sessions")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range headerColumns {
		if have[c] {
			names = append(names, c)
		}
	}
	values := make([]sql.NullString, len(names))
	into := make([]any, len(names))
	for i := range values {
		into[i] = &values[i]
	}
	query := `SELECT CAST(` + strings.Join(names, ` AS TEXT), CAST(`) + ` AS TEXT) FROM sessions WHERE id = ?`
	if err := db.QueryRowContext(ctx, query, id).Scan(into...); err != nil {
		return nil, err
	}
	header := map[string]any{"message_count": 0} // marks the line as a header
	for i, name := range names {
		switch {
		case !values[i].Valid:
		case strings.HasSuffix(name, "_tokens"):
			header[name] = json.Number(values[i].String)
		case name == "model_config_json":
			if json.Valid([]byte(values[i].String)) {
				header["model_config"] = json.RawMessage(values[i].String)
			}
		default:
			header[name] = values[i].String
		}
	}
	var text bytes.Buffer
	if err := writeLine(&text, header); err != nil {
		return nil, err
	}
	return messageLines(ctx, db, id, &text)
}

func messageLines(ctx context.Context, db *sql.DB, id string, text *bytes.Buffer) ([]byte, error) {
	have, err := columnsOf(ctx, db, "messages")
	if err != nil {
		return nil, err
	}
	metadata := `NULL`
	if have["metadata_json"] {
		metadata = `metadata_json`
	}
	rows, err := db.QueryContext(ctx, `SELECT role, content_json, created_timestamp, `+metadata+` FROM messages WHERE session_id = ? ORDER BY created_timestamp, id`, id)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var role string
		var content, meta sql.NullString
		var created int64
		if err := rows.Scan(&role, &content, &created, &meta); err != nil {
			return nil, err
		}
		line := map[string]any{"role": role, "created": created}
		// What is no JSON costs its line: a row that cannot be read is no evidence.
		if !json.Valid([]byte(content.String)) {
			fmt.Fprintf(text, "a message whose content_json is no JSON\n")
			continue
		}
		line["content"] = json.RawMessage(content.String)
		if json.Valid([]byte(meta.String)) {
			line["metadata"] = json.RawMessage(meta.String)
		}
		if err := writeLine(text, line); err != nil {
			return nil, err
		}
		if text.Len() > maxSession {
			return nil, errors.New("it is larger than " + strconv.Itoa(maxSession>>20) + " MiB")
		}
	}
	return text.Bytes(), rows.Err()
}

func writeLine(text *bytes.Buffer, v any) error {
	line, err := json.Marshal(v) // maps in the order of their keys: the same rows, the same text
	if err != nil {
		return err
	}
	text.Write(line)
	text.WriteByte('\n')
	return nil
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }
