package otlp

import (
	"strings"

	"nightaudit/trace"
	"nightaudit/trace/shelltext"
)

// log reads one log record: an event by its name.
func (r *reader) log(v trace.Value, res resource) {
	s := &spanOf{Value: v, attrs: attributes(v), trace: firstGiven(v, "traceId", "trace_id").Text(), pos: r.texts.Place(v)}
	s.conv = s.text("session.id", "conversation.id", "gen_ai.conversation.id")
	s.name = s.text("event.name")
	if s.name == "" {
		s.name = firstGiven(v, "eventName", "event_name").Text()
	}
	if body := held(v.Get("body")).Text(); strings.HasPrefix(body, "claude_code.") {
		s.name = body // the attribute leaves the program's name out
	}
	if !r.event(s) {
		r.ignored++
		return
	}
	r.note(s, nil, func(run *session) {
		run.run.Records++
		if run.run.Agent == "" {
			run.run.Agent = res.agent
		}
		if model := s.text("model", "gen_ai.request.model"); model != "" {
			run.run.Model = model
		}
	})
}

// event reads an event by its name; false for one that carries no evidence.
func (r *reader) event(s *spanOf) bool {
	switch s.name {
	case "claude_code.tool_result":
		r.claudeResult(s)
	case "claude_code.tool_decision", "codex.tool_decision":
		r.decision(s)
	case "codex.tool_result":
		r.codexResult(s)
	case "gemini_cli.tool_call", "qwen-code.tool_call":
		r.geminiCall(s)
	case "claude_code.user_prompt", "codex.user_prompt", "gemini_cli.user_prompt", "qwen-code.user_prompt":
		r.prompt(s, s.text("prompt"))
	case "claude_code.api_request", "gemini_cli.api_response", "qwen-code.api_response":
		r.note(s, nil, s.spent())
	case "codex.sse_event":
		if s.text("event.kind") != "response.completed" {
			return false
		}
		r.note(s, nil, s.spent())
	case "gen_ai.client.inference.operation.details":
		r.chat(s)
	default:
		return false
	}
	return true
}

// prompt takes in what the agent was asked, unless it was taken out.
func (r *reader) prompt(s *spanOf, text string) {
	if text != "<REDACTED>" {
		r.note(s, nil, func(run *session) { run.talk.Prompt(text) })
	}
}

// logged is what an event says of a call that has ended.
func (s *spanOf) logged(id, tool string) *facts {
	start := s.first("event.timestamp").Time()
	if start.IsZero() {
		start = firstGiven(s.Value, "timeUnixNano", "time_unix_nano").Time()
	}
	if start.IsZero() {
		start = firstGiven(s.Value, "observedTimeUnixNano", "observed_time_unix_nano").Time()
	}
	return &facts{from: fromResult, id: trace.TextID(id), tool: tool, pos: s.pos, ended: true, record: s.Body(), start: start}
}

// claudeResult reads the end of a call of Claude Code.
func (r *reader) claudeResult(s *spanOf) {
	f := s.logged(s.text("tool_use_id"), s.text("tool_name"))
	f.args = r.body(s.first("tool_input"))
	if !f.args.Present() {
		f.args = r.claudeArgs(s)
	}
	f.failed = failedOf(s.flag("success"))
	f.err = s.first("error").Body()
	if f.failed == trace.FlagFalse && value(s.first("tool_input")).Get("run_in_background").Flag() == trace.FlagTrue {
		f.failed, f.status = trace.FlagAbsent, running // started is not finished
	}
	r.noteCall(s, f)
	r.note(s, nil, func(run *session) { run.gap(s.pos, claudeGap) })
}

// claudeArgs puts together the arguments of which Claude Code writes only the one
// that matters.
func (r *reader) claudeArgs(s *spanOf) trace.Body {
	v := s.attrs
	if p := value(s.first("tool_parameters")); p.Kind() == trace.KindObject {
		v = attrs{"full_command": p.Get("full_command"), "subagent_type": p.Get("subagent_type")}
	}
	for _, name := range [][2]string{{"full_command", "command"}, {"file_path", "file_path"}, {"subagent_type", "subagent_type"}} {
		if a := v[name[0]]; a.Kind() == trace.KindString {
			return r.spill.Add([]byte(`{"` + name[1] + `":` + string(a.Raw()) + `}`))
		}
	}
	return trace.Body{}
}

// decision reads what was decided on a call before it ran.
func (r *reader) decision(s *spanOf) {
	id, tool := s.text("tool_use_id", "call_id"), s.text("tool_name")
	if id == "" {
		return
	}
	f := s.logged(id, tool)
	f.from, f.ended = fromDecision, false
	switch s.text("decision") {
	case "reject", "denied", "abort":
		f.status, f.ended = denied, true
	}
	r.noteCall(s, f)
}

// codexResult reads the end of a call of Codex. That it succeeded means only that
// Codex got an answer from the command.
func (r *reader) codexResult(s *spanOf) {
	f := s.logged(s.text("call_id"), s.text("tool_name"))
	if server := s.text("mcp_server"); server != "" && f.tool != "" && !strings.HasPrefix(f.tool, "mcp__") {
		f.tool = "mcp__" + server + "__" + f.tool
	}
	f.args = r.body(s.first("arguments"))
	output := s.first("output")
	f.result = output.Body()
	f.failed = failedOf(s.flag("success"))
	end := shelltext.Codex(output.Text())
	switch {
	case end.Known:
		f.end(end)
	case codexShell[f.tool] && f.failed == trace.FlagFalse:
		f.failed, f.status = trace.FlagAbsent, unknown
	}
	if f.tool == "write_stdin" && f.job == "" {
		f.ends = string(value(s.first("arguments")).Get("session_id").ID())
	}
	r.noteCall(s, f)
}

// codexShell are the tools of Codex that run commands.
var codexShell = map[string]bool{"exec_command": true, "shell": true, "shell_command": true, "local_shell": true, "container.exec": true, "unified_exec": true, "write_stdin": true}

// geminiCall reads a call of Gemini CLI or Qwen Code, which have no ids in events.
func (r *reader) geminiCall(s *spanOf) {
	f := s.logged(s.text("call_id"), s.text("function_name"))
	f.args = r.body(s.first("function_args"))
	f.sig = signature(value(s.first("function_args")))
	f.failed = failedOf(s.flag("success"))
	f.err = s.first("error", "error.message").Body()
	meta := value(s.first("metadata"))
	if code, ok := meta.Get("exitCode").ExitCode(); ok {
		f.hasExit = hasExit{true, code}
	}
	if meta.Get("isError").Flag() == trace.FlagTrue {
		f.failed = trace.FlagTrue
	}
	switch s.text("decision") {
	case "reject":
		f.status = denied
	}
	if s.text("error_type") == "cancelled" || s.text("status") == "cancelled" {
		f.status = cancelled
	}
	r.noteCall(s, f)
}
