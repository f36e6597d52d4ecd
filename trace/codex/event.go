package codex

import (
	"strings"

	"nightaudit/trace"
)

// event reads an event: the item of a call, the beginnings and ends of turns, the
// running totals of tokens.
func (s *session) event() bool {
	switch kind := s.load.Get("type").Text(); kind {
	case "item_completed":
		return s.completed()
	case "exec_command_end", "patch_apply_end", "mcp_tool_call_end", "dynamic_tool_call_response":
		s.legacy(kind)
	case "task_started", "turn_started":
		s.talk.begin(s.run)
	case "task_complete", "turn_complete":
		s.talk.end(s.run, "task_complete", s.load.Get("last_agent_message").Text(), s.pos)
	case "turn_aborted":
		s.talk.end(s.run, textOr(s.load.Get("reason"), "turn_aborted"), "", s.pos)
	case "token_count":
		s.batch.close()
		s.spendTotal(s.load.Get("info"))
	default:
		return false
	}
	return true
}

// completed reads the item of a call.
func (s *session) completed() bool {
	item := s.load.Get("item")
	var o trace.Object
	o.Take(item)
	kind := o.Get("type").Text()
	tool := itemTool(kind, &o)
	if tool == "" || kind == "CommandExecution" && o.Get("source").Text() == "user_shell" {
		return false // what the person ran is no call
	}
	s.join(kind, tool, o.Get("id").ID(), item, &o)
	return true
}

// itemTool names the tool of an item, "" for one of no call.
func itemTool(kind string, o *trace.Object) string {
	switch kind {
	case "CommandExecution":
		return "exec_command"
	case "FileChange":
		return "apply_patch"
	case "McpToolCall":
		return "mcp__" + o.Get("server").Text() + "__" + o.Get("tool").Text()
	case "DynamicToolCall", "CollabAgentToolCall":
		return o.Get("tool").Text()
	default:
		return ""
	}
}

// legacy reads the events that versions between 0.44 and 0.16x write instead of
// items.
func (s *session) legacy(event string) {
	o, id := &s.load, s.load.Get("call_id").ID()
	switch event {
	case "exec_command_end":
		if o.Get("source").Text() != "user_shell" {
			s.join("CommandExecution", "exec_command", id, s.payload, o)
		}
	case "patch_apply_end":
		s.join("FileChange", "apply_patch", id, s.payload, o)
	case "mcp_tool_call_end":
		call := o.Get("invocation")
		s.join("McpToolCall", "mcp__"+call.Get("server").Text()+"__"+call.Get("tool").Text(), id, call, o)
	default:
		s.join("DynamicToolCall", o.Get("tool").Text(), id, s.payload, o)
	}
}

// join ends the call that an item belongs to: the last one under its id that has
// none yet. An item without a recorded call is a call of its own: a program that
// the model wrote has made it.
func (s *session) join(kind, tool string, id trace.ID, item trace.Value, o *trace.Object) {
	s.batch.close()
	under := s.calls[id]
	for k := len(under) - 1; k >= 0; k-- {
		if i := under[k]; !s.states[i].final {
			s.settle(i, kind, tool, o)
			return
		}
	}
	if len(under) > 0 || tool == "" {
		return // repeated
	}
	_, args := item.Get("arguments").Inner()
	if !args.Present() {
		args = item.Body() // it names the command, or the files
	}
	i := s.add(trace.Call{ID: id, Tool: tool, Args: args, Delegates: delegating(tool)})
	s.batch.close()
	s.settle(i, kind, tool, o)
}

