package codex

import (
	"fmt"
	"strings"

	"nightaudit/trace"
)

// item reads a response item: what the model said, called, and was told.
func (s *session) item() bool {
	switch s.load.Get("type").Text() {
	case "message":
		s.message()
	case "function_call":
		s.functionCall()
	case "custom_tool_call":
		s.call(s.load.Get("name").Text(), s.load.Get("input").Body())
	case "local_shell_call":
		s.call("local_shell", s.load.Get("action").Body())
	case "tool_search_call":
		_, args := s.load.Get("arguments").Inner()
		s.call("tool_search", args)
	case "web_search_call", "image_generation_call":
		s.hosted()
	case "function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_search_output", "mcp_tool_call_output":
		s.output()
	default:
		return false
	}
	return true
}

// functionCall reads a call of a function; its arguments are JSON within a string,
// which the model may have got wrong.
func (s *session) functionCall() {
	args, body := s.load.Get("arguments").Inner()
	i := s.call(toolName(s.load.Get("namespace").Text(), s.load.Get("name").Text()), body)
	if i < 0 {
		return
	}
	if s.run.Calls[i].Tool == "write_stdin" {
		s.states[i].proc = procID(args.Get("session_id"))
	}
}

// toolName names MCP tools as every other agent does: mcp__server__tool.
func toolName(space, name string) string {
	if !strings.HasPrefix(space, "mcp__") || strings.HasPrefix(name, "mcp__") {
		return name
	}
	return strings.TrimSuffix(space, "__") + "__" + name
}

// hosted reads a call that the model's server answered: one record holds it all.
func (s *session) hosted() {
	tool := strings.TrimSuffix(s.load.Get("type").Text(), "_call")
	args := s.load.Get("action").Body()
	i := s.call(tool, args)
	if i < 0 {
		return
	}
	c := &s.run.Calls[i]
	c.Status = status(s.load.Get("status"))
	if c.Status == "completed" {
		c.ResultPos = s.pos
	} else if c.Status == "failed" {
		c.IsError, c.ResultPos = trace.FlagTrue, s.pos
	}
	s.states[i] = state{told: c.ResultPos.Set(), final: c.ResultPos.Set()}
}

// id is the id of the call that a record belongs to. That of the record itself is
// something else; only old shell calls have no other.
func (s *session) id() trace.ID {
	if id := s.load.Get("call_id").ID(); id != "" {
		return id
	}
	return s.load.Get("id").ID()
}

// call takes in a call and returns its index; -1 for one that cannot be told or
// that repeats an open one.
func (s *session) call(tool string, args trace.Body) int {
	if tool == "" {
		s.badLine("a call without a name")
		return -1
	}
	id := s.id()
	under := s.calls[id]
	if n := len(under); n > 0 && id != "" {
		if old := &s.run.Calls[under[n-1]]; !old.ResultPos.Set() && old.Tool == tool && old.Args.Length == args.Length && old.Args.Sum == args.Sum {
			return -1
		}
	}
	return s.add(trace.Call{ID: id, Tool: tool, Args: args, Delegates: delegating(tool)})
}

// add adds a call that this line records.
func (s *session) add(c trace.Call) int {
	i := len(s.run.Calls)
	c.Pos, c.Record, c.Cwd, c.Start = s.pos, s.raw, s.cwd, s.at
	if !c.ResultOnly {
		c.Batch = s.batch.join(s.run, i)
		s.talk.acted()
	}
	s.run.Calls = append(s.run.Calls, c)
	s.states = append(s.states, state{})
	if c.ID != "" {
		s.calls[c.ID] = append(s.calls[c.ID], i)
	}
	return i
}

// badLine drops a record whose line is JSON but holds no sense.
func (s *session) badLine(reason string) {
	if s.past > 0 {
		s.gap(s.pos, "in the history: "+reason)
		return
	}
	s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: s.pos.Line, Reason: reason})
}

// batch is the calls of one answer of the model: those that stand together, with
// no result and no account of tokens between them.
type batch struct {
	first int // index of its first call
	n     int
	count int // batches so far
}

func (b *batch) join(run *trace.Run, i int) string {
	if b.n == 0 {
		b.first, b.n = i, 1
		b.count++
		return ""
	}
	b.n++
	name := fmt.Sprintf("batch %d", b.count)
	run.Calls[b.first].Batch = name
	return name
}

func (b *batch) close() { b.n = 0 }

// output joins what the model was told of a call to it: the last one under its id
// that is still open.
func (s *session) output() {
	s.batch.close()
	id := s.id()
	out := s.load.Get("output")
	if out.Kind() == trace.KindAbsent {
		out = s.load.Get("tools") // of a search for tools
	}
	inner, body := out.Inner()
	under := s.calls[id]
	for k := len(under) - 1; k >= 0; k-- {
		if i := under[k]; !s.states[i].told {
			s.tell(i, inner, body)
			return
		}
	}
	if n := len(under); n > 0 {
		if old := s.run.Calls[under[n-1]].Result; old.Length == body.Length && old.Sum == body.Sum {
			return // repeated
		}
	}
	if len(under) == 0 && !s.orphan.Set() {
		s.orphan = s.pos
	}
	s.tell(s.add(trace.Call{ID: id, ResultOnly: true}), inner, body)
}

// tell reads from the text that the model was told how a call has ended. Where its
// item has come before, that has the last word.
func (s *session) tell(i int, out trace.Value, body trace.Body) {
	s.states[i].told = true
	c := &s.run.Calls[i]
	if s.states[i].final {
		if !c.Result.Present() {
			c.Result = body
		}
		return
	}
	c.Result, c.ResultPos = body, s.pos
	e := readEnding(c.Tool, out)
	c.HasExit, c.ExitCode, c.IsError, c.Status = e.hasCode, e.code, e.failed, e.status
	switch {
	case e.proc != "":
		s.running(i, e.proc)
	case s.states[i].proc != "":
		s.looked(i, body)
	}
}
