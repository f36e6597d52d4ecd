// Package qwen reads the session files of Qwen Code
// (~/.qwen/projects/<folder>/chats/<sessionId>.jsonl): records in an envelope like
// Claude Code's, with the parts of Gemini's API in it. One file in, one Run out.
//
// What is trusted, and why:
//
//   - toolCallResult.status error is a failure, cancelled a refusal or an
//     interruption before it ran, unless the text says that the command was running.
//   - status success is a success, except of run_shell_command, which succeeds
//     whatever the exit code is: there the text below the output tells
//     (shelltext.Gemini), and where it does not the outcome is unknown.
//   - Without a toolCallResult a response with error has failed, every other one is
//     unknown but for a shell's text.
//
// A sub-agent's calls are not recorded as calls: the tool that starts one is marked
// (Call.Delegates). A compression keeps the messages before it in the file. No end
// of a run is recorded: NoEndRecords.
package qwen

import (
	"context"
	"iter"
	"strings"

	"nightaudit/trace"
	"nightaudit/trace/shelltext"
)

// Format is the name of this format.
const Format = "qwen-code"

// The words for Call.Status that this reader sets.
const (
	unknown   = "unknown"
	denied    = "denied"
	cancelled = "cancelled"
	running   = "running"
)

// shell is the tool that runs commands.
const shell = "run_shell_command"

// Read reads a session file as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		run := trace.NewRun(src, Format)
		run.Agent = Format
		run.NoEndRecords = true
		sc := trace.NewScanner(ctx, src)
		s := &session{run: run, pairs: trace.NewPairs(run)}
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
	uuid   string
	pos    trace.Position
	text   string
	prompt bool
	called bool
}

// take reads one record. Copies bear the uuid of the first.
func (s *session) take(rec trace.Record) {
	uuid := rec.Get("uuid").Text()
	if !s.branch.Add(uuid, rec.Get("parentUuid").Text()) {
		s.run.Ignored++
		return
	}
	kind := rec.Get("type").Text()
	switch kind {
	case "user", "assistant", "tool_result":
	default:
		s.run.Ignored++
		return
	}
	s.run.Records++
	s.header(rec)
	t := turn{uuid: uuid, pos: rec.Pos}
	parts := rec.Path("message", "parts")
	switch kind {
	case "user":
		if !rec.Get("subtype").Given() { // else a notification
			t.text, t.prompt = textOf(parts), true
		}
	case "assistant":
		t.text = textOf(parts)
		t.called = s.calls(rec, parts)
		s.spend(rec)
	case "tool_result":
		s.results(rec, parts)
	}
	s.said = append(s.said, t)
	if uuid != "" {
		s.leaf = uuid
	}
}

// header reads what every message says of the run.
func (s *session) header(rec trace.Record) {
	run := s.run
	if id := rec.Get("sessionId").Text(); id != "" {
		run.ID = id
	}
	if v := rec.Get("version").Text(); v != "" {
		run.Agent = Format + " " + v
	}
	if run.Cwd == "" {
		run.Cwd = rec.Get("cwd").Text()
	}
	if run.Started.IsZero() {
		run.Started = rec.Get("timestamp").Time()
	}
	if m := rec.Get("model").Text(); m != "" {
		run.Model = m
	}
}

// calls takes in the calls of a message and tells whether there are any.
func (s *session) calls(rec trace.Record, parts trace.Value) bool {
	var calls []trace.Call
	for part := range parts.Elements() {
		fc := part.Get("functionCall")
		if !fc.Given() {
			continue
		}
		name := fc.Get("name").Text()
		if name == "" {
			s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: rec.Pos.Line, Reason: "a functionCall without a name"})
			continue
		}
		calls = append(calls, trace.Call{
			ID: fc.Get("id").ID(), Tool: name, Pos: trace.Position{Line: rec.Pos.Line, Offset: fc.Body().Offset},
			Args: fc.Get("args").Body(), Record: fc.Body(), Cwd: rec.Get("cwd").Text(), Start: rec.Get("timestamp").Time(),
			Delegates: name == "task" || name == "agent",
		})
	}
	s.pairs.AddBatch("message "+rec.Get("uuid").Text(), calls)
	return len(calls) > 0
}

