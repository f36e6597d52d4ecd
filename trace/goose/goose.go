// Package goose reads the sessions of goose: its database of sessions (one Run
// each), the older files of one session (a line that describes it, then a message a
// line), and what `goose session export --format json` writes.
//
// What is trusted, and why:
//
//   - toolResult.status error, or Err in the oldest form, is a failure; so is
//     isError true in the value of a success, which goose passes on from the tool.
//     A success without isError is one: a tool leaves it out unless it failed.
//   - A toolCall whose status is error was never run: the model wrote what could
//     not be read as a call. It is a call of the tool "(unreadable call)".
//   - A refused call is told by its text, which package outcome knows.
//   - Rows that the user was not shown, and those that the agent no longer sees
//     after a compaction, are evidence as well; the summary is what the user saw.
//   - No version records the end of a run: NoEndRecords.
//
// What a sub-agent did stands in a session of its own, which nothing joins to the
// call that started it: such sessions are Children, and the call is marked.
package goose

import (
	"context"
	"iter"
	"time"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "goose"

// Read reads a trace of this format: one Run, or one for each session of a database.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	if src.Database != nil {
		return readDatabase(ctx, src)
	}
	return func(yield func(*trace.Run, error) bool) {
		yield(readFile(ctx, src))
	}
}

func readFile(ctx context.Context, src trace.Source) (*trace.Run, error) {
	document, err := trace.SpansLines(src)
	if err != nil {
		return nil, err
	}
	s := newSession(trace.NewRun(src, Format))
	if document {
		doc, err := trace.ReadDocument(ctx, src)
		if err != nil {
			return nil, err
		}
		if doc.Kind() != trace.KindAbsent {
			s.run.SHA256 = doc.SHA256
			s.document(doc.Value, doc.LineOf)
			return s.run, nil
		}
	}
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		rec := sc.Record()
		if s.run.Records == 0 && IsDocument(rec.Value) {
			s.document(rec.Value, func(trace.Value) int { return rec.Pos.Line })
			continue
		}
		s.line(rec)
	}
	return s.run, sc.Finish(s.run)
}

// IsRecord tells whether a record can only be one of this format's.
func IsRecord(rec trace.Value) bool {
	if rec.Get("role").Given() {
		return IsMessage(rec)
	}
	return rec.Get("working_dir").Given() && (rec.Get("message_count").Given() || rec.Get("session_type").Given() || rec.Get("total_tokens").Given())
}

// IsMessage tells whether a value is a message that only goose writes.
func IsMessage(v trace.Value) bool {
	if !v.Get("created").Given() {
		return false
	}
	for part := range v.Get("content").Elements() {
		switch part.Get("type").Text() {
		case "toolRequest", "toolResponse":
			return true
		}
	}
	return v.Get("metadata").Get("userVisible").Given()
}

// IsDocument tells whether a file that is one JSON text is an exported session.
func IsDocument(doc trace.Value) bool {
	return doc.Get("working_dir").Given() && doc.Get("conversation").Kind() == trace.KindArray
}

// session is a run while it is read.
type session struct {
	run  *trace.Run
	open map[trace.ID]int // the latest call of an id that has no result
}

func newSession(run *trace.Run) *session {
	run.NoEndRecords = true
	run.Agent = Format
	return &session{run: run, open: map[trace.ID]int{}}
}

func (s *session) document(doc trace.Value, lineOf func(trace.Value) int) {
	s.header(doc)
	for m := range doc.Get("conversation").Elements() {
		pos := trace.Position{Line: lineOf(m), Offset: m.Body().Offset}
		if m.Kind() != trace.KindObject || m.UniqueNames() != nil {
			s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: pos.Line, Reason: "a message that cannot be read"})
			continue
		}
		s.message(m, pos)
	}
}

func (s *session) line(rec trace.Record) {
	if !rec.Get("role").Given() {
		s.header(rec.Value)
		return
	}
	s.message(rec.Value, rec.Pos)
}

// header reads what describes a session: the columns of its row, in a file too.
func (s *session) header(v trace.Value) {
	run := s.run
	run.Records++
	run.ID = textOr(v.Get("id"), run.ID)
	run.Cwd = textOr(v.Get("working_dir"), run.Cwd)
	run.Model = textOr(v.Get("model_config").Get("model_name"), run.Model)
	run.Child = v.Get("session_type").Text() == "sub_agent" || v.Get("parent_session_id").Given()
	if at, err := time.Parse(time.RFC3339, v.Get("created_at").Text()); err == nil {
		run.Started = at
	} else if at, err := time.Parse(time.DateTime, v.Get("created_at").Text()); err == nil {
		run.Started = at
	}
	u := trace.Usage{Model: run.Model}
	for name, into := range map[string]*int64{"input_tokens": &u.Prompt, "output_tokens": &u.Completion, "total_tokens": &u.Total} {
		n, ok := v.Get("accumulated_" + name).Int()
		if !ok {
			n, _ = v.Get(name).Int()
		}
		*into = max(n, 0)
	}
	if u.Total = max(u.Total, u.Prompt+u.Completion); u.Total > 0 {
		run.AddUsage(u)
	}
}