// settle reads the end of a call from its item.
func (s *session) settle(i int, kind, tool string, o *trace.Object) {
	c := &s.run.Calls[i]
	word := status(o.Get("status"))
	if word == "in_progress" {
		return
	}
	s.states[i].final = true
	c.ResultPos, c.Status, c.HasExit, c.ExitCode, c.IsError, c.OK = s.pos, "", false, 0, trace.FlagAbsent, trace.FlagAbsent
	switch word {
	case "declined":
		c.Status = denied
	case "failed":
		c.IsError = trace.FlagTrue
	case "completed":
		c.IsError = trace.FlagFalse
	}
	switch kind {
	case "CommandExecution":
		command(c, o)
	case "FileChange":
		patch(c, o)
	case "McpToolCall":
		server(c, tool, o)
	case "DynamicToolCall":
		c.OK = o.Get("success").Flag()
		result(c, o.Get("content_items"))
		failure(c, o.Get("error"))
	case "CollabAgentToolCall":
		c.Delegates = c.Delegates && c.IsError != trace.FlagTrue // else none was started
	}
	if c.Status == "" && c.IsError == trace.FlagAbsent && c.OK == trace.FlagAbsent && !c.HasExit {
		c.Status = unknown
	}
	s.ended(i)
}

func command(c *trace.Call, o *trace.Object) {
	if code, ok := o.Get("exit_code").ExitCode(); ok {
		// The command ran: what it printed is not to be read as a refusal.
		c.HasExit, c.ExitCode, c.IsError = true, code, trace.FlagAbsent
	}
	for _, name := range []string{"aggregated_output", "stdout", "formatted_output"} {
		if out := o.Get(name); out.Text() != "" {
			result(c, out)
			if c.HasExit && c.ExitCode == -1 && refused(out.Text()) {
				c.HasExit, c.ExitCode, c.Status = false, 0, denied // it never ran; older versions have no word for it
			}
			return
		}
	}
}

func patch(c *trace.Call, o *trace.Object) {
	if ok := o.Get("success").Flag(); ok == trace.FlagTrue || ok == trace.FlagFalse {
		c.OK = ok
	}
	result(c, o.Get("stdout"))
	if c.IsError == trace.FlagTrue || c.OK == trace.FlagFalse {
		failure(c, o.Get("stderr"))
	}
}

// server reads the end of an MCP call. Items name the server's tool in two fields;
// some versions name the call without the server.
func server(c *trace.Call, tool string, o *trace.Object) {
	if c.Tool != tool && !strings.HasPrefix(c.Tool, "mcp__") {
		c.Tool = tool
	}
	answer := o.Get("result")
	if ok := answer.Get("Ok"); ok.Given() {
		answer = ok
		c.IsError = trace.FlagFalse
	}
	for _, name := range []string{"isError", "is_error"} {
		if f := answer.Get(name).Flag(); f != trace.FlagAbsent && c.IsError != trace.FlagTrue {
			c.IsError = f
		}
	}
	result(c, answer.Get("content"))
	for _, name := range []string{"structuredContent", "structured_content"} {
		if v := answer.Get(name); v.Given() {
			c.Structured = v.Body()
		}
	}
	failure(c, answer.Get("Err"))
	failure(c, o.Get("error"))
}

// result keeps what an item returned, in place of the shortened text that the
// model was told.
func result(c *trace.Call, v trace.Value) {
	if v.Given() && (v.Kind() != trace.KindString || v.Text() != "") {
		c.Result = v.Body()
	}
}

// failure keeps an error, which makes the call one that failed.
func failure(c *trace.Call, v trace.Value) {
	if message := v.Get("message"); message.Given() {
		v = message
	}
	if v.Given() && (v.Kind() != trace.KindString || v.Text() != "") {
		c.Error, c.IsError = v.Body(), trace.FlagTrue
	}
}

// status writes a status as every version means it: in_progress, completed, failed
// or declined.
func status(v trace.Value) string {
	if t := v.Text(); t != "inProgress" {
		return strings.ToLower(t)
	}
	return "in_progress"
}

// delegating tells whether a tool hands work to another agent.
func delegating(tool string) bool {
	return tool == "spawn_agent" || tool == "spawnAgent"
}