// results joins the responses of a record to their calls.
func (s *session) results(rec trace.Record, parts trace.Value) {
	twin := rec.Get("toolCallResult")
	responses := 0
	for part := range parts.Elements() {
		if part.Get("functionResponse").Given() {
			responses++
		}
	}
	for part := range parts.Elements() {
		fr := part.Get("functionResponse")
		if !fr.Given() {
			continue
		}
		id := fr.Get("id").ID()
		if id == "" && responses == 1 {
			id = twin.Get("callId").ID()
		}
		response := fr.Get("response")
		c, fresh := s.pairs.Result(id, trace.Position{Line: rec.Pos.Line, Offset: fr.Body().Offset}, content(response), fr)
		if !fresh {
			continue
		}
		if c.Tool == "" {
			c.Tool = fr.Get("name").Text()
		}
		status := twin.Get("status").Text()
		if own := twin.Get("callId").ID(); own != "" && own != id {
			status = "" // of another call
		}
		end(c, response, status)
	}
}

// content is what a response says.
func content(response trace.Value) trace.Value {
	for _, name := range []string{"output", "error"} {
		if v := response.Get(name); v.Given() {
			return v
		}
	}
	return response
}

// end reads how a call has ended.
func end(c *trace.Call, response trace.Value, status string) {
	text := content(response).Text()
	switch {
	case status == "cancelled" && strings.Contains(text, "did not allow"):
		c.Status, c.Delegates = denied, false
	case status == "cancelled" && !strings.Contains(text, "Command was "):
		c.Status = cancelled
	case status == "error", status == "cancelled", response.Get("error").Given():
		c.IsError = trace.FlagTrue
		c.Error = response.Get("error").Body()
	case c.Tool == shell:
		command(c, shelltext.Gemini(text))
	case status == "success":
		c.IsError = trace.FlagFalse
	default:
		c.Status = unknown
	}
}

// command takes over what a text says of the end of a command; where it says
// nothing, nobody knows.
func command(c *trace.Call, end shelltext.End) {
	switch {
	case end.HasCode:
		c.HasExit, c.ExitCode = true, end.Code
	case end.Running:
		c.Status = running
	case end.Failed:
		c.IsError = trace.FlagTrue
	default:
		c.Status = unknown
	}
}

func (s *session) spend(rec trace.Record) {
	m := rec.Get("usageMetadata")
	u := trace.Usage{Model: rec.Get("model").Text(), Prompt: m.Tokens("promptTokenCount")}
	u.Completion = m.Tokens("candidatesTokenCount")
	if total := m.Tokens("totalTokenCount"); total > u.Prompt {
		u.Completion = total - u.Prompt // with what was thought
	}
	u.Cached = min(m.Tokens("cachedContentTokenCount"), u.Prompt)
	u.Prompt -= u.Cached
	u.Total = u.Prompt + u.Cached + u.Completion
	s.run.Spend(u)
}

// finish draws what only the whole file tells.
func (s *session) finish() {
	s.pairs.Finish()
	live := s.branch.Live(s.leaf)
	var talk trace.Talk
	for _, t := range s.said {
		switch {
		case !live(t.uuid):
		case t.prompt:
			talk.Prompt(t.text)
		case t.called:
			talk.Said(t.text, t.pos)
			talk.Called()
		case t.text != "":
			talk.Said(t.text, t.pos)
		}
	}
	talk.Finish(s.run)
}

// textOf joins the texts of a message, without what was only thought.
func textOf(parts trace.Value) string {
	var texts []string
	for part := range parts.Elements() {
		if t := part.Get("text").Text(); t != "" && part.Get("thought").Flag() != trace.FlagTrue {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

// IsRecord tells whether a record can only be one of this format's. Claude Code's
// have the same envelope, but content instead of parts.
func IsRecord(rec trace.Value) bool {
	if !rec.Get("sessionId").Given() || !rec.Get("uuid").Given() {
		return false
	}
	switch rec.Get("type").Text() {
	case "user", "assistant", "tool_result":
		return rec.Path("message", "parts").Given()
	case "system":
		return rec.Get("systemPayload").Given()
	}
	return false
}