func textOr(v trace.Value, otherwise string) string {
	if s := v.Text(); s != "" {
		return s
	}
	return otherwise
}

// message reads one message.
func (s *session) message(m trace.Value, pos trace.Position) {
	s.run.Records++
	at := stamp(m.Get("created"))
	if s.run.Started.IsZero() {
		s.run.Started = at
	}
	role, text := m.Get("role").Text(), ""
	for part := range m.Get("content").Elements() {
		switch part.Get("type").Text() {
		case "text":
			if t := part.Get("text").Text(); t != "" {
				if text != "" {
					text += "\n\n"
				}
				text += t
			}
		case "toolRequest", "frontendToolRequest":
			s.request(part, m, pos, at)
		case "toolResponse":
			s.response(part, pos)
		}
	}
	shown := m.Get("metadata").Get("userVisible").Flag() != trace.FlagFalse
	switch {
	case text == "" || !shown:
	case role == "assistant":
		s.run.Summary, s.run.SummaryPos = text, pos
	case role == "user" && s.run.Task == "":
		s.run.Task = text
	}
}

// stamp reads a time in seconds, or, beyond the year 2286, in milliseconds.
func stamp(v trace.Value) time.Time {
	n, ok := v.Int()
	switch {
	case !ok || n <= 0:
		return time.Time{}
	case n > 10_000_000_000:
		return time.UnixMilli(n).UTC()
	default:
		return time.Unix(n, 0).UTC()
	}
}

// place is where a part of a message stands: parts of one message share a line and
// are told apart by their offsets.
func place(part trace.Value, pos trace.Position) trace.Position {
	return trace.Position{Line: pos.Line, Offset: part.Body().Offset}
}

func (s *session) request(part, message trace.Value, pos trace.Position, at time.Time) {
	call := part.Get("toolCall")
	c := trace.Call{ID: part.Get("id").ID(), Pos: place(part, pos), Record: part.Body(), Start: at}
	value := call.Get("value")
	if !value.Given() {
		value = call.Get("Ok")
	}
	c.Tool, c.Args = value.Get("name").Text(), value.Get("arguments").Body()
	if calls(message) > 1 {
		c.Batch = "message at " + string(message.Get("id").ID()) + itoa(message.Body().Offset)
	}
	if c.Tool == "" {
		c.Tool, c.Status, c.Error = "(unreadable call)", "rejected", firstGiven(call.Get("error"), call.Get("Err")).Body()
	}
	c.Delegates = delegates(c.Tool) && c.Status == ""
	s.run.Calls = append(s.run.Calls, c)
	if c.ID != "" {
		s.open[c.ID] = len(s.run.Calls) - 1
	}
}

// delegates tells whether a tool starts a sub-agent, whose session is not joined.
func delegates(tool string) bool {
	switch tool {
	case "delegate", "subagent__execute_task", "dynamic_task__create_task", "subagent", "summon__delegate":
		return true
	}
	return false
}

func calls(message trace.Value) (n int) {
	for part := range message.Get("content").Elements() {
		if part.Get("type").Text() == "toolRequest" {
			n++
		}
	}
	return n
}

func firstGiven(values ...trace.Value) trace.Value {
	for _, v := range values {
		if v.Given() {
			return v
		}
	}
	return trace.Value{}
}

func (s *session) response(part trace.Value, pos trace.Position) {
	id := part.Get("id").ID()
	i, ok := s.open[id]
	if !ok || id == "" {
		s.run.Calls = append(s.run.Calls, trace.Call{ID: id, Pos: place(part, pos), Record: part.Body(), ResultOnly: true})
		i = len(s.run.Calls) - 1
	}
	delete(s.open, id)
	c := &s.run.Calls[i]
	c.ResultPos = place(part, pos)
	result := part.Get("toolResult")
	value := firstGiven(result.Get("value"), result.Get("Ok"))
	failure := firstGiven(result.Get("error"), result.Get("Err"))
	switch {
	case result.Get("status").Text() == "error" || failure.Given():
		c.IsError, c.Error = trace.FlagTrue, failure.Body()
	case value.Given():
		c.Result, c.Structured = value.Body(), value.Get("structuredContent").Body()
		if c.IsError = value.Get("isError").Flag(); c.IsError == trace.FlagAbsent {
			c.IsError = trace.FlagFalse
		}
	default:
		c.Status = "unknown" // a result that is none
	}
	if c.Status == "rejected" && c.IsError != trace.FlagTrue {
		c.IsError = trace.FlagTrue
	}
}
