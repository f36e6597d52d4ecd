package geminicli

import "nightaudit/trace"

// Shell is the name of the tool that runs commands.
const Shell = "run_shell_command"

// agents are the tools that hand work to a sub-agent, whose calls are recorded in a
// file of its own.
var agents = map[string]bool{
	"delegate_to_agent": true, "invoke_agent": true, "codebase_investigator": true, "generalist": true, "cli_help": true, "browser_agent": true,
}

// key tells one call from another. Ids are numbered anew when a session is resumed,
// so a call is that of an id within its message.
type key struct {
	message, call trace.ID
	n             int // where the call has no id: its place in the message
}

// toolCalls reads the calls of a message.
func (s *session) toolCalls(m *message, list trace.Value) {
	var batch []int
	n := 0
	for v := range list.Elements() {
		if i, ok := s.call(m, v, n); ok {
			batch = append(batch, i)
		}
		n++
	}
	m.Acted = m.Acted || n > 0
	for _, i := range batch {
		if len(batch) > 1 && m.id != "" {
			s.run.Calls[i].Batch = m.id.String()
		}
	}
}

// call reads one call of a message, which may be there already from an earlier
// writing, and returns its index.
func (s *session) call(m *message, v trace.Value, n int) (int, bool) {
	pos := s.texts.Place(v)
	name := v.Get("name").Text()
	if name == "" {
		s.badLine(pos, "a tool call without a name")
		return 0, false
	}
	id := v.Get("id").ID()
	k := key{message: m.id, call: id}
	if id == "" {
		k.n = n + 1
	}
	i, known := s.calls[k]
	if known = known && (m.id != "" || id != ""); !known {
		i = len(s.run.Calls)
		s.run.Calls = append(s.run.Calls, trace.Call{ID: id, Pos: pos})
		s.calls[k] = i
		if id != "" {
			s.latest[id] = i
		}
	}
	c := trace.Call{
		ID: id, Tool: name, Pos: s.run.Calls[i].Pos, Batch: s.run.Calls[i].Batch,
		Args: v.Get("args").Body(), Record: v.Body(), Start: v.Get("timestamp").Time(),
		Delegates: agents[name] || v.Get("agentId").Given(),
	}
	Outcome{
		Status: v.Get("status").Text(), Response: firstResponse(v.Get("result")), Display: v.Get("resultDisplay"), Pos: pos,
	}.End(&c)
	s.run.Calls[i] = c
	return i, true
}

// firstResponse finds the response among the parts of a result.
func firstResponse(result trace.Value) trace.Value {
	for part := range result.Elements() {
		if r := part.Path("functionResponse", "response"); r.Given() {
			return r
		}
	}
	return result.Path("functionResponse", "response")
}

// response reads the copy of a result that is written as the user's. It says
// something new only where the call itself was not written again.
func (s *session) response(v trace.Value, pos trace.Position) {
	id := v.Get("id").ID()
	i, ok := s.latest[id]
	if ok && s.run.Calls[i].ResultPos.Set() {
		return
	}
	if !ok {
		if !s.orphan.Set() {
			s.orphan = pos
		}
		if id == "" {
			return
		}
		i = len(s.run.Calls)
		s.latest[id] = i
		s.run.Calls = append(s.run.Calls, trace.Call{ID: id, Tool: v.Get("name").Text(), Pos: pos, Record: v.Body(), ResultOnly: true})
	}
	Outcome{Tool: v.Get("name").Text(), Response: v.Get("response"), Pos: pos}.End(&s.run.Calls[i])
}

// Outcome is what is recorded of a call's end: the tool's name, where it is named
// again; the status, "" where none is; the response that the model got; and what the
// user was shown.
type Outcome struct {
	Tool, Status      string
	Response, Display trace.Value
	Pos               trace.Position
}

// Output is what a response says: its output, else its error, else all of it.
func Output(response trace.Value) trace.Value {
	for _, name := range []string{"output", "error"} {
		if v := response.Get(name); v.Given() {
			return v
		}
	}
	return response
}

// End writes it into the call.
func (o Outcome) End(c *trace.Call) {
	output, failure := Output(o.Response), o.Response.Get("error")
	c.Status = ""
	switch o.Status {
	case "cancelled":
		c.Status = "cancelled"
	case "error":
		c.IsError = trace.FlagTrue
	case "success":
		c.IsError = trace.FlagFalse
	case "":
		if !o.Response.Given() {
			return
		}
	case "executing", "scheduled", "validating", "awaiting_approval":
		c.Status = "running"
		return
	default: // a word that is not known
		c.Status = "unknown"
	}
	c.Result, c.Error, c.ResultPos = output.Body(), trace.Body{}, o.Pos
	if failure.Given() {
		c.Error = failure.Body()
		switch o.Status {
		case "success": // the two disagree
			c.IsError = trace.FlagInvalid
		case "":
			c.IsError = trace.FlagTrue
		}
		return
	}
	switch {
	case (c.Tool == Shell || o.Tool == Shell) && c.Status == "" && c.IsError != trace.FlagTrue:
		endShell(c, output.Text(), o.Display.Text())
	case o.Status == "" && o.Response.Get("output").Given():
		c.IsError = trace.FlagFalse // a failure stands under error
	case o.Status == "":
		c.Status = "unknown"
	}
}

// endShell reads how a command ended, which its status does not tell.
func endShell(c *trace.Call, output, display string) {
	c.IsError = trace.FlagAbsent
	end := ShellEnd(output, display)
	switch {
	case end.Started:
		c.Status = "started"
	case end.Signalled:
		c.IsError = trace.FlagTrue
	case end.Known:
		c.HasExit, c.ExitCode = true, end.Code
	default:
		c.Status = "unknown"
	}
}
