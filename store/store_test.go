package store_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"nightaudit/store"
	"nightaudit/store/sqlite"
)

var night = time.Date(2026, 3, 10, 2, 30, 0, 0, time.UTC)

func mustOpen(t *testing.T, path string) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), path, store.Options{Now: func() time.Time { return night }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustExec(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestOpen_TwiceAndModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "night 100%?#.db")
	first := mustOpen(t, path)
	if _, err := first.Fail(t.Context(), "src", "a", "torn"); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := mustOpen(t, path)
	if n, err := second.Fail(t.Context(), "src", "a", "torn"); n != 2 || err != nil {
		t.Errorf("got %d, %v, want the second failure", n, err)
	}
	for name, want := range map[string]fs.FileMode{path: 0o600, path + "-wal": 0o600, filepath.Dir(path): fs.ModeDir | 0o700} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode() != want {
			t.Errorf("%s has mode %v, want %v", name, info.Mode(), want)
		}
	}
	if err := second.DB.Check(t.Context(), true); err != nil {
		t.Error(err)
	}
}

func TestOpen_Pragmas(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "night.db"))
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1", "trusted_schema": "0",
		"recursive_triggers": "1", "application_id": "1851880804", "user_version": "1",
	} {
		var got string
		if err := s.DB.Write.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s = %s, want %s", pragma, got, want)
		}
	}
	if _, err := s.DB.Read.ExecContext(t.Context(), `DELETE FROM store_files`); !errors.Is(s.Explain(err), sqlite.ErrReadOnly) {
		t.Errorf("a reader wrote: %v", err)
	}
}

func TestOpen_Concurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "night.db")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			s, err := store.Open(t.Context(), path, store.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestOpen_Refused(t *testing.T) {
	tests := []struct {
		name string
		make func(t *testing.T, dir string) string
		opts store.Options
		want error
		text string
	}{
		{"newer schema", func(t *testing.T, dir string) string {
			s := mustOpen(t, filepath.Join(dir, "a.db"))
			mustExec(t, s.DB.Write, `PRAGMA user_version = 7`)
			return s.DB.Path
		}, store.Options{}, store.ErrNewerSchema, "was written by a newer nightaudit (schema 7, this one knows 1)"},
		{"another program's", func(t *testing.T, dir string) string {
			return foreign(t, dir, `CREATE TABLE t (x); PRAGMA application_id = 42`)
		}, store.Options{}, sqlite.ErrForeign, "is a database of another program"},
		{"tables without a mark", func(t *testing.T, dir string) string {
			return foreign(t, dir, `CREATE TABLE t (x)`)
		}, store.Options{}, sqlite.ErrForeign, "is a database of another program"},
		{"garbage", func(t *testing.T, dir string) string {
			return write(t, filepath.Join(dir, "a.db"), strings.Repeat("no database ", 400))
		}, store.Options{}, sqlite.ErrNotDatabase, "is not a SQLite database"},
		{"a directory", func(_ *testing.T, dir string) string { return dir }, store.Options{}, sqlite.ErrNotDatabase, "is a directory"},
		{"below a file", func(t *testing.T, dir string) string {
			return filepath.Join(write(t, filepath.Join(dir, "file"), ""), "a.db")
		}, store.Options{}, sqlite.ErrNoDirectory, "its directory is missing or is no directory"},
		{
			"directory that takes no files", func(*testing.T, string) string { return "/proc/self/night.db" },
			store.Options{},
			nil, "/proc/self/night.db cannot be opened",
		},
		{
			"missing and read-only", func(_ *testing.T, dir string) string { return filepath.Join(dir, "a.db") },
			store.Options{ReadOnly: true},
			sqlite.ErrMissing, "does not exist",
		},
		{
			"empty and read-only", func(t *testing.T, dir string) string { return write(t, filepath.Join(dir, "a.db"), "") },
			store.Options{ReadOnly: true},
			store.ErrOlderSchema, "opened read-only",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(t, t.TempDir())
			_, err := store.Open(t.Context(), path, tt.opts)
			if err == nil {
				t.Fatal("opened")
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			for _, text := range []string{path, tt.text} {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("got %q, want %q in it", err, text)
				}
			}
		})
	}
}

