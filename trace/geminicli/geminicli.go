// Package geminicli reads the sessions of Gemini CLI: the JSON document of 2025
// (chats/session-….json), the JSON Lines of 2026 (chats/session-….jsonl), and saved
// checkpoints, which are plain lists of contents. One file in, one Run out.
//
// A message of the JSON Lines is written again whenever it changes: the last record
// of an id counts, at the place of the first. {"$set": {"messages": […]}} replaces
// the conversation, {"$rewindTo": id} cuts it off: the summary is taken from what is
// left, but a call that was made stays a call.
//
// What is trusted, and why:
//
//   - status error is a failure, cancelled a refusal or an interruption before it
//     ran, unless the text says that the command was running.
//   - status success is a success, except of run_shell_command, which succeeds
//     whatever the exit code is: there the text below the output tells
//     (shelltext.Gemini), and where it does not the outcome is unknown.
//   - Any other status (executing, awaiting_approval) is a call without an end.
//   - Contents of a checkpoint have no status: a response with error has failed,
//     every other one is unknown but for a shell's text.
//
// No end of a run is recorded: NoEndRecords.
package geminicli

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "gemini-cli"

// Read reads a session as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		run := trace.NewRun(src, Format)
		s := &session{run: run, pairs: trace.NewPairs(run), texts: trace.NewTexts(ctx, src), messages: map[string]*message{}}
		run.Agent = Format
		run.NoEndRecords = true
		for s.texts.Next() {
			s.take(s.texts.Record().Value)
		}
		if err := s.finish(); err != nil {
			yield(nil, err)
			return
		}
		yield(run, nil)
	}
}

// session is what is remembered of a file while it is read.
type session struct {
	run      *trace.Run
	pairs    *trace.Pairs // of a checkpoint
	texts    *trace.Texts
	messages map[string]*message
	live     []*message // the conversation as it stands
	contents bool       // it is a checkpoint's
}

// message is what the records of one id have said last.
type message struct {
	id    string
	pos   trace.Position
	kind  string // user, gemini, or what the user interface shows
	text  string
	model string
	usage trace.Usage
	calls []*trace.Call
}

// take reads a record, or a whole document.
func (s *session) take(v trace.Value) {
	switch {
	case v.Kind() == trace.KindArray:
		s.checkpoint(v)
	case v.Get("history").Kind() == trace.KindArray:
		s.checkpoint(v.Get("history"))
	case v.Get("$set").Kind() == trace.KindObject:
		s.set(v.Get("$set"))
	case v.Get("$rewindTo").Given():
		s.rewind(string(v.Get("$rewindTo").ID()))
	case v.Get("sessionId").Given():
		s.header(v)
		for m := range v.Get("messages").Elements() {
			s.message(m)
		}
	case v.Get("type").Given() && v.Get("id").Given():
		s.message(v)
	default:
		s.run.Ignored++
	}
}

func (s *session) header(v trace.Value) {
	run := s.run
	run.Records++
	run.ID = v.Get("sessionId").Text()
	run.Started = v.Get("startTime").Time()
	run.Child = v.Get("kind").Text() == "subagent"
}

// set takes in a patch. Messages replace the conversation.
func (s *session) set(patch trace.Value) {
	list := patch.Get("messages")
	if list.Kind() != trace.KindArray {
		s.run.Ignored++
		return
	}
	s.run.Records++
	s.live = nil
	for m := range list.Elements() {
		s.message(m)
	}
}

func (s *session) rewind(id string) {
	s.run.Records++
	at := slices.IndexFunc(s.live, func(m *message) bool { return m.id == id })
	s.live = s.live[:max(at, 0)] // to a message that is not there: to the beginning
}

