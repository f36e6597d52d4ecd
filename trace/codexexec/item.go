package codexexec

import (
	"strings"

	"nightaudit/trace"
)

// The words for Call.Status that this reader sets.
const (
	denied  = "denied"
	running = "running"
	unknown = "unknown"
)

// takeItem reads an item: what was said, or a call. It tells whether its kind
// carries evidence.
func (t *thread) takeItem(completed bool, record trace.Body) bool {
	item := t.rec.Get("item")
	t.item.Take(item)
	kind := t.item.Get("type").Text()
	if kind == "agent_message" {
		if text := strings.TrimSpace(t.item.Get("text").Text()); completed && text != "" {
			t.say(text)
		}
		return true
	}
	tool := t.tool(kind)
	if tool == "" {
		return false
	}
	i, repeated := t.call(tool, item, record)
	if completed && !repeated {
		t.end(i, kind, item.Body())
	}
	return true
}

func (t *thread) say(text string) {
	if t.next || len(t.said) == 0 {
		t.said, t.at, t.next = nil, t.pos, false
	}
	t.said = append(t.said, text)
}

// tool names the tool of an item, "" for one that is no call.
func (t *thread) tool(kind string) string {
	switch kind {
	case "command_execution", "file_change", "web_search":
		return kind
	case "mcp_tool_call":
		return "mcp__" + t.item.Get("server").Text() + "__" + t.item.Get("tool").Text()
	case "collab_tool_call":
		return t.item.Get("tool").Text()
	default:
		return ""
	}
}

// call returns the call of an item, which the first record of the item makes. An
// id that comes back for another tool, or behind its end, is another call's, unless
// the record repeats that end.
func (t *thread) call(tool string, item trace.Value, record trace.Body) (i int, repeated bool) {
	id := t.item.Get("id").ID()
	args := t.item.Get("arguments").Body()
	if !args.Present() {
		args = item.Body() // it names the command, the files, what is asked of whom
	}
	if i, ok := t.calls[id]; ok && id != "" && t.run.Calls[i].Tool == tool {
		end, now := t.ends[i], item.Body()
		if !end.Present() {
			return i, false
		}
		if end.Length == now.Length && end.Sum == now.Sum {
			return i, true
		}
	}
	i = len(t.run.Calls)
	t.run.Calls = append(t.run.Calls, trace.Call{ID: id, Tool: tool, Pos: t.pos, Record: record, Args: args, Delegates: tool == "spawn_agent"})
	t.said, t.next = nil, false // what was said before a call is no summary
	if id != "" {
		t.calls[id] = i
	}
	return i, false
}

// end reads how a call has ended.
func (t *thread) end(i int, kind string, item trace.Body) {
	c := &t.run.Calls[i]
	c.ResultPos, t.ends[i] = t.pos, item
	switch t.item.Get("status").Text() {
	case "completed":
		c.IsError = trace.FlagFalse
	case "failed":
		c.IsError = trace.FlagTrue
	case "declined":
		c.Status = denied
	case "in_progress":
		c.Status = running
	case "":
		if kind != "web_search" { // which has none
			c.Status = unknown
		}
	default:
		c.Status = unknown
	}
	switch kind {
	case "command_execution":
		t.command(c)
	case "mcp_tool_call":
		t.server(c)
	case "collab_tool_call":
		c.Result = t.item.Get("agents_states").Body()
		c.Delegates = c.Delegates && c.IsError != trace.FlagTrue // else none was started
	}
}

func (t *thread) command(c *trace.Call) {
	c.Result = t.item.Get("aggregated_output").Body()
	if code, ok := t.item.Get("exit_code").ExitCode(); ok {
		// The command ran: what it printed is not to be read as a refusal.
		c.HasExit, c.ExitCode, c.IsError = true, code, trace.FlagAbsent
		if c.Status == unknown {
			c.Status = ""
		}
	}
}

func (t *thread) server(c *trace.Call) {
	result := t.item.Get("result")
	c.Result = result.Get("content").Body()
	if s := result.Get("structured_content"); s.Given() {
		c.Structured = s.Body()
	}
	if e := t.item.Get("error"); e.Given() {
		if message := e.Get("message"); message.Given() {
			e = message
		}
		c.Error, c.IsError = e.Body(), trace.FlagTrue
	}
}
