package rerun

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Queue is the queue of segments in the database.
type Queue struct{ db *sql.DB }

// NewQueue works on the tables of db, whose transactions must begin with the
// write lock taken.
func NewQueue(db *sql.DB) *Queue { return &Queue{db: db} }

// segmentJSON is what an Item stores beside its claims.
type segmentJSON struct {
	Tools      []string   `json:"tools"`
	Downstream []Claim    `json:"downstream,omitempty"`
	Done       []PastCall `json:"done"`
	System     string     `json:"system"`
}

// Enqueue adds an item in a transaction of the caller's, so that it is queued if
// and only if the verdicts it comes from are stored. A segment that was queued
// before stays as it is. Older segments of the same run, of a version of the
// trace that is gone, become stale.
func Enqueue(ctx context.Context, tx *sql.Tx, it Item, now time.Time) error {
	claims, err := json.Marshal(it.Claims)
	if err != nil {
		return fmt.Errorf("queue segment: %w", err)
	}
	keys, err := json.Marshal(claimKeys(it))
	if err != nil {
		return fmt.Errorf("queue segment: %w", err)
	}
	segment, err := json.Marshal(segmentJSON{Tools: it.Tools, Downstream: it.Downstream, Done: it.Done, System: it.System})
	if err != nil {
		return fmt.Errorf("queue segment: %w", err)
	}
	priority := 1
	if it.Worst == "CONTRADICTED" {
		priority = 0
	}
	_, err = tx.ExecContext(ctx, `
		INSERT INTO rerun_queue
		  (segment_key, claim_keys, run_key, trace_hash, source, path, claims, segment, context,
		   verdict, priority, cost_estimate, state, attempts, created_ms, updated_ms)
		SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CASE WHEN tried.n < ? THEN 'queued' ELSE 'given_up' END, tried.n, ?, ?
		  FROM (SELECT coalesce(max(attempts), 0) AS n FROM rerun_queue WHERE claim_keys = ?) AS tried
		 WHERE true
		ON CONFLICT (segment_key) DO NOTHING`,
		it.Key, string(keys), it.RunKey, it.TraceHash, it.Source, it.Path, string(claims), string(segment), it.User,
		it.Worst, priority, it.Estimate, MaxAttempts, now.UnixMilli(), now.UnixMilli(), string(keys))
	if err != nil {
		return fmt.Errorf("queue segment: %w", err)
	}
	return nil
}

// MakeStale marks what waits for a run and is no longer asked for: its trace has
// changed, or its claims are judged otherwise now. Items is what stands.
func MakeStale(ctx context.Context, tx *sql.Tx, runKey, path string, items []Item, now time.Time) error {
	keys := []string{}
	for _, it := range items {
		keys = append(keys, it.Key)
	}
	keep, err := json.Marshal(keys)
	if err != nil {
		return fmt.Errorf("mark stale segments: %w", err)
	}
	_, err = tx.ExecContext(ctx, `
		UPDATE rerun_queue SET state = 'stale', parked_until_ms = NULL, updated_ms = ?
		 WHERE run_key = ? AND path = ? AND state IN ('queued', 'parked') AND segment_key NOT IN (SELECT value FROM json_each(?))`,
		now.UnixMilli(), runKey, path, string(keep))
	if err != nil {
		return fmt.Errorf("mark stale segments: %w", err)
	}
	return nil
}

// Waiting is how a queued segment looks from outside.
type Waiting struct {
	Item
	State       string
	ParkedUntil time.Time
	Note        string // why it waits or ended
}

const waitingColumns = `id, segment_key, run_key, trace_hash, source, path, claims, segment, context, verdict, cost_estimate,
	state, parked_until_ms, attempts, coalesce(last_error, '')`

// Ready returns what may be tried now: contradicted before unsupported, the
// cheapest first, each at most MaxAttempts times.
func (q *Queue) Ready(ctx context.Context, now time.Time) ([]Waiting, error) {
	return q.list(ctx, `SELECT `+waitingColumns+` FROM rerun_queue
		WHERE (state = 'queued' OR state = 'parked' AND parked_until_ms <= ?) AND attempts < ?
		ORDER BY priority, cost_estimate, id`, now.UnixMilli(), MaxAttempts)
}

