package otlp

import (
	"nightaudit/trace"
	"nightaudit/trace/shelltext"
)

// geminiSpan reads a tool_call span of Gemini CLI: the request stands in its input,
// what came of it in its output, as JSON within text.
func (r *reader) geminiSpan(s *spanOf) {
	request := value(s.first("gen_ai.input.messages"))
	f := s.facts(fromSpan, s.text("gen_ai.tool.call_id", "gen_ai.tool.call.id"), s.text("gen_ai.tool.name"))
	f.args = r.spill.Add(request.Get("args").Raw())
	r.geminiEnd(f, value(s.first("gen_ai.output.messages")))
	r.noteCall(s, f)
}

// geminiBatch reads a schedule_tool_calls span: calls that were refused before they
// ran have no span of their own.
func (r *reader) geminiBatch(s *spanOf) {
	for done := range value(s.first("gen_ai.output.messages")).Elements() {
		request := done.Get("request")
		f := s.facts(fromResult, request.Get("callId").Text(), request.Get("name").Text())
		f.span = "" // the span is that of several
		f.args = r.spill.Add(request.Get("args").Raw())
		r.geminiEnd(f, done)
		r.noteCall(s, f)
	}
}

// geminiEnd reads what came of a call. A status of success says of a command only
// that it was run.
func (r *reader) geminiEnd(f *facts, done trace.Value) {
	var response trace.Value
	for part := range done.Path("response", "responseParts").Elements() {
		if response = part.Path("functionResponse", "response"); response.Given() {
			break
		}
	}
	f.ended = true
	switch done.Get("status").Text() {
	case "success":
		f.failed = trace.FlagFalse
	case "error":
		f.failed = trace.FlagTrue
	case "cancelled":
		f.status = cancelled
	default: // left out, or no text that can be read
		f.status = unknown
		return
	}
	if e := response.Get("error"); e.Given() {
		f.err = r.spill.Add(e.Raw())
		return
	}
	output := response.Get("output")
	f.result = r.spill.Add(output.Raw())
	if f.tool == "run_shell_command" && f.failed == trace.FlagFalse {
		f.end(shelltext.Gemini(output.Text()))
	}
}

// end takes over what a text says of the end of a command; where it says nothing,
// nobody knows.
func (f *facts) end(end shelltext.End) {
	f.failed = trace.FlagAbsent
	switch {
	case !end.Known:
		f.status = unknown
	case end.Running:
		f.status, f.job = running, end.Process
	case end.Denied:
		f.status = denied
	case end.HasCode:
		f.hasExit = hasExit{true, end.Code}
	default:
		f.failed = trace.FlagTrue
	}
}
