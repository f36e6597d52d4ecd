package openhands

import (
	"strings"

	"nightaudit/trace"
)

// tools names the tools of actions whose function is not recorded.
var tools = map[string]string{"run": "execute_bash", "run_ipython": "execute_ipython_cell"}

// action reads an action of version 0, and tells whether it carries evidence. What
// only the program or the user does is no call.
func (h *history) action(v trace.Value, pos trace.Position) bool {
	args := v.Get("args")
	kind := v.Get("action").Text()
	agent := v.Get("source").Text() == "agent"
	switch {
	case kind == "message":
		h.say(agent, first(args.Get("content"), v.Get("message")), pos)
		return true
	case !agent || kind == "system" || kind == "null" || strings.HasPrefix(kind, "change_agent_state") || strings.HasPrefix(kind, "condensation") || kind == "recall":
		return false
	case kind == "finish":
		h.spend(v)
		h.finished(pos, args.Get("final_thought"), args.Get("thought"), v.Get("message"))
		return true
	}
	c := trace.Call{
		ID: v.Get("id").ID(), Tool: kind, Pos: pos, Args: args.Body(), Record: v.Body(), Start: v.Get("timestamp").Time(),
		Batch: v.Path("tool_call_metadata", "model_response", "id").Text(),
	}
	if c.ID == "" {
		c.ID = v.Path("tool_call_metadata", "tool_call_id").ID()
	}
	if name := tools[kind]; name != "" {
		c.Tool = name
	}
	h.asked(&c, v.Get("tool_call_metadata"))
	if kind == "call_tool_mcp" {
		c.Args = first(args.Get("arguments"), args).Body()
		if name := args.Get("name").Text(); name != "" {
			c.Tool = name
		}
	}
	if kind == "run" {
		c.Cwd = h.cwd
		command := strings.TrimSpace(args.Get("command").Text())
		h.polls = args.Get("is_input").Flag() == trace.FlagTrue || command == ""
	}
	h.spend(v)
	h.add(c)
	return true
}

// asked takes the tool's name and its arguments from the model's answer. The action
// is what the program made of them, and names the reading and the editing of one
// tool alike.
func (h *history) asked(c *trace.Call, metadata trace.Value) {
	for choice := range metadata.Path("model_response", "choices").Elements() {
		for call := range choice.Path("message", "tool_calls").Elements() {
			if id := call.Get("id").ID(); id == "" || id != metadata.Get("tool_call_id").ID() {
				continue
			}
			args, body := call.Path("function", "arguments").Inner()
			if args.Kind() == trace.KindObject && call.Path("function", "name").Text() != "" {
				c.Tool, c.Args = call.Path("function", "name").Text(), body
			}
		}
	}
}

// spend counts an answer of the model, which stands beside each action and
// observation that came of it.
func (h *history) spend(v trace.Value) {
	answer := v.Path("tool_call_metadata", "model_response")
	id := answer.Get("id").Text()
	if id == "" || h.answers[id] {
		return
	}
	h.answers[id] = true
	u := answer.Get("usage")
	cached := u.Get("prompt_tokens_details").Tokens("cached_tokens")
	h.run.Spend(trace.Usage{
		Model: answer.Get("model").Text(), Prompt: max(0, u.Tokens("prompt_tokens")-cached), Cached: cached,
		Completion: u.Tokens("completion_tokens"), Total: u.Tokens("total_tokens"),
	})
}

// observation reads what came of an action of version 0, and tells whether it
// carries evidence.
func (h *history) observation(v trace.Value, pos trace.Position) bool {
	kind := v.Get("observation").Text()
	extras := v.Get("extras")
	switch kind {
	case "agent_state_changed", "null", "recall", "condense", "system":
		return false
	}
	id := v.Get("cause").ID()
	if id == "" {
		id = v.Path("tool_call_metadata", "tool_call_id").ID()
	}
	if kind == "error" && id == "" {
		return false // of the model or of the program: no call came of it
	}
	c, ok := h.pairs.Result(id, pos, v.Get("content"), v)
	if !ok {
		return true
	}
	if c.ResultOnly {
		c.Tool = tools[kind]
		if c.Tool == "" {
			c.Tool = kind
		}
	}
	switch kind {
	case "run":
		h.ran(c, first(extras.Path("metadata", "exit_code"), extras.Get("exit_code"), v.Get("exit_code")), v.Get("success").Flag())
		if dir := extras.Path("metadata", "working_dir").Text(); dir != "" {
			h.cwd = dir
		}
	case "error":
		c.IsError = trace.FlagTrue
	case "user_rejected":
		c.Status = "denied"
	case "read", "edit", "write":
		c.IsError = trace.FlagFalse
		if strings.HasPrefix(strings.TrimSpace(v.Get("content").Text()), "ERROR:") {
			c.IsError = trace.FlagTrue
		}
	case "think":
		c.IsError = trace.FlagFalse
	case "mcp":
		h.mcp(c, v.Get("content"))
	default:
		c.OK = v.Get("success").Flag()
		if e := first(extras.Get("error"), extras.Get("error_id")); e.Flag() == trace.FlagTrue || e.Text() != "" {
			c.IsError = trace.FlagTrue
		} else if c.OK == trace.FlagAbsent {
			c.Status = "unknown"
		}
	}
	return true
}

// mcp reads the result of an MCP tool, which stands as text in the content.
func (h *history) mcp(c *trace.Call, content trace.Value) {
	result, body := content.Inner()
	if result.Kind() != trace.KindObject {
		c.Status = "unknown"
		return
	}
	c.Result = body
	c.IsError = result.Get("isError").Flag()
	if c.IsError == trace.FlagAbsent {
		c.IsError = trace.FlagFalse // as MCP has it
	}
}

// ran ends a command, and the one that it typed into or waited for.
func (h *history) ran(c *trace.Call, exit trace.Value, success trace.Flag) {
	c.OK = success
	code, ok := exit.ExitCode()
	switch {
	case ok && code == -1:
		c.Status = "running"
		if !h.polls {
			h.running = h.index(c)
		}
	case ok:
		c.HasExit, c.ExitCode = true, code
		if late := h.running; late >= 0 && h.polls {
			old := &h.run.Calls[late]
			old.Status, old.OK = "", trace.FlagAbsent
			old.HasExit, old.ExitCode, old.ResultPos = true, code, c.ResultPos
		}
		h.running = -1
	case success != trace.FlagTrue && success != trace.FlagFalse:
		c.Status = "unknown"
	}
	h.polls = false
}

// index finds the place of a call by its id, -1 where that does not tell.
func (h *history) index(c *trace.Call) int {
	for _, i := range h.pairs.Known(c.ID) {
		if c.ID != "" && &h.run.Calls[i] == c {
			return i
		}
	}
	return -1
}
