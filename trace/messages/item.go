package messages

import (
	"fmt"
	"strings"

	"nightaudit/trace"
)

// item reads an item of the Responses API that is no message; false for what is
// none.
func (c *conversation) item(v trace.Value) bool {
	kind := v.Get("type").Text()
	switch kind {
	case "reasoning", "compaction", "mcp_list_tools", "mcp_approval_request", "mcp_approval_response":
	case "item_reference":
		c.run.Gaps = append(c.run.Gaps, trace.Gap{Pos: c.texts.Place(v), Reason: "an item that is only referred to"})
	case "function_call":
		_, args := v.Get("arguments").Inner()
		c.called(v, v.Get("name").Text(), args)
	case "custom_tool_call":
		c.called(v, v.Get("name").Text(), v.Get("input").Body())
	case "shell_call", "local_shell_call":
		c.called(v, "shell", v.Get("action").Body())
	case "apply_patch_call":
		c.called(v, "apply_patch", v.Get("operation").Body())
	case "computer_call":
		c.called(v, "computer", v.Get("action").Body())
	case "function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output":
		c.output(v)
	case "shell_call_output":
		c.shellOutput(v)
	case "apply_patch_call_output":
		c.patchOutput(v)
	case "mcp_call":
		c.mcpCall(v)
	case "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call":
		c.hosted(v, strings.TrimSuffix(kind, "_call"))
	default:
		if !odd(kind) && !strings.HasSuffix(kind, "_call") && !strings.HasSuffix(kind, "_call_output") {
			return false
		}
		c.gap(v, "item")
	}
	return true
}

// itemID is the id by which a call and its output are joined.
func itemID(v trace.Value) trace.ID {
	if id := v.Get("call_id").ID(); id != "" {
		return id
	}
	return v.Get("id").ID()
}

// called takes in a call that has its output in an item of its own.
func (c *conversation) called(v trace.Value, name string, args trace.Body) {
	pos := c.texts.Place(v)
	if name == "" {
		c.run.BadLines = append(c.run.BadLines, trace.BadLine{Line: pos.Line, Reason: "a call without a name"})
		return
	}
	c.talk.Called()
	c.pairs.Add(trace.Call{
		ID: itemID(v), Tool: name, Pos: pos, Args: args, Record: v.Body(), Cwd: v.Path("action", "working_directory").Text(),
	})
}

// output reads the output of a tool that the program ran itself: nothing tells
// whether it succeeded.
func (c *conversation) output(v trace.Value) {
	call, ok := c.pairs.Result(itemID(v), c.texts.Place(v), oneText(v.Get("output")), v)
	if !ok {
		return
	}
	if call.IsError = firstFlag(v, "is_error", "isError"); call.IsError == trace.FlagAbsent {
		call.Status = unknown
	}
}

// shellOutput reads what each command of a shell call came to. The call has failed
// where one of them has.
func (c *conversation) shellOutput(v trace.Value) {
	call, ok := c.pairs.Result(itemID(v), c.texts.Place(v), v.Get("output"), v)
	if !ok {
		return
	}
	for one := range v.Get("output").Elements() {
		code, ended := one.Path("outcome", "exit_code").ExitCode()
		switch {
		case one.Path("outcome", "type").Text() == "timeout":
			call.IsError, call.HasExit = trace.FlagTrue, false
			return
		case !ended:
			call.Status, call.HasExit = unknown, false
			return
		case code != 0:
			call.HasExit, call.ExitCode = true, code
			return
		}
		call.HasExit = true
	}
	if !call.HasExit {
		call.Status = unknown
	}
}

func (c *conversation) patchOutput(v trace.Value) {
	call, ok := c.pairs.Result(itemID(v), c.texts.Place(v), v.Get("output"), v)
	if !ok {
		return
	}
	switch v.Get("status").Text() {
	case "completed":
		call.OK = trace.FlagTrue
	case "failed":
		call.OK = trace.FlagFalse
	default:
		call.Status = unknown
	}
}

// mcpCall reads the call of an MCP tool that OpenAI made, with its end.
func (c *conversation) mcpCall(v trace.Value) {
	name := v.Get("name").Text()
	if server := v.Get("server_label").Text(); server != "" && name != "" {
		name = fmt.Sprintf("mcp__%s__%s", server, name)
	}
	_, args := v.Get("arguments").Inner()
	c.called(v, name, args)
	if name == "" {
		return
	}
	call := &c.run.Calls[len(c.run.Calls)-1]
	failure, output := v.Get("error"), v.Get("output")
	if !failure.Given() && !output.Given() && !ended(v) {
		call.Status = running
		return
	}
	call.Result, call.ResultPos = output.Body(), call.Pos
	call.IsError = trace.FlagFalse
	if failure.Given() {
		call.Error = failure.Body()
	}
	if failure.Given() || failed(v) {
		call.IsError = trace.FlagTrue
	}
}

// hosted reads the call of a tool that OpenAI runs itself.
func (c *conversation) hosted(v trace.Value, name string) {
	args := v.Get("action")
	for _, other := range []string{"queries", "code"} {
		if !args.Given() {
			args = v.Get(other)
		}
	}
	c.called(v, name, args.Body())
	call := &c.run.Calls[len(c.run.Calls)-1]
	if !ended(v) {
		call.Status = running
		return
	}
	call.ResultPos = call.Pos
	for _, member := range []string{"results", "outputs", "result"} {
		if r := v.Get(member); r.Given() {
			call.Result = r.Body()
		}
	}
	switch {
	case failed(v):
		call.OK = trace.FlagFalse
	case name == "code_interpreter":
		call.Status = unknown // it ran; what came of the code, only its output says
	default:
		call.OK = trace.FlagTrue
	}
}

func ended(v trace.Value) bool { return failed(v) || v.Get("status").Text() == "completed" }

func failed(v trace.Value) bool {
	s := v.Get("status").Text()
	return s == "failed" || s == "incomplete"
}
