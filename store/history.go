package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"strings"
	"time"
)

const runColumns = `
	run_key,
	trace_hash,
	source,
	path,
	format,
	session_id,
	calls,
	bad_lines,
	claims_hash,
	started_ms,
	audited_ms,
	pass,
	unsupported,
	contradicted,
	not_checked`

const claimColumns = `
	claim_key,
	trace_hash,
	run_key,
	claim_id,
	statement,
	source,
	verdict,
	reason,
	own_measure,
	recovered,
	strength,
	findings,
	requirement,
	audited_ms`

// Filter picks verdicts; its zero value picks all.
type Filter struct {
	ClaimKeyPrefix string // people type the first hex digits
	RunKey         string
	Since          time.Time
	Limit          int // 0: no limit
}

// History returns verdicts, the newest first: of several with one claim key the
// first stands.
func (s *Store) History(ctx context.Context, f Filter) ([]ClaimRecord, error) {
	where, args := []string{"1"}, []any{}
	if f.ClaimKeyPrefix != "" {
		// A comparison of prefixes, because LIKE would read % and _ in the input.
		where = append(where, "substr(claim_key, 1, length(?)) = ?")
		args = append(args, f.ClaimKeyPrefix, f.ClaimKeyPrefix)
	}
	if f.RunKey != "" {
		where, args = append(where, "run_key = ?"), append(args, f.RunKey)
	}
	if !f.Since.IsZero() {
		where, args = append(where, "audited_ms >= ?"), append(args, f.Since.UnixMilli())
	}
	limit := -1
	if f.Limit > 0 {
		limit = f.Limit
	}
	rows, err := s.DB.Read.QueryContext(ctx, `
		SELECT `+claimColumns+`
		FROM store_findings
		WHERE `+strings.Join(where, " AND ")+`
		ORDER BY id DESC
		LIMIT ?`, append(args, limit)...)
	return collect(s, "list verdicts", rows, err, scanClaim)
}

// Runs returns the runs audited at or after since, the oldest first, without
// their claims and excerpts.
func (s *Store) Runs(ctx context.Context, since time.Time) ([]RunRecord, error) {
	from := int64(0)
	if !since.IsZero() {
		from = since.UnixMilli()
	}
	rows, err := s.DB.Read.QueryContext(ctx, `
		SELECT `+runColumns+`
		FROM store_runs
		WHERE audited_ms >= ?
		ORDER BY audited_ms, id`, from)
	return collect(s, "list runs", rows, err, scanRun)
}

// Excerpts returns what was kept of a run's calls, in the order of the trace.
func (s *Store) Excerpts(ctx context.Context, runKey, traceHash string) ([]Excerpt, error) {
	rows, err := s.DB.Read.QueryContext(ctx, `
		SELECT byte_offset, line, call_id, tool, arguments, result
		FROM store_excerpts
		WHERE run_key = ? AND trace_hash = ?
		ORDER BY byte_offset`, runKey, traceHash)
	return collect(s, "list excerpts", rows, err, func(scan func(...any) error) (Excerpt, error) {
		var e Excerpt
		err := scan(&e.Offset, &e.Line, &e.CallID, &e.Tool, &e.Arguments, &e.Result)
		return e, err
	})
}

func scanRun(scan func(...any) error) (RunRecord, error) {
	var r RunRecord
	var started, audited sql.NullInt64
	err := scan(&r.RunKey, &r.TraceHash, &r.Source, &r.Path, &r.Format, &r.SessionID, &r.Calls, &r.BadLines,
		&r.ClaimsHash, &started, &audited,
		&r.Totals.Pass, &r.Totals.Unsupported, &r.Totals.Contradicted, &r.Totals.NotChecked)
	r.Started, r.Audited = instant(started), instant(audited)
	return r, err
}

func scanClaim(scan func(...any) error) (ClaimRecord, error) {
	var c ClaimRecord
	var findings, requirement string
	var audited sql.NullInt64
	err := scan(&c.ClaimKey, &c.TraceHash, &c.RunKey, &c.ClaimID, &c.Statement, &c.Source, &c.Verdict, &c.Reason,
		&c.OwnMeasure, &c.Recovered, &c.Strength, &findings, &requirement, &audited)
	c.Findings, c.Requirement = json.RawMessage(findings), json.RawMessage(requirement)
	c.Audited = instant(audited)
	return c, err
}