// All returns every segment, the newest first.
func (q *Queue) All(ctx context.Context) ([]Waiting, error) {
	return q.list(ctx, `SELECT `+waitingColumns+` FROM rerun_queue ORDER BY id DESC`)
}

// Find returns the segments that hold a claim whose key begins with prefix, the
// newest first.
func (q *Queue) Find(ctx context.Context, prefix string) ([]Waiting, error) {
	all, err := q.All(ctx)
	if err != nil {
		return nil, err
	}
	var out []Waiting
	for _, w := range all {
		for _, c := range w.Claims {
			if strings.HasPrefix(c.Key, prefix) {
				out = append(out, w)
				break
			}
		}
	}
	return out, nil
}

func (q *Queue) list(ctx context.Context, query string, args ...any) ([]Waiting, error) {
	rows, err := q.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	defer rows.Close()
	var out []Waiting
	for rows.Next() {
		var w Waiting
		var claims, segment []byte
		var parked sql.NullInt64
		if err := rows.Scan(&w.ID, &w.Key, &w.RunKey, &w.TraceHash, &w.Source, &w.Path, &claims, &segment, &w.User, &w.Worst, &w.Estimate,
			&w.State, &parked, &w.Attempts, &w.Note); err != nil {
			return nil, fmt.Errorf("read the queue: %w", err)
		}
		if parked.Valid {
			w.ParkedUntil = time.UnixMilli(parked.Int64).UTC()
		}
		dec := json.NewDecoder(strings.NewReader(string(claims)))
		dec.UseNumber()
		if err := dec.Decode(&w.Claims); err != nil {
			return nil, fmt.Errorf("read the queue: claims of %d: %w", w.ID, err)
		}
		var s segmentJSON
		if err := json.Unmarshal(segment, &s); err != nil {
			return nil, fmt.Errorf("read the queue: segment of %d: %w", w.ID, err)
		}
		w.Tools, w.Downstream, w.Done, w.System = s.Tools, s.Downstream, s.Done, s.System
		out = append(out, w)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read the queue: %w", err)
	}
	return out, nil
}

// note says beside a waiting segment why it was passed over.
func (q *Queue) note(ctx context.Context, id int64, why string, now time.Time) error {
	_, err := q.db.ExecContext(ctx, `UPDATE rerun_queue SET last_error = ?, updated_ms = ? WHERE id = ?`, why, now.UnixMilli(), id)
	if err != nil {
		return fmt.Errorf("note on segment %d: %w", id, err)
	}
	return nil
}

