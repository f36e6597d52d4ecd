package otlp

import (
	"strings"

	"nightaudit/trace"
)

// The words for Call.Status that this reader sets.
const (
	unknown   = "unknown"
	denied    = "denied"
	cancelled = "cancelled"
	running   = "running"
)

// spanOf is one span with what its kind is told by.
type spanOf struct {
	trace.Value
	attrs
	name, id, trace, conv string
	op                    string
	pos                   trace.Position
}

// status reads a span's status as a flag of failure; absent where it is not set.
func (s *spanOf) status() trace.Flag {
	code := s.Path("status", "code")
	n, _ := code.Int()
	switch {
	case n == 2 || code.Text() == "STATUS_CODE_ERROR" || code.Text() == "2":
		return trace.FlagTrue
	case n == 1 || code.Text() == "STATUS_CODE_OK" || code.Text() == "1":
		return trace.FlagFalse
	}
	return trace.FlagAbsent
}

// ended tells whether the span has an end.
func (s *spanOf) ended() bool {
	return !firstGiven(s.Value, "endTimeUnixNano", "end_time_unix_nano").Time().IsZero()
}

// span reads one span.
func (r *reader) span(v trace.Value, res resource) {
	s := &spanOf{
		Value: v, attrs: attributes(v), name: v.Get("name").Text(), pos: r.texts.Place(v),
		id: firstGiven(v, "spanId", "span_id").Text(), trace: firstGiven(v, "traceId", "trace_id").Text(),
	}
	if _, twice := r.parents[s.id]; twice && s.id != "" {
		r.ignored++ // exported once more
		return
	}
	r.parents[s.id] = firstGiven(v, "parentSpanId", "parent_span_id").Text()
	s.conv = s.text("gen_ai.conversation.id", "session.id", "conversation.id")
	if s.conv != "" && r.convs[s.trace] == "" {
		r.convs[s.trace] = s.conv
	}
	s.op = s.text("gen_ai.operation.name")
	if !r.about(s) {
		r.ignored++
		return
	}
	r.note(s, nil, func(run *session) {
		run.run.Records++
		if run.run.Agent == "" {
			run.run.Agent = res.agent
		}
	})
	if model := s.text("gen_ai.response.model", "gen_ai.request.model", "llm.model_name"); model != "" {
		r.note(s, nil, func(run *session) { run.run.Model = model })
	}
}

// about reads a span by its kind; false for one that carries no evidence.
func (r *reader) about(s *spanOf) bool {
	kind := s.text("span.type") // Claude Code's
	switch {
	case strings.HasPrefix(s.name, "claude_code.") && kind != "":
		return r.claudeSpan(s, kind)
	case s.op == "tool_call":
		r.geminiSpan(s)
	case s.op == "schedule_tool_calls":
		r.geminiBatch(s)
	case s.op == "execute_tool" || s.text("mcp.method.name") == "tools/call" || isTool(s):
		r.toolSpan(s)
	case s.text("openinference.span.kind") == "TOOL":
		r.inferenceTool(s)
	case s.text("openinference.span.kind") == "LLM" || r.flattened(s):
		r.flat(s)
	case isChat[s.op]:
		r.chat(s)
	default:
		return false
	}
	return true
}

// isTool tells the tool spans of frameworks that do not name the operation: older
// GenAI spans, the AI SDK, Traceloop, Logfire.
func isTool(s *spanOf) bool {
	return strings.HasPrefix(s.name, "execute_tool ") || s.name == "ai.toolCall" || s.text("traceloop.span.kind") == "tool" ||
		strings.HasPrefix(s.name, "running tool") && s.text("gen_ai.tool.name") != ""
}

// The attributes that hold the parts of a call, by convention.
var (
	toolNames = []string{"gen_ai.tool.name", "mcp.tool.name", "ai.toolCall.name", "traceloop.entity.name"}
	toolIDs   = []string{"gen_ai.tool.call.id", "ai.toolCall.id"}
	toolArgs  = []string{"gen_ai.tool.call.arguments", "gen_ai.tool.arguments", "gen_ai.tool.args", "ai.toolCall.args", "traceloop.entity.input", "tool_arguments"}
	toolEnds  = []string{"gen_ai.tool.call.result", "gen_ai.tool.result", "ai.toolCall.result", "traceloop.entity.output", "tool_response"}
)

// note adds an event of a span.
func (r *reader) note(s *spanOf, call *facts, do func(*session)) {
	e := event{conv: s.conv, trace: s.trace, call: call, do: do}
	if call != nil {
		e.span = call.span
	}
	r.events = append(r.events, e)
}

