package native

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"nightaudit/trace"
)

// Write writes a run in this format, so that reading it again gives the same
// verdicts: calls, results and statements in the order in which they were recorded.
// What the other format cannot say here (a line that could not be read, delegated
// work whose record is elsewhere) becomes a gap. Redact is applied to each text and
// JSON value that is written; nil: they are written as they are.
func Write(w io.Writer, run *trace.Run, redact func([]byte) []byte) error {
	out := &writer{run: run, redact: redact}
	if out.redact == nil {
		out.redact = func(b []byte) []byte { return b }
	}
	out.start()
	out.calls()
	for _, s := range run.Statements {
		out.raw(s.Pos, s.Body)
	}
	for _, g := range run.Gaps {
		out.add(g.Pos, fields{{"type", "gap"}, {"reason", g.Reason}})
	}
	for _, b := range run.BadLines {
		out.add(trace.Position{Line: b.Line}, fields{{"type", "gap"}, {"reason", fmt.Sprintf("line %d could not be read: %s", b.Line, b.Reason)}})
	}
	if run.Torn {
		out.add(end, fields{{"type", "gap"}, {"reason", "the trace was still being written"}})
	}
	if run.Summary != "" {
		out.add(run.SummaryPos, fields{{"type", "summary"}, {"text", run.Summary}})
	}
	for _, u := range run.Usage {
		out.add(end, fields{{"type", "usage"}, {"model", u.Model}, {"prompt", u.Prompt}, {"cached", u.Cached}, {"completion", u.Completion}, {"total", u.Total}})
	}
	if run.Ended || run.EndReason != "" {
		out.add(end, fields{{"type", "run_end"}, {"stop_reason", run.EndReason}})
	}
	return out.write(w)
}

// end is behind everything that was recorded.
var end = trace.Position{Line: 1 << 62, Offset: 1 << 62}

// writer gathers the records of a run.
type writer struct {
	run     *trace.Run
	redact  func([]byte) []byte
	records []record
	err     error // the first of reading the trace again
}

type record struct {
	pos  trace.Position
	line []byte
}

// fields is an object whose members keep their order. Members that are "" or nil
// are left out, but for the type.
type fields []struct {
	name  string
	value any
}