// begin opens an attempt. It commits before the first request, so that a kill
// leaves a row that tells. A segment whose attempt is open already is refused.
func (q *Queue) begin(ctx context.Context, it Item, tracePath func(attempt int64) string, endpoint string, now time.Time) (id int64, number int, path string, err error) {
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	defer tx.Rollback()
	res, err := tx.ExecContext(ctx, `
		INSERT INTO rerun_attempts (queue_id, number, state, started_ms, endpoint)
		VALUES (?, 1 + (SELECT coalesce(max(number), 0) FROM rerun_attempts WHERE queue_id = ?), 'open', ?, ?)`,
		it.ID, it.ID, now.UnixMilli(), endpoint)
	if err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	if id, err = res.LastInsertId(); err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	if err := tx.QueryRowContext(ctx, `SELECT number FROM rerun_attempts WHERE id = ?`, id).Scan(&number); err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	path = tracePath(id)
	if _, err := tx.ExecContext(ctx, `UPDATE rerun_attempts SET trace_path = ? WHERE id = ?`, path, id); err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE rerun_queue SET state = 'running', parked_until_ms = NULL, attempts = attempts + 1, updated_ms = ? WHERE id = ?`,
		now.UnixMilli(), it.ID); err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, 0, "", fmt.Errorf("begin attempt: %w", err)
	}
	return id, number, path, nil
}

// end closes an attempt and moves its segment on, in one transaction.
func (q *Queue) end(ctx context.Context, it Item, a Attempt, next string, parked time.Time, now time.Time) error {
	ctx = context.WithoutCancel(ctx)
	verdicts, err := json.Marshal(a.Claims)
	if err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	defer tx.Rollback()
	state, outcome := "done", sql.NullString{String: string(a.Outcome), Valid: true}
	if a.Outcome == "" {
		state, outcome = "interrupted", sql.NullString{}
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE rerun_attempts SET state = ?, outcome = ?, ended_ms = ?, model = ?, stop_reason = ?, tokens = ?, verdicts = ?, proposal = ? WHERE id = ?`,
		state, outcome, now.UnixMilli(), a.Model, a.StopReason, a.Tokens, string(verdicts), a.Proposal, a.ID); err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	until := sql.NullInt64{Int64: parked.UnixMilli(), Valid: next == "parked"}
	// An attempt without a verdict does not use up a try; see maxDispatches.
	unused := 0
	if a.Outcome == "" {
		unused = 1
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE rerun_queue SET state = ?, parked_until_ms = ?, attempts = attempts - ?, last_error = ?, updated_ms = ? WHERE id = ?`,
		next, until, unused, a.Note, now.UnixMilli(), it.ID); err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("end attempt: %w", err)
	}
	return nil
}

// Recover closes what a killed program left open: its attempts are interrupted,
// its segments wait again while tries are left, and writes that had started are
// unknown for good. It runs at the start, under the lock that keeps a second
// program away.
func (q *Queue) Recover(ctx context.Context, now time.Time) (interrupted int64, err error) {
	tx, err := q.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, fmt.Errorf("recover re-runs: %w", err)
	}
	defer tx.Rollback()
	ms := now.UnixMilli()
	if _, err := tx.ExecContext(ctx, `
		UPDATE rerun_steps SET state = 'unknown'
		 WHERE state = 'started' AND attempt_id IN (SELECT id FROM rerun_attempts WHERE state = 'open')`); err != nil {
		return 0, fmt.Errorf("recover re-runs: %w", err)
	}
	if _, err := tx.ExecContext(ctx, `
		UPDATE rerun_queue
		   SET state = CASE WHEN attempts < ? THEN 'queued' ELSE 'given_up' END, last_error = 'the attempt was cut off', updated_ms = ?
		 WHERE state = 'running'`, MaxAttempts, ms); err != nil {
		return 0, fmt.Errorf("recover re-runs: %w", err)
	}
	res, err := tx.ExecContext(ctx, `UPDATE rerun_attempts SET state = 'interrupted', ended_ms = ?, stop_reason = 'cut off' WHERE state = 'open'`, ms)
	if err != nil {
		return 0, fmt.Errorf("recover re-runs: %w", err)
	}
	if interrupted, err = res.RowsAffected(); err != nil {
		return 0, fmt.Errorf("recover re-runs: %w", err)
	}
	return interrupted, tx.Commit()
}

// Attempts returns the attempts that ended at or after since, in order.
func (q *Queue) Attempts(ctx context.Context, since time.Time) ([]Attempt, error) {
	rows, err := q.db.QueryContext(ctx, `
		SELECT a.id, a.queue_id, a.number, coalesce(a.outcome, ''), a.started_ms, a.ended_ms, coalesce(a.trace_path, ''), coalesce(a.model, ''),
		       coalesce(a.endpoint, ''), coalesce(a.stop_reason, ''), a.tokens, coalesce(a.verdicts, 'null'), coalesce(a.proposal, ''), q.path,
		       coalesce(q.last_error, '')
		  FROM rerun_attempts AS a JOIN rerun_queue AS q ON q.id = a.queue_id
		 WHERE a.state <> 'open' AND a.ended_ms >= ? ORDER BY a.id`, since.UnixMilli())
	if err != nil {
		return nil, fmt.Errorf("read attempts: %w", err)
	}
	defer rows.Close()
	var out []Attempt
	for rows.Next() {
		var a Attempt
		var outcome string
		var started, ended int64
		var verdicts []byte
		if err := rows.Scan(&a.ID, &a.QueueID, &a.Number, &outcome, &started, &ended, &a.TracePath, &a.Model, &a.Endpoint, &a.StopReason, &a.Tokens, &verdicts, &a.Proposal, &a.Path, &a.Note); err != nil {
			return nil, fmt.Errorf("read attempts: %w", err)
		}
		a.Outcome, a.Started, a.Ended = Outcome(outcome), time.UnixMilli(started).UTC(), time.UnixMilli(ended).UTC()
		if err := json.Unmarshal(verdicts, &a.Claims); err != nil {
			return nil, fmt.Errorf("read attempt %d: %w", a.ID, err)
		}
		out = append(out, a)
	}
	return out, errors.Join(rows.Err())
}