func foreign(t *testing.T, dir, query string) string {
	t.Helper()
	path := filepath.Join(dir, "a.db")
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	mustExec(t, db.Write, query)
	return path
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCheck_FindsDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "night.db")
	s := mustOpen(t, path)
	for _, name := range strings.Fields("a b c d e f g h") {
		if _, err := s.Fail(t.Context(), "src", name, strings.Repeat("x", 3000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(raw) / 2; i < len(raw); i++ {
		raw[i] ^= 0x5a
	}
	write(t, path, string(raw))
	// Whether the file opens or not: the damage is named.
	s, err = store.Open(t.Context(), path, store.Options{ReadOnly: true})
	if err == nil {
		defer s.Close()
		err = s.DB.Check(t.Context(), false)
	}
	if !errors.Is(err, sqlite.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

func TestReadOnly_BesideAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "night.db")
	w := mustOpen(t, path)
	r, err := store.Open(t.Context(), path, store.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := w.RecordAudit(t.Context(), audit("h1", "PASS"), nil); err != nil {
		t.Fatal(err)
	}
	if runs, err := r.Runs(t.Context(), time.Time{}); err != nil || len(runs) != 1 {
		t.Errorf("got %d runs, %v, want 1", len(runs), err)
	}
	if err := r.RecordAudit(t.Context(), audit("h2", "PASS"), nil); !errors.Is(err, sqlite.ErrReadOnly) {
		t.Errorf("got %v, want ErrReadOnly", err)
	}
}

func audit(hash, verdict string) store.AuditRecord {
	return store.AuditRecord{
		File: store.FileState{
			Path: "a.jsonl", Source: "src", Size: 10, ModTime: night.Add(-time.Hour), Inode: 1<<64 - 1,
			Format: "native", SHA256: hash, Records: 4, AuditedAt: night, Status: store.StatusAudited,
		},
		Runs: []store.RunRecord{{
			RunKey: "run", TraceHash: hash, Source: "src", Path: "a.jsonl", Format: "native", Calls: 4, ClaimsHash: "c",
			Audited: night, Totals: store.Totals{Contradicted: 1, NotChecked: 2},
			Claims: []store.ClaimRecord{{
				ClaimKey: "ab12", ClaimID: "c1", Statement: "updated", Source: "file", Verdict: verdict, Reason: "failed",
				Recovered: true, Findings: json.RawMessage(`[]`),
			}},
			Excerpts: []store.Excerpt{{Offset: 9, Line: 2, CallID: "x", Tool: "config.write", Arguments: "{}", Result: "no"}},
		}},
	}
}

func TestRecordAudit_AppendsAndNewestStands(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "night.db"))
	for _, a := range []store.AuditRecord{audit("h1", "CONTRADICTED"), audit("h1", "PASS"), audit("h2", "PASS")} {
		if err := s.RecordAudit(t.Context(), a, nil); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.History(t.Context(), store.Filter{ClaimKeyPrefix: "ab"})
	if err != nil {
		t.Fatal(err)
	}
	want := []store.ClaimRecord{{
		ClaimKey: "ab12", TraceHash: "h2", RunKey: "run", ClaimID: "c1", Statement: "updated", Source: "file",
		Verdict: "PASS", Reason: "failed", Recovered: true, Findings: json.RawMessage(`[]`),
		Requirement: json.RawMessage(`null`), Audited: night,
	}}
	again, old := want[0], want[0]
	again.TraceHash = "h1" // audited again, by a judge that knows better
	old.TraceHash, old.Verdict = "h1", "CONTRADICTED"
	if want = append(want, again, old); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, f := range []store.Filter{{ClaimKeyPrefix: "%"}, {RunKey: "other"}, {Since: night.Add(time.Second)}} {
		if got, err := s.History(t.Context(), f); err != nil || len(got) != 0 {
			t.Errorf("%+v: got %d, %v, want none", f, len(got), err)
		}
	}
	if got, err := s.History(t.Context(), store.Filter{Limit: 1}); err != nil || len(got) != 1 {
		t.Errorf("limit: got %d, %v", len(got), err)
	}
	if got, err := s.Excerpts(t.Context(), "run", "h1"); err != nil || !reflect.DeepEqual(got, audit("h1", "").Runs[0].Excerpts) {
		t.Errorf("excerpts: got %+v, %v", got, err)
	}
	files, err := s.Files(t.Context(), "src")
	if err != nil || !reflect.DeepEqual(files, []store.FileState{audit("h2", "").File}) {
		t.Errorf("files: got %+v, %v", files, err)
	}
	if _, ok, err := s.File(t.Context(), "src", "b.jsonl"); ok || err != nil {
		t.Errorf("a file never seen: %t, %v", ok, err)
	}
}

func TestRecordAudit_QueueFailsWithIt(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "night.db"))
	refuse := errors.New("no")
	err := s.RecordAudit(t.Context(), audit("h1", "CONTRADICTED"), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `
			INSERT INTO endpoint_state (endpoint, updated_ms)
			VALUES ('e', 1)`)
		return errors.Join(err, refuse)
	})
	if !errors.Is(err, refuse) {
		t.Fatalf("got %v, want the queue's error", err)
	}
	var rows int
	err = s.DB.Read.QueryRowContext(t.Context(), `
		SELECT (SELECT count(*) FROM store_files) + (SELECT count(*) FROM store_findings) + (SELECT count(*) FROM endpoint_state)`).Scan(&rows)
	if err != nil || rows != 0 {
		t.Errorf("%d rows stayed, %v", rows, err)
	}
}

func TestQuarantine(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "night.db"))
	for i := 1; i <= store.QuarantineAfter; i++ {
		if list, err := s.Quarantined(t.Context()); err != nil || len(list) != 0 {
			t.Errorf("after %d failures: %v, %v", i-1, list, err)
		}
		if n, err := s.Fail(t.Context(), "src", "a.jsonl", "torn"); n != i || err != nil {
			t.Errorf("got %d, %v, want %d", n, err, i)
		}
	}
	want := []store.Failure{{Source: "src", Path: "a.jsonl", Count: 3, Reason: "torn", First: night, Last: night}}
	if got, err := s.Quarantined(t.Context()); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	// An audit clears it, and so does a person.
	if err := s.RecordAudit(t.Context(), audit("h1", "PASS"), nil); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Fail(t.Context(), "src", "a.jsonl", "torn"); n != 1 || err != nil {
		t.Errorf("after an audit: %d, %v, want 1", n, err)
	}
	if err := s.ClearFailures(t.Context(), "src", "a.jsonl"); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Fail(t.Context(), "src", "a.jsonl", "torn"); n != 1 || err != nil {
		t.Errorf("after clearing: %d, %v, want 1", n, err)
	}
}