func (f fields) line() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for _, m := range f {
		if m.value == nil || m.value == "" {
			continue
		}
		if raw, ok := m.value.(json.RawMessage); ok && len(raw) == 0 {
			continue
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(m.value)
		if err != nil {
			return nil, err
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// plainJSON is json.Marshal without the escapes for HTML; a JSON text is put on one
// line and else kept as it is.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	if raw, ok := v.(json.RawMessage); ok {
		err := json.Compact(&b, raw)
		return b.Bytes(), err
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

func (w *writer) fail(err error) {
	if w.err == nil && err != nil {
		w.err = err
	}
}

func (w *writer) add(pos trace.Position, f fields) {
	line, err := f.line()
	if err != nil {
		w.fail(fmt.Errorf("write line %d: %w", pos.Line, err))
		return
	}
	w.records = append(w.records, record{pos, w.redact(line)})
}

// body returns a body's bytes as JSON.
func (w *writer) body(b trace.Body) json.RawMessage {
	raw, err := w.run.Body(b)
	w.fail(err)
	return raw
}

// raw adds a record as it stands in the trace.
func (w *writer) raw(pos trace.Position, b trace.Body) {
	var line bytes.Buffer
	if err := json.Compact(&line, w.body(b)); err != nil {
		w.fail(fmt.Errorf("write line %d: %w", pos.Line, err))
		return
	}
	w.records = append(w.records, record{pos, w.redact(line.Bytes())})
}

func (w *writer) start() {
	r := w.run
	f := fields{
		{"type", "run_start"},
		{"ts", stamp(r.Started)},
		{"run", r.ID},
		{"agent", r.Agent},
		{"model", r.Model},
		{"task", r.Task},
		{"cwd", r.Cwd},
		{"format", r.Format},
	}
	if r.NoEndRecords {
		f = append(f, struct {
			name  string
			value any
		}{"no_end_records", true})
	}
	w.add(trace.Position{}, f)
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// calls adds the calls, and results that were recorded apart from them.
func (w *writer) calls() {
	ids, open := map[trace.ID]int{}, map[trace.ID]bool{}
	for i := range w.run.Calls {
		c := &w.run.Calls[i]
		ids[c.ID]++
		open[c.ID] = open[c.ID] || !c.ResultPos.Set()
	}
	var pos trace.Position
	for i := range w.run.Calls {
		c := &w.run.Calls[i]
		if c.File == "" {
			pos = c.Pos // calls of another file stay behind the one before them
		}
		switch apart := c.File == "" && c.ResultPos.Set() && c.ResultPos != c.Pos && c.ID != "" && ids[c.ID] == 1; {
		case c.Envelope && c.ResultPos == c.Pos:
			w.raw(pos, c.Record)
		case c.ResultOnly:
			id := json.RawMessage(c.ID)
			if open[c.ID] {
				id = nil // it would be taken for the open call's
			}
			w.add(pos, append(fields{{"type", "tool_result"}, {"call_id", id}, {"tool", c.Tool}, {"cwd", c.Cwd}}, w.result(c)...))
		case apart:
			w.add(pos, w.call(c))
			w.add(c.ResultPos, append(fields{{"type", "tool_result"}, {"call_id", json.RawMessage(c.ID)}}, w.result(c)...))
		default:
			w.add(pos, append(w.call(c), w.result(c)...))
		}
		if c.Delegates {
			w.add(pos, fields{{"type", "gap"}, {"reason", "what the delegated work of " + c.Tool + " did is not recorded"}})
		}
	}
}

func (w *writer) call(c *trace.Call) fields {
	return fields{
		{"type", "tool_call"},
		{"ts", stamp(c.Start)},
		{"id", json.RawMessage(c.ID)},
		{"tool", c.Tool},
		{"args", w.body(c.Args)},
		{"cwd", c.Cwd},
		{"parent", json.RawMessage(c.Parent)},
		{"batch", c.Batch},
		{"child", w.body(c.Child)},
	}
}

// result is what is known of a call's end. One that ended without any evidence
// has an empty result: without one it would not have ended.
func (w *writer) result(c *trace.Call) fields {
	if !c.ResultPos.Set() {
		status := c.Status
		if status == "" {
			status = "pending" // whatever flags it has, it has not ended
		}
		return fields{{"status", status}}
	}
	result, structured, failure := w.given(c.Result), w.given(c.Structured), w.given(c.Error)
	boolean := func(f trace.Flag) bool { return f == trace.FlagTrue || f == trace.FlagFalse }
	if c.ResultPos.Set() && !boolean(c.OK) && !boolean(c.IsError) && !c.HasExit && result == nil && structured == nil && failure == nil {
		result = json.RawMessage(`""`)
	}
	f := fields{
		{"ok", flag(c.OK)},
		{"isError", flag(c.IsError)},
		{"status", c.Status},
		{"result", result},
		{"structuredContent", structured},
		{"error", failure},
	}
	if c.HasExit {
		f = append(f, fields{{"exit_code", c.ExitCode}}...)
	}
	return f
}

// given is body without null, which says nothing.
func (w *writer) given(b trace.Body) json.RawMessage {
	raw := w.body(b)
	if string(raw) == "null" {
		return nil
	}
	return raw
}

// flag is nil for an absent one; one that is no boolean stays none.
func flag(f trace.Flag) any {
	switch f {
	case trace.FlagTrue:
		return true
	case trace.FlagFalse:
		return false
	case trace.FlagInvalid:
		return 0
	default:
		return nil
	}
}

// write writes the records in the order of the trace.
func (w *writer) write(to io.Writer) error {
	if w.err != nil {
		return fmt.Errorf("read %s again: %w", w.run.Source, w.err)
	}
	slices.SortStableFunc(w.records, func(a, b record) int { return cmp.Compare(a.pos.Offset, b.pos.Offset) })
	out := bufio.NewWriter(to)
	for _, r := range w.records {
		out.Write(r.line) //nolint:errcheck // Flush says it
		out.WriteByte('\n')
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write the trace: %w", err)
	}
	return nil
}
