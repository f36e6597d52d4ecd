package scheduler

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightaudit/trace/detect"
)

// walDatabase makes a database of one goose session whose newest rows stand in its
// write-ahead log only, and keeps it open as its agent would.
func walDatabase(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(WAL)&_pragma=wal_autocheckpoint(0)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for _, query := range []string{
		`CREATE TABLE sessions (id TEXT PRIMARY KEY, working_dir TEXT, created_at TEXT, updated_at TEXT)`,
		`CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER)`,
		`CREATE TABLE credential (value TEXT)`,
		`INSERT INTO credential VALUES ('sk-live-secret')`,
		`INSERT INTO sessions VALUES ('s1', '/w', '2026-01-15 10:00:00', '')`,
		`INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', 'assistant', '[{"type":"toolRequest","id":"a","toolCall":{"status":"success","value":{"name":"deploy","arguments":{}}}}]', 1768471200)`,
		`INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', 'user', '[{"type":"toolResponse","id":"a","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"ok"}]}}}]', 1768471201)`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	return db
}

// snapshot is what the folder of a database holds: names, sizes, times and bytes.
func snapshot(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), "-shm") {
			continue // its agent's own locks
		}
		b.WriteString(e.Name() + " " + info.ModTime().Format(time.RFC3339Nano) + " " + string(data) + "\n")
	}
	return b.String()
}

// TestOpenTrace_Database reads a database that is in use, its log included, without
// touching it, and leaves no copy behind.
func TestOpenTrace_Database(t *testing.T) {
	dir, scratch := t.TempDir(), filepath.Join(t.TempDir(), "scratch")
	path := filepath.Join(dir, "sessions.db")
	db := walDatabase(t, path)
	before := snapshot(t, dir)
	src, closer, err := OpenTrace("", path, scratch)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	runs := 0
	for run, err := range detect.Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		runs++
		if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
			t.Errorf("a copy lies in %s while it is read: %v, %v", scratch, left, err)
		}
		if run.Format != "goose" || len(run.Calls) != 1 || !run.Calls[0].ResultPos.Set() {
			t.Errorf("%+v", run)
		}
	}
	if runs != 1 {
		t.Errorf("%d runs", runs)
	}
	if after := snapshot(t, dir); after != before {
		t.Error("the folder of the database has changed")
	}
	_ = db
}

// TestFind_DatabaseLog: what stands in the write-ahead log makes a database new.
func TestFind_DatabaseLog(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "sessions.db")
	db := walDatabase(t, path)
	find := func() File {
		for f, err := range (Source{Name: "s", Patterns: []string{filepath.Join(dir, "*.db")}}).Find(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		t.Fatal("not found")
		return File{}
	}
	first := find()
	if _, err := db.Exec(`INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', 'assistant', '[]', 1768471300)`); err != nil {
		t.Fatal(err)
	}
	if second := find(); second.same(first.state("s", time.Time{})) {
		t.Error("a row in the log makes no difference")
	}
}

// TestOpenTrace_OtherDatabase: a database of something else is named as that.
func TestOpenTrace_OtherDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(`CREATE TABLE t (a)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	src, closer, err := OpenTrace("", path, "")
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	for run, err := range detect.Read(t.Context(), src) {
		if run != nil || err == nil || !strings.Contains(err.Error(), "not of an agent that is known: looked for the tables of goose") {
			t.Errorf("%v, %v", run, err)
		}
	}
}
