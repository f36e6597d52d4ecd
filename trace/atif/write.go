package atif

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"nightaudit/trace"
)

// version is the version that Write writes.
const version = "ATIF-v1.7"

type (
	trajectory struct {
		Version string         `json:"schema_version"`
		Session string         `json:"session_id"`
		Agent   map[string]any `json:"agent"`
		Steps   []step         `json:"steps"`
		Metrics map[string]any `json:"final_metrics,omitempty"`
		Extra   map[string]any `json:"extra,omitempty"`
	}
	step struct {
		ID          int            `json:"step_id"`
		Timestamp   string         `json:"timestamp,omitempty"`
		Source      string         `json:"source"`
		Message     string         `json:"message"`
		Calls       []toolCall     `json:"tool_calls,omitempty"`
		Observation *observation   `json:"observation,omitempty"`
		Extra       map[string]any `json:"extra,omitempty"`
	}
	toolCall struct {
		ID        string          `json:"tool_call_id"`
		Name      string          `json:"function_name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	observation struct {
		Results []result `json:"results"`
	}
	result struct {
		Call    string `json:"source_call_id,omitempty"`
		Content string `json:"content"`
	}
)

// Write writes a run as a trajectory. What the format has no field for stands under
// extra, where Read finds it: how calls ended, gaps, claims of the agent's own.
// Output is a call's result as text. Redact is applied to the whole; nil: it is
// written as it is.
func Write(w io.Writer, run *trace.Run, output func(*trace.Call) (string, error), redact func([]byte) []byte) error {
	t := trajectory{
		Version: version, Session: run.ID,
		Agent: map[string]any{"name": run.Agent, "version": "", "model_name": run.Model},
		Extra: map[string]any{"format": run.Format, "cwd": run.Cwd},
	}
	if run.Task != "" {
		t.add(step{Source: "user", Message: run.Task, Timestamp: stamp(run.Started)})
	}
	for i := range run.Calls {
		s, err := callStep(run, &run.Calls[i], i, output)
		if err != nil {
			return fmt.Errorf("read %s again: %w", run.Source, err)
		}
		t.add(s)
	}
	if run.Summary != "" {
		t.add(step{Source: "agent", Message: run.Summary})
	}
	if t.Steps == nil {
		t.Steps = []step{}
	}
	if err := t.rest(run); err != nil {
		return err
	}
	text, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("write the trajectory: %w", err)
	}
	if redact != nil {
		text = redact(text)
	}
	if _, err := w.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the trajectory: %w", err)
	}
	return nil
}

func (t *trajectory) add(s step) {
	s.ID = len(t.Steps) + 1
	t.Steps = append(t.Steps, s)
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339Nano)
}

// callStep makes a step of one call.
func callStep(run *trace.Run, c *trace.Call, n int, output func(*trace.Call) (string, error)) (step, error) {
	s := step{Source: "agent", Timestamp: stamp(c.Start), Extra: map[string]any{}}
	id := c.ID.String()
	if id == "" {
		id = fmt.Sprintf("call-%d", n+1)
		s.Extra["no_id"] = true // the format asks for one
	}
	args, err := run.Body(c.Args)
	if err != nil {
		return s, err
	}
	if args == nil {
		args = []byte("null")
	}
	for name, b := range map[string]trace.Body{"result": c.Result, "structured_content": c.Structured, "error": c.Error, "child": c.Child} {
		raw, err := run.Body(b)
		if err != nil {
			return s, err
		}
		if raw != nil && string(raw) != "null" {
			s.Extra[name] = json.RawMessage(raw)
		}
	}
	for name, text := range map[string]string{"status": c.Status, "cwd": c.Cwd, "batch": c.Batch} {
		if text != "" {
			s.Extra[name] = text
		}
	}
	if c.Parent != "" {
		s.Extra["parent"] = json.RawMessage(c.Parent)
	}
	if c.ResultPos.Set() { // whatever flags one without a result has, it has not ended
		flag(s.Extra, "ok", c.OK)
		flag(s.Extra, "is_error", c.IsError)
		if c.HasExit {
			s.Extra["exit_code"] = c.ExitCode
		}
	}
	if c.Envelope {
		raw, err := run.Body(c.Record)
		if err != nil {
			return s, err
		}
		s.Extra["envelope"] = json.RawMessage(raw)
	}
	if c.ResultPos.Set() {
		text, err := output(c)
		if err != nil {
			return s, err
		}
		s.Observation = &observation{[]result{{Call: id, Content: text}}}
		if raw, ok := s.Extra["result"].(json.RawMessage); ok {
			var same string
			if json.Unmarshal(raw, &same) == nil && same == text {
				delete(s.Extra, "result") // the content says it
			}
		}
		if len(s.Extra) == 0 || onlyResult(s.Extra) {
			s.Extra["status"] = "recorded" // ended without saying how, which is not unknown
		}
	}
	if c.ResultOnly {
		s.Extra["result_only"], s.Extra["tool"] = true, c.Tool
		if c.ID == "" && s.Observation != nil {
			s.Observation.Results[0].Call = ""
		}
		return s, nil
	}
	s.Calls = []toolCall{{ID: id, Name: c.Tool, Arguments: args}}
	return s, nil
}

// onlyResult tells whether nothing but the result itself speaks of a call's end.
func onlyResult(extra map[string]any) bool {
	for _, name := range []string{"ok", "is_error", "exit_code", "status"} {
		if extra[name] != nil {
			return false
		}
	}
	return true
}

func flag(extra map[string]any, name string, f trace.Flag) {
	switch f {
	case trace.FlagTrue:
		extra[name] = true
	case trace.FlagFalse:
		extra[name] = false
	case trace.FlagInvalid:
		extra[name] = 0 // no boolean, as it was
	}
}

// rest adds what stands beside the steps.
func (t *trajectory) rest(run *trace.Run) error {
	var gaps []string
	for _, g := range run.Gaps {
		gaps = append(gaps, g.Reason)
	}
	for _, b := range run.BadLines {
		gaps = append(gaps, fmt.Sprintf("line %d could not be read: %s", b.Line, b.Reason))
	}
	for i := range run.Calls {
		if run.Calls[i].Delegates {
			gaps = append(gaps, "what the delegated work of "+run.Calls[i].Tool+" did is not recorded")
		}
	}
	if run.Torn {
		gaps = append(gaps, "the trace was still being written")
	}
	if len(gaps) > 0 {
		t.Extra["gaps"] = gaps
	}
	var statements []any
	for _, s := range run.Statements {
		raw, err := run.Body(s.Body)
		if err != nil {
			return fmt.Errorf("read %s again: %w", run.Source, err)
		}
		statements = append(statements, map[string]any{"action": s.Action, "record": json.RawMessage(raw)})
	}
	if statements != nil {
		t.Extra["statements"] = statements
	}
	if !run.NoEndRecords || run.EndReason != "" {
		t.Extra["end"] = map[string]any{"ended": run.Ended, "reason": run.EndReason, "recorded": !run.NoEndRecords}
	}
	var usage []any
	for _, u := range run.Usage {
		usage = append(usage, map[string]any{"model": u.Model, "prompt": u.Prompt, "cached": u.Cached, "completion": u.Completion, "total": u.Total})
	}
	if usage != nil {
		t.Extra["usage"] = usage
	}
	return nil
}

// written reads what Write has added beside the steps.
func (r *reader) written(extra trace.Value) {
	run := r.run
	if cwd := extra.Get("cwd").Text(); cwd != "" {
		run.Cwd = cwd
	}
	for g := range extra.Get("gaps").Elements() {
		r.gap(g, g.Text())
	}
	for s := range extra.Get("statements").Elements() {
		run.Statements = append(run.Statements, trace.Statement{Pos: r.place(s), Body: s.Get("record").Body(), Action: s.Get("action").Flag() == trace.FlagTrue})
	}
	if end := extra.Get("end"); end.Given() {
		run.Ended = end.Get("ended").Flag() == trace.FlagTrue
		run.EndReason = end.Get("reason").Text()
		run.NoEndRecords = end.Get("recorded").Flag() != trace.FlagTrue
	}
	for u := range extra.Get("usage").Elements() {
		n := func(name string) int64 {
			i, _ := u.Get(name).Int()
			return max(i, 0)
		}
		run.AddUsage(trace.Usage{Model: u.Get("model").Text(), Prompt: n("prompt"), Cached: n("cached"), Completion: n("completion"), Total: n("total")})
	}
}
