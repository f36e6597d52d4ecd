package store_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"nightaudit/store/sqlite"
)

// TestSchema_Refuses feeds the tables states that the machines do not have.
func TestSchema_Refuses(t *testing.T) {
	const (
		queue   = `INSERT INTO rerun_queue (id, segment_key, claim_keys, run_key, trace_hash, source, path, claims, segment, verdict, state, parked_until_ms, created_ms, updated_ms) VALUES `
		attempt = `INSERT INTO rerun_attempts (id, queue_id, number, state, outcome, started_ms, ended_ms) VALUES `
		step    = `INSERT INTO rerun_steps (attempt_id, number, kind, tool, idem_key, mutating, state, ok, started_ms, ended_ms) VALUES `
		slot    = `INSERT INTO scheduler_slots (schedule, label, state, reason, claimed_ms, ended_ms) VALUES `
	)
	s := mustOpen(t, filepath.Join(t.TempDir(), "night.db"))
	for _, query := range []string{
		queue + `(1, 'k', '[]', 'r', 'h', 's', 'p', '[]', '{}', 'CONTRADICTED', 'queued', NULL, 1, 1)`,
		queue + `(2, 'l', '[]', 'r', 'h', 's', 'p', '[]', '{}', 'UNSUPPORTED', 'parked', 9, 1, 1)`,
		attempt + `(1, 1, 1, 'open', NULL, 1, NULL)`,
		step + `(1, 1, 'model', NULL, NULL, 0, 'started', NULL, 1, NULL)`,
		step + `(1, 2, 'tool', 'w', 'key', 1, 'done', 0, 1, 2)`, // failed, so it may be tried again
		step + `(1, 3, 'tool', 'w', 'key', 1, 'done', 1, 1, 2)`,
		slot + `('nightly', '2026-03-10T02:30', 'running', '', 1, NULL)`,
	} {
		mustExec(t, s.DB.Write, query)
	}
	if err := s.RecordAudit(t.Context(), audit("h1", "PASS"), nil); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, query, want string }{
		{"segment queued twice", queue + `(3, 'k', '[]', 'r', 'h', 's', 'p', '[]', '{}', 'CONTRADICTED', 'queued', NULL, 1, 1)`, "UNIQUE"},
		{"a PASS queued", queue + `(3, 'm', '[]', 'r', 'h', 's', 'p', '[]', '{}', 'PASS', 'queued', NULL, 1, 1)`, "CHECK"},
		{"parked for ever", queue + `(3, 'm', '[]', 'r', 'h', 's', 'p', '[]', '{}', 'CONTRADICTED', 'parked', NULL, 1, 1)`, "CHECK"},
		{"queued and parked", queue + `(3, 'm', '[]', 'r', 'h', 's', 'p', '[]', '{}', 'CONTRADICTED', 'queued', 9, 1, 1)`, "CHECK"},
		{"claims that are no JSON", queue + `(3, 'm', '[]', 'r', 'h', 's', 'p', 'c1', '{}', 'CONTRADICTED', 'queued', NULL, 1, 1)`, "CHECK"},
		{"two open attempts", attempt + `(2, 1, 2, 'open', NULL, 1, NULL)`, "UNIQUE"},
		{"done without outcome", attempt + `(2, 1, 2, 'done', NULL, 1, 2)`, "CHECK"},
		{"interrupted with outcome", attempt + `(2, 1, 2, 'interrupted', 'REPAIRED', 1, 2)`, "CHECK"},
		{"attempt at nothing", attempt + `(2, 7, 1, 'open', NULL, 1, NULL)`, "FOREIGN KEY"},
		{"a write that succeeded, again", step + `(1, 4, 'tool', 'w', 'key', 1, 'done', 1, 1, 2)`, "UNIQUE"},
		{"a write without a key", step + `(1, 4, 'tool', 'w', '', 1, 'started', NULL, 1, NULL)`, "CHECK"},
		{"a tool without a name", step + `(1, 4, 'tool', '', '', 0, 'started', NULL, 1, NULL)`, "CHECK"},
		{"a slot claimed twice", slot + `('nightly', '2026-03-10T02:30', 'running', '', 1, NULL)`, "UNIQUE"},
		{"a slot skipped without a reason", slot + `('nightly', '2026-03-11T02:30', 'skipped', '', 1, 1)`, "CHECK"},
		{"a slot done without an end", slot + `('nightly', '2026-03-11T02:30', 'done', '', 1, NULL)`, "CHECK"},
		{"a verdict changed", `UPDATE store_findings SET verdict = 'PASS'`, "never changed"},
		{"a verdict deleted", `DELETE FROM store_findings`, "never deleted"},
		{"a verdict replaced", `INSERT OR REPLACE INTO store_findings SELECT * FROM store_findings`, "never deleted"},
		{"text for a number", `UPDATE store_files SET size = 'ten'`, "cannot store TEXT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.DB.Write.ExecContext(t.Context(), tt.query)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestRecordAudit_DiskFull(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "night.db"))
	// SQLite's own limit gives the error that a full disk does.
	mustExec(t, s.DB.Write, `PRAGMA max_page_count = 1`)
	big := audit("h1", "PASS")
	big.Runs[0].Excerpts[0].Result = strings.Repeat("x", 1<<20)
	err := s.RecordAudit(t.Context(), big, nil)
	if !errors.Is(err, sqlite.ErrFull) || !strings.Contains(err.Error(), s.DB.Path+" cannot be written: the disk is full") {
		t.Errorf("got %v, want ErrFull", err)
	}
	if err := s.RecordAudit(t.Context(), audit("h1", "PASS"), nil); err != nil {
		t.Errorf("a small record after the disk was full: %v", err)
	}
}
