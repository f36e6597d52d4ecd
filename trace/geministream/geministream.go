// Package geministream reads what `gemini --output-format stream-json` prints: one
// file in, one Run out, or one for each session of a log that is appended to.
//
// What is trusted, and why:
//
//   - status of a tool_result: error is a failure, of a call that was refused or
//     malformed too; the words in it tell them apart. success is one, except of
//     run_shell_command: it has success whatever the exit code of the command was,
//     which is written nowhere, so those calls are unknown. A result whose call is
//     missing may be that of a command and is unknown as well.
//   - A call without a result has not ended.
//   - The result at the end says how the run ended. A stream without one was cut
//     off.
//
// Qwen Code, which came from Gemini CLI, prints the form of Claude Code: see
// claudestream.
package geministream

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"
	"unicode/utf8"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "gemini-stream-json"

// maxTask is how much of the prompt is kept, in bytes.
const maxTask = 4 << 10

// Read reads the sessions of a file, each as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		runs, err := readSessions(ctx, src)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, run := range runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

func readSessions(ctx context.Context, src trace.Source) ([]*trace.Run, error) {
	runs, starts := []*trace.Run{trace.NewRun(src, Format)}, []int{0}
	s := newSession(runs[0])
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		rec := sc.Record()
		if id := initOf(rec.Value); id != "" && s.run.ID != "" && s.run.ID != id {
			s.finish()
			s = newSession(trace.NewRun(src, Format))
			runs, starts = append(runs, s.run), append(starts, rec.Pos.Line)
		}
		s.take(rec)
	}
	s.finish()
	whole := trace.NewRun(src, Format)
	if err := sc.Finish(whole); err != nil {
		return nil, err
	}
	trace.Share(whole, runs, starts)
	return runs, nil
}

// initOf returns the id of the session that a record begins.
func initOf(rec trace.Value) string {
	if rec.Get("type").Text() != "init" {
		return ""
	}
	return rec.Get("session_id").Text()
}

// session is what is remembered of a session while it is read.
type session struct {
	run    *trace.Run
	rec    trace.Object
	pos    trace.Position
	record trace.Body
	calls  map[trace.ID][]int // indexes of the calls under an id, oldest first

	said  strings.Builder // the text behind the last call
	at    trace.Position  // where it begins
	next  bool            // a prompt waits for its answer
	begun int             // index of the first call of the batch, -1 for none
	batch int             // batches so far
}

func newSession(run *trace.Run) *session {
	run.Agent = "gemini-cli"
	return &session{run: run, calls: map[trace.ID][]int{}, begun: -1}
}

func (s *session) take(rec trace.Record) {
	s.rec.Take(rec.Value)
	s.pos, s.record = rec.Pos, rec.Body()
	run := s.run
	known := true
	switch s.rec.Get("type").Text() {
	case "init":
		s.init()
	case "message":
		s.message()
	case "tool_use":
		known = s.call()
	case "tool_result":
		s.result()
	case "result":
		run.Ended, run.EndReason = true, s.rec.Get("status").Text()
		s.spend(s.rec.Get("stats"))
	case "error": // a warning, or what the result says again
	default:
		run.Ignored++
		return
	}
	if known {
		run.Records++
	}
}

func (s *session) init() {
	s.run.ID = s.rec.Get("session_id").Text()
	s.run.Ended, s.run.EndReason = false, ""
	if model := s.rec.Get("model").Text(); model != "" {
		s.run.Model = model
	}
	if s.run.Started.IsZero() {
		s.run.Started = s.stamp()
	}
}

// message reads what was asked, or a piece of what was said.
func (s *session) message() {
	text := s.rec.Get("content").Text()
	switch s.rec.Get("role").Text() {
	case "user":
		s.next, s.begun = true, -1
		if s.run.Task == "" {
			s.run.Task = cut(text, maxTask)
		}
	case "assistant":
		s.begun = -1
		if strings.TrimSpace(text) == "" && s.said.Len() == 0 {
			return
		}
		if s.next || s.said.Len() == 0 {
			s.said.Reset()
			s.at, s.next = s.pos, false
		} else if s.rec.Get("delta").Flag() != trace.FlagTrue {
			s.said.WriteString("\n\n")
		}
		s.said.WriteString(text)
	}
}

