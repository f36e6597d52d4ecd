package opencode

import (
	"strings"

	"nightaudit/trace"
)

// unknown is the Call.Status of a command of which nothing tells how it ended.
const unknown = "unknown"

// How the output of a command ends that did not end by itself.
var cutOffTexts = []string{"terminated command after exceeding timeout", "User aborted the command", "command terminated by abort signal"}

// tool reads a call: one part holds all of it. A part that was stored again in a
// later state takes the place of the earlier one.
func (s *session) tool(p *trace.Object, pos trace.Position, record trace.Body) {
	name := p.Get("tool").Text()
	if name == "" {
		s.badLine(pos.Line, "a tool part without a tool")
		return
	}
	state := p.Get("state")
	input := state.Get("input")
	if name == "invalid" {
		name = textOr(input.Get("tool"), name)
	}
	c := trace.Call{
		ID: p.Get("callID").ID(), Tool: name, Pos: pos, Record: record, Args: input.Body(), Cwd: s.cwd,
		Start: millis(state.Path("time", "start")),
	}
	s.end(&c, p.Get("tool").Text(), state, pos)
	id := p.Get("id").Text()
	if i, again := s.parts[id]; again && s.stored(i, c) {
		return
	}
	s.said, s.next = nil, false // what was said before a call is no summary
	s.add(c, id, p.Get("messageID").Text())
}

// stored tells whether a part is that of call i, stored again. A call that had not
// ended has now got further.
func (s *session) stored(i int, c trace.Call) bool {
	old := &s.run.Calls[i]
	switch {
	case old.Tool != c.Tool || old.ID != c.ID:
		return false
	case !old.ResultPos.Set():
		c.Pos, c.Batch = old.Pos, old.Batch
		*old = c
		return true
	default:
		return sameBody(old.Args, c.Args) && sameBody(old.Result, c.Result) && sameBody(old.Error, c.Error) && old.Status == c.Status
	}
}

func sameBody(a, b trace.Body) bool { return a.Length == b.Length && a.Sum == b.Sum }

// add adds a call. Those of one message were issued together.
func (s *session) add(c trace.Call, id, message string) {
	i := len(s.run.Calls)
	if message != "" {
		if first, ok := s.first[message]; ok {
			s.run.Calls[first].Batch, c.Batch = message, message
		} else {
			s.first[message] = i
		}
	}
	s.run.Calls = append(s.run.Calls, c)
	if id != "" {
		s.parts[id] = i
	}
}

// end reads from a part's state how its call has ended. tool is its name as it is
// recorded.
func (s *session) end(c *trace.Call, tool string, state trace.Value, pos trace.Position) {
	output := state.Get("output")
	c.Result = output.Body()
	switch word := state.Get("status").Text(); {
	case word == "pending" || word == "running":
		c.Status = word
		return
	case word == "error":
		c.IsError, c.Error = trace.FlagTrue, state.Get("error").Body()
	case word != "completed":
		c.Status = unknown
	case tool == "invalid":
		c.IsError = trace.FlagTrue
	case shell(tool):
		command(c, state.Path("metadata", "exit"), output.Text())
	default:
		c.IsError = trace.FlagFalse
	}
	c.ResultPos = pos
	c.Delegates = tool == "task" && c.IsError != trace.FlagTrue
}

func shell(tool string) bool { return tool == "bash" || tool == "shell" }

// command reads how a command has ended.
func command(c *trace.Call, exit trace.Value, output string) {
	if code, ok := exit.ExitCode(); ok {
		c.HasExit, c.ExitCode = true, code
		return
	}
	for _, t := range cutOffTexts {
		if strings.Contains(tail(output), t) {
			c.IsError = trace.FlagTrue
			return
		}
	}
	c.Status = unknown
}

// tail is where the program speaks, behind what the command printed.
func tail(output string) string { return output[max(0, len(output)-600):] }
