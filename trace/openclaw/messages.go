package openclaw

import (
	"nightaudit/trace"
)

// The words for Call.Status that this reader sets.
const (
	unknown = "unknown"
	running = "running"
)

// agentEnd ends an agent. Its messages say more of the calls than their events do.
func (l *log) agentEnd(rec trace.Record) {
	s := l.session(rec)
	s.fresh = false
	t := l.turnOf(s, rec)
	t.run.Records++
	last := l.messages(s, t, rec)
	if s.sub {
		return
	}
	if last.Kind() == trace.KindObject {
		t.say(textOf(last), l.texts.Place(last))
		if m := last.Get("model").Text(); m != "" {
			t.run.Model = m
		}
	}
	t.run.Ended = true
	t.run.EndReason = "completed"
	if rec.Get("success").Flag() == trace.FlagFalse {
		t.run.EndReason = "failed"
	}
}

// messages reads the calls of a session's messages, and returns the answer with
// which they end.
func (l *log) messages(s *session, t *turn, rec trace.Record) trace.Value {
	var answer trace.Value
	results := map[trace.ID]trace.Value{}
	prompt := int64(-1) // where the last prompt stands
	for m := range rec.Get("messages").Elements() {
		answer = trace.Value{}
		switch m.Get("role").Text() {
		case "user":
			prompt = m.Body().Offset
		case "toolResult":
			results[m.Get("toolCallId").ID()] = m
		case "assistant":
			answer = m
		}
	}
	for m := range rec.Get("messages").Elements() {
		if m.Get("role").Text() != "assistant" {
			continue
		}
		for block := range m.Get("content").Elements() {
			if kind := block.Get("type").Text(); kind != "toolCall" && kind != "tool_use" {
				continue
			}
			if block.Body().Offset > prompt {
				answer = afterCall(answer, block)
			}
			l.told(s, t, block, results[block.Get("id").ID()], block.Body().Offset > prompt)
		}
	}
	return answer
}

// afterCall forgets an answer that a call stands in.
func afterCall(answer, block trace.Value) trace.Value {
	a, b := answer.Body(), block.Body()
	if b.Offset >= a.Offset && b.Offset < a.Offset+int64(a.Length) {
		return trace.Value{}
	}
	return answer
}

// told takes in a call that stands in a session's messages: the one that an event
// told of, else one more where it is of this turn.
func (l *log) told(s *session, t *turn, block, result trace.Value, current bool) {
	id := block.Get("id").ID()
	if c, ok := s.byID[id]; ok && id != "" {
		l.fill(c.call(), result)
		return
	}
	if id == "" || s.seen[id] {
		return
	}
	args := block.Get("arguments")
	if !args.Given() {
		args = block.Get("input")
	}
	name := block.Get("name").Text()
	c, ok := s.match(name, args.Body())
	if !ok {
		if !current || name == "" {
			return
		}
		c = ref{t.run, len(t.run.Calls)}
		t.run.Calls = append(t.run.Calls, trace.Call{Tool: name, Pos: l.texts.Place(block), Args: args.Body(), Record: block.Body()})
	}
	s.seen[id], s.byID[id] = true, c
	c.call().ID = id
	l.fill(c.call(), result)
}

// match finds the call without an id that a message tells of: by its arguments,
// else the first of its tool.
func (s *session) match(name string, args trace.Body) (ref, bool) {
	at := -1
	for i, c := range s.unnamed {
		if c.call().Tool != name {
			continue
		}
		if a := c.call().Args; a.Length == args.Length && a.Sum == args.Sum {
			at = i
			break
		}
		if at < 0 {
			at = i
		}
	}
	if at < 0 {
		return ref{}, false
	}
	c := s.unnamed[at]
	s.unnamed = append(s.unnamed[:at:at], s.unnamed[at+1:]...)
	return c, true
}

// fill writes into a call what its result says.
func (l *log) fill(c *trace.Call, result trace.Value) {
	if result.Kind() != trace.KindObject {
		return
	}
	if !c.ResultPos.Set() {
		c.ResultPos = l.texts.Place(result)
	}
	c.Result = result.Get("content").Body()
	c.Structured = result.Get("details").Body()
	if f := result.Get("isError").Flag(); f != trace.FlagAbsent {
		c.IsError = f
		if c.Status == unknown {
			c.Status = "" // told apart now
		}
	}
	code, ok := result.Path("details", "exitCode").ExitCode()
	if ok {
		c.HasExit, c.ExitCode = true, code
	}
	if result.Path("details", "status").Text() == running {
		c.Status = running
	}
}

// textOf joins the texts of a message.
func textOf(m trace.Value) string {
	content := m.Get("content")
	if content.Kind() == trace.KindString {
		return content.Text()
	}
	text := ""
	for block := range content.Elements() {
		if t := block.Get("text").Text(); t != "" && block.Get("type").Text() == "text" {
			if text != "" {
				text += "\n"
			}
			text += t
		}
	}
	return text
}
