// Package pi reads the session files of Pi (~/.pi/agent/sessions/<folder>/….jsonl),
// which OpenClaw writes as well: a tree of entries by id and parentId, whose
// messages hold toolCall blocks and toolResult messages. One file in, one Run out.
//
// What is trusted, and why:
//
//   - isError of a toolResult: true is a failure; false is a success, since Pi's
//     bash flags every exit code but 0. The code is the last line of its text
//     ("Command exited with code 1").
//   - OpenClaw's exec does not flag an exit code: there details.exitCode tells, and
//     where it is not recorded the outcome is unknown. details.status running means
//     that the command goes on.
//
// Commands that the person ran (bashExecution) are no calls of the agent. The
// summary is taken from the branch that ends in the last message; calls of branches
// that were given up stay calls. A compaction keeps the entries before it in the
// file. No end of a run is recorded: NoEndRecords.
package pi

import (
	"context"
	"iter"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "pi"

// The words for Call.Status that this reader sets.
const (
	unknown = "unknown"
	running = "running"
)

// Read reads a session file as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		run := trace.NewRun(src, Format)
		run.Agent = Format
		run.NoEndRecords = true
		s := &session{run: run, pairs: trace.NewPairs(run)}
		sc := trace.NewScanner(ctx, src)
		for sc.Next() {
			s.take(sc.Record())
		}
		if err := sc.Finish(run); err != nil {
			yield(nil, err)
			return
		}
		s.finish()
		yield(run, nil)
	}
}

// session is what is remembered of a file while it is read.
type session struct {
	run    *trace.Run
	pairs  *trace.Pairs
	branch trace.Branch
	leaf   string // the last message
	said   []turn
}

// turn is one message as far as the summary is concerned.
type turn struct {
	id     string
	pos    trace.Position
	text   string
	reason string // why the model stopped
	prompt bool
	called bool
}

// take reads one entry.
func (s *session) take(rec trace.Record) {
	run := s.run
	kind := rec.Get("type").Text()
	if kind == "session" {
		run.Records++
		run.ID = rec.Get("id").Text()
		run.Cwd = rec.Get("cwd").Text()
		run.Started = rec.Get("timestamp").Time()
		return
	}
	id := string(rec.Get("id").ID())
	if !s.branch.Add(id, string(rec.Get("parentId").ID())) {
		run.Ignored++
		return
	}
	m := rec.Get("message")
	t := turn{id: id, pos: rec.Pos}
	role := m.Get("role").Text()
	switch {
	case kind != "message":
		role = ""
	case role == "user":
		t.text, t.prompt = textOf(m.Get("content")), true
	case role == "assistant":
		s.assistant(rec, m, &t)
	case role == "toolResult":
		s.result(rec, m)
	default:
		role = ""
	}
	if role == "" {
		run.Ignored++
		return
	}
	run.Records++
	s.said = append(s.said, t)
	if id != "" {
		s.leaf = id
	}
}

// assistant reads what the agent said and called.
func (s *session) assistant(rec trace.Record, m trace.Value, t *turn) {
	t.text = textOf(m.Get("content"))
	t.reason = m.Get("stopReason").Text()
	if model := m.Get("model").Text(); model != "" {
		s.run.Model = model
	}
	var calls []trace.Call
	for block := range m.Get("content").Elements() {
		if block.Get("type").Text() != "toolCall" {
			continue
		}
		name := block.Get("name").Text()
		if name == "" {
			s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: rec.Pos.Line, Reason: "a toolCall without a name"})
			continue
		}
		calls = append(calls, trace.Call{
			ID: block.Get("id").ID(), Tool: name, Pos: trace.Position{Line: rec.Pos.Line, Offset: block.Body().Offset},
			Args: block.Get("arguments").Body(), Record: block.Body(), Start: rec.Get("timestamp").Time(),
		})
	}
	t.called = len(calls) > 0
	s.pairs.AddBatch("message "+t.id, calls)
	s.spend(m)
}

// result joins a toolResult to its call.
func (s *session) result(rec trace.Record, m trace.Value) {
	c, fresh := s.pairs.Result(m.Get("toolCallId").ID(), rec.Pos, m.Get("content"), m)
	if !fresh {
		return
	}
	if c.Tool == "" {
		c.Tool = m.Get("toolName").Text()
	}
	details := m.Get("details")
	c.Structured = details.Body()
	c.IsError = m.Get("isError").Flag()
	if code, ok := details.Get("exitCode").ExitCode(); ok {
		c.HasExit, c.ExitCode = true, code
	}
	switch {
	case details.Get("status").Text() == running:
		c.Status = running
	case c.HasExit:
	case c.IsError == trace.FlagTrue:
		c.ExitCode, c.HasExit = lastCode(c.Tool, textOf(m.Get("content")))
	case c.IsError == trace.FlagAbsent, c.Tool == "exec", c.Tool == "process":
		c.IsError, c.Status = trace.FlagAbsent, unknown
	}
}

// lastCode reads the line with which the text of a failed command ends.
func lastCode(tool, text string) (int32, bool) {
	text = strings.TrimSpace(text)
	line := text[strings.LastIndexByte(text, '\n')+1:]
	rest, ok := strings.CutPrefix(line, "Command exited with code ")
	if !ok || tool != "bash" {
		return 0, false
	}
	code, err := strconv.ParseInt(rest, 10, 32)
	if err != nil || code == 0 {
		return 0, false // it is flagged: whatever stands there, it is no success
	}
	return int32(code), true
}

func (s *session) spend(m trace.Value) {
	u := m.Get("usage")
	spent := trace.Usage{
		Model: m.Get("model").Text(), Prompt: u.Tokens("input") + u.Tokens("cacheWrite"), Cached: u.Tokens("cacheRead"), Completion: u.Tokens("output"),
	}
	spent.Total = spent.Prompt + spent.Cached + spent.Completion
	s.run.Spend(spent)
}

// finish draws what only the whole file tells.
func (s *session) finish() {
	s.pairs.Finish()
	live := s.branch.Live(s.leaf)
	var talk trace.Talk
	for _, t := range s.said {
		if !live(t.id) {
			continue
		}
		if t.prompt {
			talk.Prompt(t.text)
			continue
		}
		talk.Said(t.text, t.pos)
		if t.called {
			talk.Called()
		}
		if t.reason != "" {
			s.run.EndReason = t.reason
		}
	}
	talk.Finish(s.run)
}

// textOf joins the texts of a message; a plain string is one.
func textOf(content trace.Value) string {
	if content.Kind() == trace.KindString {
		return content.Text()
	}
	var texts []string
	for block := range content.Elements() {
		if block.Get("type").Text() == "text" {
			texts = append(texts, block.Get("text").Text())
		}
	}
	return strings.Join(texts, "\n")
}

// IsRecord tells whether a record can only be an entry of this format.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
	case "session":
		return rec.Get("version").Given() && rec.Get("id").Given() && rec.Get("cwd").Given()
	case "message":
		return rec.Get("id").Given() && rec.Get("parentId").Kind() != trace.KindAbsent && rec.Path("message", "role").Given()
	case "model_change":
		return rec.Get("modelId").Given() && rec.Get("parentId").Kind() != trace.KindAbsent
	}
	return false
}