// noteCall adds what a span says of a call.
func (r *reader) noteCall(s *spanOf, f *facts) {
	r.note(s, f, func(run *session) { run.call(f) })
}

func (s *spanOf) facts(from source, id, tool string) *facts {
	return &facts{
		from: from, id: trace.TextID(id), tool: tool, pos: s.pos, ended: s.ended(), record: s.Body(), span: s.id,
		start: firstGiven(s.Value, "startTimeUnixNano", "start_time_unix_nano").Time(),
	}
}

// toolSpan reads a span of the GenAI or MCP conventions.
func (r *reader) toolSpan(s *spanOf) {
	tool := s.text(toolNames...)
	for _, prefix := range []string{"execute_tool ", "tools/call "} {
		if rest, ok := strings.CutPrefix(s.name, prefix); ok && tool == "" {
			tool = rest
		}
	}
	f := s.facts(fromSpan, s.text(toolIDs...), tool)
	f.mcp = s.text("mcp.method.name") != ""
	f.args = r.body(s.first(toolArgs...))
	f.sig = signature(value(s.first(toolArgs...)))
	f.result = r.body(s.first(toolEnds...))
	if f.failed = s.status(); f.failed == trace.FlagAbsent {
		f.failed = trace.FlagFalse
	}
	if s.text("error.type") != "" {
		f.failed = trace.FlagTrue
	}
	f.err = s.errorText()
	r.noteCall(s, f)
}

// errorText is the place of what a span says of its failure.
func (s *spanOf) errorText() trace.Body {
	for e := range s.Get("events").Elements() {
		if e.Get("name").Text() != "exception" {
			continue
		}
		if m := attributes(e)["exception.message"]; m.Given() {
			return m.Body()
		}
	}
	if m := s.Path("status", "message"); m.Text() != "" {
		return m.Body()
	}
	return s.first("error.message", "error.type").Body()
}

// inferenceTool reads a TOOL span of OpenInference, which sets OK where it saw no
// failure.
func (r *reader) inferenceTool(s *spanOf) {
	tool := s.text("tool.name")
	if tool == "" {
		tool = s.name
	}
	f := s.facts(fromSpan, s.text("tool_call.id", "tool.id"), tool)
	f.args = r.body(s.first("tool.parameters", "input.value"))
	if s.first("input.value").Given() {
		f.args = r.body(s.first("input.value"))
	}
	f.result = r.body(s.first("output.value"))
	f.failed = s.status()
	f.err = s.errorText()
	for e := range s.Get("events").Elements() {
		if e.Get("name").Text() == "exception" {
			f.failed = trace.FlagTrue
		}
	}
	r.noteCall(s, f)
}

// claudeSpan reads a span of Claude Code. The tool's span says what was called, the
// execution's below it what came of it.
func (r *reader) claudeSpan(s *spanOf, kind string) bool {
	id := s.text("tool_use_id", "gen_ai.tool.call.id")
	switch kind {
	case "tool":
		f := s.facts(fromSpan, id, s.text("tool_name"))
		f.args = r.claudeArgs(s)
		for e := range s.Get("events").Elements() {
			if out := attributes(e).first("output", "content", "diff"); e.Get("name").Text() == "tool.output" {
				f.result = out.Body()
			}
		}
		r.noteCall(s, f)
		r.note(s, nil, func(run *session) { run.gap(s.pos, claudeGap) })
	case "tool.execution":
		f := s.facts(fromExecution, id, "")
		f.failed = failedOf(s.flag("success"))
		if s.status() == trace.FlagTrue {
			f.failed = trace.FlagTrue
		}
		f.err = s.first("error").Body()
		r.noteCall(s, f)
	case "tool.blocked_on_user":
		if d := s.text("decision"); d == "reject" || d == "deny" {
			parent := r.parents[s.id]
			r.note(s, nil, func(run *session) { run.denied[parent] = true })
		}
	case "llm_request":
		r.note(s, nil, s.spent())
	case "interaction":
		r.prompt(s, s.text("user_prompt"))
	default:
		return false
	}
	return true
}

// claudeGap is what Claude Code's telemetry never holds.
const claudeGap = "Claude Code's telemetry leaves out calls that failed validation; its session file holds them"

// failedOf turns a flag of success into one of failure.
func failedOf(success trace.Flag) trace.Flag {
	switch success {
	case trace.FlagTrue:
		return trace.FlagFalse
	case trace.FlagFalse:
		return trace.FlagTrue
	default:
		return success
	}
}
