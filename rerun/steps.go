package rerun

import (
	"context"
	"database/sql"
	"fmt"

	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/trace"
)

// Steps are the attempt's own journal: a row commits before a request is sent or
// a tool started, so that after a kill it is known what may have happened.

// modelStep notes that a request is about to be sent.
func (a *attempt) modelStep(ctx context.Context, reservation int64) error {
	a.step++
	_, err := a.Queue.db.ExecContext(ctx, `
		INSERT INTO rerun_steps (attempt_id, number, kind, state, started_ms, reservation_id) VALUES (?, ?, 'model', 'started', ?, ?)`,
		a.out.ID, a.step, a.Now().UnixMilli(), reservation)
	if err != nil {
		return fmt.Errorf("note request: %w", err)
	}
	return nil
}

// stepDone closes the current step.
func (a *attempt) stepDone(ctx context.Context, ok bool, result string) error {
	_, err := a.Queue.db.ExecContext(ctx, `
		UPDATE rerun_steps SET state = 'done', ok = ?, result = ?, ended_ms = ? WHERE attempt_id = ? AND number = ?`,
		ok, clip(trace.Redact(result), maxResult), a.Now().UnixMilli(), a.out.ID, a.step)
	if err != nil {
		return fmt.Errorf("note the end of a step: %w", err)
	}
	return nil
}

// toolStep notes that a tool is about to run.
func (a *attempt) toolStep(ctx context.Context, c endpoint.ToolCall, class tools.Class, key string) error {
	a.step++
	_, err := a.Queue.db.ExecContext(ctx, `
		INSERT INTO rerun_steps (attempt_id, number, kind, tool, idem_key, mutating, state, args, started_ms)
		VALUES (?, ?, 'tool', ?, ?, ?, 'started', ?, ?)`,
		a.out.ID, a.step, c.Name, key, class == tools.ClassMutating, clip(string(trace.RedactJSON(c.Arguments)), maxArgs), a.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("note call of %s: %w", c.Name, err)
	}
	return nil
}

// toolStepDone notes what became of a tool. One that was ended after its time may
// have done its work or not: it stays unknown.
func (a *attempt) toolStepDone(ctx context.Context, res tools.Result) error {
	if res.Started && !res.OK && !res.HasExit {
		_, err := a.Queue.db.ExecContext(ctx, `UPDATE rerun_steps SET state = 'unknown', result = ? WHERE attempt_id = ? AND number = ?`,
			clip(trace.Redact(res.Error), maxResult), a.out.ID, a.step)
		if err != nil {
			return fmt.Errorf("note the end of a step: %w", err)
		}
		return nil
	}
	text := res.Output
	if res.Error != "" {
		text = res.Error
	}
	return a.stepDone(ctx, res.OK, text)
}

// write is an earlier call with the same key.
type write struct {
	known bool // it succeeded; else nobody knows
	where string
}

// writes finds calls of earlier attempts, and of this one, with the same key that
// have succeeded or whose end is unknown. A failed one is none.
func (q *Queue) writes(ctx context.Context, key string) ([]write, error) {
	rows, err := q.db.QueryContext(ctx, `
		SELECT attempt_id, state, ok FROM rerun_steps WHERE idem_key = ? AND kind = 'tool' AND mutating = 1 ORDER BY id`, key)
	if err != nil {
		return nil, fmt.Errorf("look for earlier writes: %w", err)
	}
	defer rows.Close()
	var out []write
	for rows.Next() {
		var id int64
		var state string
		var ok sql.NullBool
		if err := rows.Scan(&id, &state, &ok); err != nil {
			return nil, fmt.Errorf("look for earlier writes: %w", err)
		}
		if state == "done" && ok.Valid && !ok.Bool {
			continue
		}
		out = append(out, write{known: state == "done", where: fmt.Sprintf("in attempt %d", id)})
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look for earlier writes: %w", err)
	}
	return out, nil
}