// message reads one message, or what it has become.
func (s *session) message(v trace.Value) {
	if v.Kind() != trace.KindObject {
		s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: s.texts.Place(v).Line, Reason: "a message that is no JSON object"})
		return
	}
	if err := v.UniqueNames(); err != nil {
		s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: s.texts.Place(v).Line, Reason: err.Error()})
		return
	}
	s.run.Records++
	id := string(v.Get("id").ID())
	m := s.messages[id]
	if m == nil || id == "" {
		m = &message{id: id, pos: s.texts.Place(v)}
		if id != "" {
			s.messages[id] = m
		}
	}
	if !slices.Contains(s.live, m) {
		s.live = append(s.live, m)
	}
	m.kind = v.Get("type").Text()
	m.text = textOf(v.Get("content"))
	m.model = v.Get("model").Text()
	m.usage = usageOf(v.Get("tokens"), m.model)
	for tc := range v.Get("toolCalls").Elements() {
		s.toolCall(m, tc, v)
	}
}

// toolCall takes in a call, or what has become of one.
func (s *session) toolCall(m *message, tc, in trace.Value) {
	name, id := tc.Get("name").Text(), tc.Get("id").ID()
	if name == "" {
		s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: s.texts.Place(tc).Line, Reason: "a call without a name"})
		return
	}
	at := slices.IndexFunc(m.calls, func(c *trace.Call) bool { return c.ID == id && c.Tool == name && id != "" })
	var c *trace.Call
	if at >= 0 {
		c = m.calls[at]
		*c = trace.Call{ID: c.ID, Tool: c.Tool, Pos: c.Pos, Args: c.Args, Record: c.Record, Start: c.Start}
	} else {
		c = &trace.Call{ID: id, Tool: name, Pos: s.texts.Place(tc), Record: tc.Body()}
		m.calls = append(m.calls, c)
	}
	if args := tc.Get("args"); args.Given() {
		c.Args = args.Body()
	}
	if c.Start = tc.Get("timestamp").Time(); c.Start.IsZero() {
		c.Start = in.Get("timestamp").Time()
	}
	s.end(c, tc)
}

// finish draws what only the whole file tells.
func (s *session) finish() error {
	run := s.run
	if err := s.texts.Finish(run); err != nil {
		return err
	}
	slices.SortStableFunc(run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	if s.contents {
		s.pairs.Finish()
		return nil
	}
	all := make([]*message, 0, len(s.messages))
	for _, m := range s.messages {
		all = append(all, m)
	}
	for _, m := range s.live {
		if m.id == "" {
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b *message) int { return cmp.Compare(a.pos.Offset, b.pos.Offset) })
	for _, m := range all {
		run.Spend(m.usage)
		if m.model != "" {
			run.Model = m.model
		}
		for _, c := range m.calls {
			if len(m.calls) > 1 {
				c.Batch = m.id
			}
			run.Calls = append(run.Calls, *c)
		}
	}
	slices.SortStableFunc(run.Calls, func(a, b trace.Call) int { return cmp.Compare(a.Pos.Offset, b.Pos.Offset) })
	s.conclude()
	return nil
}

// conclude finds the task and the summary in the conversation as it stands.
func (s *session) conclude() {
	var talk trace.Talk
	for _, m := range s.live {
		switch m.kind {
		case "user":
			if !isContext(m.text) {
				talk.Prompt(m.text)
			}
		case "gemini":
			talk.Said(m.text, m.pos)
			if len(m.calls) > 0 {
				talk.Called()
			}
		}
	}
	talk.Finish(s.run)
}

// isContext tells whether a user's message is what the program says in his name.
func isContext(text string) bool {
	text = strings.TrimSpace(text)
	return strings.HasPrefix(text, "<session_context>") || strings.HasPrefix(text, "<environment_context>") || strings.HasPrefix(text, "This is the Gemini CLI.")
}

// textOf joins the texts of a message; a plain string is one.
func textOf(content trace.Value) string {
	if content.Kind() == trace.KindString {
		return content.Text()
	}
	var texts []string
	for part := range content.Elements() {
		if t := part.Get("text").Text(); t != "" && part.Get("thought").Flag() != trace.FlagTrue {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n")
}

func usageOf(tokens trace.Value, model string) trace.Usage {
	u := trace.Usage{Model: model, Prompt: tokens.Tokens("input"), Completion: tokens.Tokens("output") + tokens.Tokens("thoughts")}
	u.Cached = min(tokens.Tokens("cached"), u.Prompt)
	u.Prompt -= u.Cached
	u.Total = u.Prompt + u.Cached + u.Completion
	return u
}