// call takes in a tool_use; false for one without a name, which is a bad line.
func (s *session) call() bool {
	tool := s.rec.Get("tool_name").Text()
	if tool == "" {
		s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: s.pos.Line, Reason: "a tool_use without a name"})
		return false
	}
	id := s.rec.Get("tool_id").ID()
	args := s.rec.Get("parameters").Body()
	if s.repeated(id, tool, args) {
		return true
	}
	s.add(trace.Call{ID: id, Tool: tool, Args: args, Batch: s.joinBatch()})
	s.said.Reset()
	s.next = false
	return true
}

// repeated tells whether a call that is still open stands there already.
func (s *session) repeated(id trace.ID, tool string, args trace.Body) bool {
	under := s.calls[id]
	if id == "" || len(under) == 0 {
		return false
	}
	c := &s.run.Calls[under[len(under)-1]]
	return !c.ResultPos.Set() && c.Tool == tool && c.Args.Length == args.Length && c.Args.Sum == args.Sum
}

// joinBatch returns the batch of the next call: calls with nothing between them
// were issued together.
func (s *session) joinBatch() string {
	if s.begun < 0 {
		s.begun = len(s.run.Calls)
		s.batch++
		return ""
	}
	name := fmt.Sprintf("batch %d", s.batch)
	s.run.Calls[s.begun].Batch = name
	return name
}

func (s *session) add(c trace.Call) *trace.Call {
	c.Pos, c.Record, c.Start = s.pos, s.record, s.stamp()
	i := len(s.run.Calls)
	s.run.Calls = append(s.run.Calls, c)
	if c.ID != "" {
		s.calls[c.ID] = append(s.calls[c.ID], i)
	}
	return &s.run.Calls[i]
}

// result ends a call: the last one under its id that is still open. One more
// result is kept as evidence unless it repeats the first.
func (s *session) result() {
	s.begun = -1
	id, out := s.rec.Get("tool_id").ID(), s.rec.Get("output").Body()
	under := s.calls[id]
	for k := len(under) - 1; k >= 0; k-- {
		if c := &s.run.Calls[under[k]]; !c.ResultPos.Set() {
			s.end(c, out)
			return
		}
	}
	if n := len(under); n > 0 {
		if c := &s.run.Calls[under[n-1]]; c.Result.Length == out.Length && c.Result.Sum == out.Sum {
			return
		}
	} else {
		s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: s.pos, Reason: "a result whose call is not in this file"})
	}
	s.end(s.add(trace.Call{ID: id, ResultOnly: true}), out)
}

func (s *session) end(c *trace.Call, out trace.Body) {
	c.ResultPos, c.Result = s.pos, out
	e := s.rec.Get("error")
	if message := e.Get("message"); message.Given() {
		e = message
	}
	if e.Given() {
		c.Error = e.Body()
	}
	switch s.rec.Get("status").Text() {
	case "error":
		c.IsError = trace.FlagTrue
	case "success":
		c.IsError = trace.FlagFalse
		if c.Tool == "run_shell_command" || c.Tool == "" {
			c.Status = "unknown"
		}
	default:
		c.Status = "unknown"
	}
}

// spend reads what the session has cost so far, by model.
func (s *session) spend(stats trace.Value) {
	var usage []trace.Usage
	for model, u := range stats.Get("models").Members() {
		usage = append(usage, usageOf(model.Text(), u))
	}
	if usage == nil && stats.Kind() == trace.KindObject {
		usage = []trace.Usage{usageOf(s.run.Model, stats)}
	}
	if usage != nil {
		s.run.Usage = usage
	}
}

// maxTokens is far above what a session can cost; a number beyond it is damage.
const maxTokens = 1 << 40

func usageOf(model string, u trace.Value) trace.Usage {
	n := func(name string) int64 {
		i, ok := u.Get(name).Int()
		if !ok || i < 0 || i > maxTokens {
			return 0
		}
		return i
	}
	cached := min(n("cached"), n("input_tokens"))
	return trace.Usage{Model: model, Prompt: n("input_tokens") - cached, Cached: cached, Completion: n("output_tokens"), Total: n("total_tokens")}
}

func (s *session) finish() {
	if text := strings.TrimSpace(s.said.String()); text != "" {
		s.run.Summary, s.run.SummaryPos = text, s.at
	}
}

// stamp is the zero time where the record has none that can be read.
func (s *session) stamp() time.Time {
	t, err := time.Parse(time.RFC3339, s.rec.Get("timestamp").Text())
	if err != nil {
		return time.Time{}
	}
	return t
}

// cut shortens a text to at most n bytes without splitting a rune.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n])
}
