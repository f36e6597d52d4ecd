package geminicli

import (
	"fmt"
	"strings"

	"nightaudit/trace"
	"nightaudit/trace/shelltext"
)

// The words for Call.Status that this reader sets.
const (
	unknown   = "unknown"
	denied    = "denied"
	cancelled = "cancelled"
	running   = "running"
)

// shell is the tool that runs commands.
const shell = "run_shell_command"

// end reads from a call's record how it has ended.
func (s *session) end(c *trace.Call, tc trace.Value) {
	result := tc.Get("result")
	response := responseOf(result)
	status := tc.Get("status").Text()
	switch status {
	case "success", "error", "cancelled", "":
		if status == "" && !result.Given() {
			return
		}
	default:
		c.Status = status
		return
	}
	c.ResultPos = s.texts.Place(tc)
	bodies(c, response)
	if !response.Given() {
		c.Result = result.Body()
	}
	switch {
	case status == "error" || status == "" && c.Error.Present():
		c.IsError = trace.FlagTrue
	case status == "cancelled":
		called(c, response.Get("error").Text()+response.Get("output").Text())
	case c.Tool == shell:
		ended(c, shelltext.Gemini(response.Get("output").Text()))
	case status == "success":
		c.IsError = trace.FlagFalse
	default:
		c.Status = unknown
	}
}

// called tells how a call was called off: refused, before it ran, or while it ran.
func called(c *trace.Call, text string) {
	switch {
	case strings.Contains(text, "did not allow"):
		c.Status = denied
	case strings.Contains(text, "Command was "):
		c.IsError = trace.FlagTrue
	default:
		c.Status = cancelled
	}
}

// bodies finds what a functionResponse's response holds.
func bodies(c *trace.Call, response trace.Value) {
	if e := response.Get("error"); e.Given() {
		c.Error = e.Body()
		return
	}
	c.Result = content(response).Body()
}

// content is what a response without an error says.
func content(response trace.Value) trace.Value {
	if out := response.Get("output"); out.Given() {
		return out
	}
	return response
}

// respond reads what a checkpoint tells of the end of a call: an error, the text of
// a shell, or nothing.
func respond(c *trace.Call, response trace.Value) {
	bodies(c, response)
	switch {
	case c.Error.Present():
		c.IsError = trace.FlagTrue
	case c.Tool == shell:
		ended(c, shelltext.Gemini(response.Get("output").Text()))
	default:
		c.Status = unknown
	}
}

// ended takes over what a text says of the end of a command; where it says nothing,
// nobody knows.
func ended(c *trace.Call, end shelltext.End) {
	switch {
	case !end.Known:
		c.Status = unknown
	case end.Running:
		c.Status = running
	case end.HasCode:
		c.Status = ""
		c.HasExit, c.ExitCode = true, end.Code
	default:
		c.Status, c.IsError = "", trace.FlagTrue
	}
}

// responseOf returns the response in a result: the first of its parts that is one.
func responseOf(result trace.Value) trace.Value {
	for part := range result.Elements() {
		if r := part.Path("functionResponse", "response"); r.Given() {
			return r
		}
	}
	return trace.Value{}
}

// checkpoint reads a plain list of contents.
func (s *session) checkpoint(list trace.Value) {
	s.contents = true
	var talk trace.Talk
	for m := range list.Elements() {
		role := m.Get("role").Text()
		if role != "user" && role != "model" {
			s.run.Ignored++
			continue
		}
		s.run.Records++
		calls, answers := s.parts(m)
		switch text := textOf(m.Get("parts")); {
		case role == "model":
			talk.Said(text, s.texts.Place(m))
			if calls {
				talk.Called()
			}
		case !answers && !isContext(text):
			talk.Prompt(text)
		}
	}
	talk.Finish(s.run)
}

// parts reads the calls and the responses of a content.
func (s *session) parts(m trace.Value) (called, answered bool) {
	var calls []trace.Call
	for part := range m.Get("parts").Elements() {
		if fc := part.Get("functionCall"); fc.Get("name").Text() != "" {
			called = true
			calls = append(calls, trace.Call{
				ID: fc.Get("id").ID(), Tool: fc.Get("name").Text(), Pos: s.texts.Place(fc), Args: fc.Get("args").Body(), Record: fc.Body(),
			})
		}
		fr := part.Get("functionResponse")
		if !fr.Given() {
			continue
		}
		answered = true
		if c := s.answered(fr); c != nil {
			respond(c, fr.Get("response"))
		}
	}
	s.pairs.AddBatch(fmt.Sprintf("content at %d", m.Body().Offset), calls)
	return called, answered
}

// answered finds the call that a response belongs to: by its id, in old checkpoints
// the first of its name that is open. Nil for one that is known.
func (s *session) answered(fr trace.Value) *trace.Call {
	pos, name := s.texts.Place(fr), fr.Get("name").Text()
	if !fr.Get("id").Given() {
		for i := range s.run.Calls {
			if c := &s.run.Calls[i]; c.Tool == name && !c.ResultPos.Set() {
				c.ResultPos = pos
				return c
			}
		}
	}
	c, fresh := s.pairs.Result(fr.Get("id").ID(), pos, content(fr.Get("response")), fr)
	if !fresh {
		return nil
	}
	if c.Tool == "" {
		c.Tool = name
	}
	return c
}
