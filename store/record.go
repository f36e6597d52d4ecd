package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// AuditRecord is what one audit of one file found: the file, and its runs.
type AuditRecord struct {
	File FileState
	Runs []RunRecord
}

// RunRecord is one audited run.
type RunRecord struct {
	RunKey, TraceHash string
	Source, Path      string // where the trace was
	Format, SessionID string
	Calls, BadLines   int
	ClaimsHash        string    // of the claims and the rule pack it was judged by
	Started           time.Time // zero: the trace does not say
	Audited           time.Time
	Totals            Totals

	// Claims and Excerpts are stored with the run, but not read back by Runs.
	Claims   []ClaimRecord
	Excerpts []Excerpt
}

// Totals count a run's claims by verdict, and the statements that none fitted.
type Totals struct {
	Pass, Unsupported, Contradicted, NotChecked int
}

// ClaimRecord is the verdict on one claim. RecordAudit takes the run's key, hash
// and time from its RunRecord.
type ClaimRecord struct {
	ClaimKey, TraceHash, RunKey string
	ClaimID, Statement          string
	Source                      string // trace, file, expectation, rule, action, proposed
	Verdict, Reason             string
	OwnMeasure, Recovered       bool
	Strength                    string
	Findings, Requirement       json.RawMessage // empty is stored as null
	Audited                     time.Time
}

// Excerpt is what a call that a finding names showed, redacted and cut short by
// the caller, kept because traces are deleted.
type Excerpt struct {
	Offset            int64 // of the call's record; identifies the call in the trace
	Line              int
	CallID, Tool      string
	Arguments, Result string
}

// RecordAudit stores an audit in one transaction, and clears the failures of its
// file. queue, which may be nil, runs in the same transaction: what it queues is
// kept if and only if the verdicts are; it must write through tx alone, since the
// one writing connection is taken. A claim that was judged on the same trace
// before is left as it stands, so that an audit cut off by a kill can be repeated.
func (s *Store) RecordAudit(ctx context.Context, a AuditRecord, queue func(tx *sql.Tx) error) error {
	return s.write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := saveFile(ctx, tx, a.File); err != nil {
			return err
		}
		for _, r := range a.Runs {
			if err := recordRun(ctx, tx, r); err != nil {
				return fmt.Errorf("record run %s: %w", r.RunKey, err)
			}
		}
		if err := clearFailures(ctx, tx, a.File.Source, a.File.Path); err != nil {
			return err
		}
		if queue == nil {
			return nil
		}
		if err := queue(tx); err != nil {
			return fmt.Errorf("queue re-runs: %w", err)
		}
		return nil
	})
}

func recordRun(ctx context.Context, tx *sql.Tx, r RunRecord) error {
	id, err := insertRun(ctx, tx, r)
	if err != nil {
		return err
	}
	for _, c := range r.Claims {
		if err := insertClaim(ctx, tx, id, r, c); err != nil {
			return fmt.Errorf("claim %s: %w", c.ClaimKey, err)
		}
	}
	for _, e := range r.Excerpts {
		if err := insertExcerpt(ctx, tx, r, e); err != nil {
			return fmt.Errorf("excerpt of line %d: %w", e.Line, err)
		}
	}
	return nil
}

// insertRun gives the row's id also where the run stands already.
func insertRun(ctx context.Context, tx *sql.Tx, r RunRecord) (id int64, err error) {
	_, err = tx.ExecContext(ctx, `
		INSERT INTO store_runs (`+runColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run_key, trace_hash, claims_hash) DO UPDATE SET
			audited_ms = excluded.audited_ms,
			pass = excluded.pass,
			unsupported = excluded.unsupported,
			contradicted = excluded.contradicted,
			not_checked = excluded.not_checked`,
		r.RunKey, r.TraceHash, r.Source, r.Path, r.Format, r.SessionID, r.Calls, r.BadLines, r.ClaimsHash,
		millis(r.Started), r.Audited.UnixMilli(),
		r.Totals.Pass, r.Totals.Unsupported, r.Totals.Contradicted, r.Totals.NotChecked)
	if err != nil {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, `
		SELECT id
		FROM store_runs
		WHERE run_key = ? AND trace_hash = ? AND claims_hash = ?`,
		r.RunKey, r.TraceHash, r.ClaimsHash).Scan(&id)
	return id, err
}

func insertClaim(ctx context.Context, tx *sql.Tx, run int64, r RunRecord, c ClaimRecord) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO store_findings (run_id,`+claimColumns+`)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		run, c.ClaimKey, r.TraceHash, r.RunKey, c.ClaimID, c.Statement, c.Source, c.Verdict, c.Reason,
		c.OwnMeasure, c.Recovered, c.Strength, orNull(c.Findings), orNull(c.Requirement), r.Audited.UnixMilli())
	return err
}

func insertExcerpt(ctx context.Context, tx *sql.Tx, r RunRecord, e Excerpt) error {
	_, err := tx.ExecContext(ctx, `
		INSERT INTO store_excerpts (run_key, trace_hash, byte_offset, line, call_id, tool, arguments, result)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (run_key, trace_hash, byte_offset) DO NOTHING`,
		r.RunKey, r.TraceHash, e.Offset, e.Line, e.CallID, e.Tool, e.Arguments, e.Result)
	return err
}

func orNull(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "null"
	}
	return string(raw)
}
