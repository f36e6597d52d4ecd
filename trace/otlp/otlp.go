// Package otlp reads OTLP/JSON as OpenTelemetry's exporters write it: requests with
// resourceSpans or resourceLogs, one a line or pretty-printed one behind the other.
// Of spans it knows the GenAI conventions (execute_tool, chat, MCP client spans),
// OpenInference, Claude Code's and Gemini CLI's; of log events those of Claude
// Code, Codex and Gemini CLI. Each conversation is a Run, each trace where no
// conversation is named.
//
// What is trusted, and why:
//
//   - A tool span with error.type or the status ERROR has failed; one with neither
//     has not, as the conventions say. MCP spans likewise.
//   - A call that is known from the messages of chat spans only has no flag:
//     unknown. Those messages repeat the whole conversation, so calls are told
//     apart by their ids.
//   - Claude Code: success of tool.execution spans and tool_result events; the
//     status of its tool spans is always OK and says nothing. A rejected decision
//     is a refusal. Calls that fail validation are not recorded at all, which is a
//     gap in each of its runs. A command in the background has succeeded in its
//     spans once it was started; only the arguments of the events tell it apart.
//   - Codex: success="false" is a failure, but "true" stands beside any exit code:
//     the text of the output tells.
//   - Gemini CLI: the status of its spans is always OK; what came of a call stands
//     in gen_ai.output.messages, an exit code in the text or in an event's
//     metadata.
//
// Telemetry is lossy: where an agent's own session file exists, it says more. What
// stands within the text of an attribute is spilled (trace.Spill). No end of a run
// is recorded: NoEndRecords.
package otlp

import (
	"context"
	"iter"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "otlp"

// Read reads the conversations of a file in the order of their first records.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		r := &reader{
			texts: trace.NewTexts(ctx, src), parents: map[string]string{}, convs: map[string]string{},
			told: map[told]bool{},
		}
		r.src = r.spill.Source(src)
		for r.texts.Next() {
			r.take(r.texts.Record().Value)
		}
		runs := r.runs()
		for _, run := range runs {
			if err := r.texts.Finish(run); err != nil {
				yield(nil, err)
				return
			}
		}
		for _, run := range runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

// reader is what is remembered of a file while it is read. Whose a record is, only
// the whole file tells: spans are exported when they end, children before their
// parents. So each is noted as an event that is played once all are known.
type reader struct {
	src    trace.Source
	spill  trace.Spill
	texts  *trace.Texts
	events []event

	parents map[string]string // of every span
	convs   map[string]string // the conversation that a span of a trace names
	told    map[told]bool     // results that chat spans repeat
	ignored int
}

// told is a result that stands in the messages of a conversation.
type told struct {
	where string
	id    trace.ID
}

// event is one thing that a record says.
type event struct {
	conv, trace string
	span        string // of a call: its own span
	call        *facts // nil for what is no call
	do          func(s *session)
}

// take reads one export request, or a list of them.
func (r *reader) take(v trace.Value) {
	if v.Kind() == trace.KindArray {
		for e := range v.Elements() {
			r.take(e)
		}
		return
	}
	spans := firstGiven(v, "resourceSpans", "resource_spans", "batches")
	logs := firstGiven(v, "resourceLogs", "resource_logs")
	if !spans.Given() && !logs.Given() {
		r.ignored++
		return
	}
	for group := range spans.Elements() {
		res := r.resource(group)
		for scope := range firstGiven(group, "scopeSpans", "scope_spans", "instrumentationLibrarySpans").Elements() {
			for span := range scope.Get("spans").Elements() {
				r.span(span, res)
			}
		}
	}
	for group := range logs.Elements() {
		res := r.resource(group)
		for scope := range firstGiven(group, "scopeLogs", "scope_logs").Elements() {
			for rec := range firstGiven(scope, "logRecords", "log_records").Elements() {
				r.log(rec, res)
			}
		}
	}
}

// resource is who wrote a group of records.
type resource struct{ agent string }

func (r *reader) resource(group trace.Value) resource {
	a := attributes(group.Get("resource"))
	agent := a.text("service.name")
	if v := a.text("service.version"); v != "" && agent != "" {
		agent += " " + v
	}
	return resource{agent}
}

// runs plays the events, each for the run that it belongs to.
func (r *reader) runs() []*trace.Run {
	r.merge()
	sessions := map[string]*session{}
	var order []*session
	for _, e := range r.events {
		if e.conv == "" {
			e.conv = r.convs[e.trace]
		}
		key := "conversation " + e.conv
		if e.conv == "" {
			key = "trace " + e.trace
		}
		s := sessions[key]
		if s == nil {
			s = newSession(trace.NewRun(r.src, Format), e.conv)
			sessions[key] = s
			order = append(order, s)
		}
		e.do(s)
	}
	if len(order) == 0 {
		order = append(order, newSession(trace.NewRun(r.src, Format), ""))
	}
	runs := make([]*trace.Run, 0, len(order))
	for _, s := range order {
		s.finish(r.parents)
		runs = append(runs, s.run)
	}
	runs[0].Ignored += r.ignored
	return runs
}

// merge drops a span that only shows another call from the inside: an MCP request
// below the span of the tool that makes it, the server's span below the client's.
// What it says of a failure counts for the outer one.
func (r *reader) merge() {
	at := map[string]int{}
	for i, e := range r.events {
		if e.span != "" && e.call != nil {
			at[e.span] = i
		}
	}
	dropped := map[int]bool{}
	for i, e := range r.events {
		if e.span == "" || e.call == nil {
			continue
		}
		outer, ok := at[r.parents[e.span]]
		if !ok || outer == i || r.events[outer].call.tool != e.call.tool {
			continue
		}
		if !e.call.mcp && !r.events[outer].call.mcp {
			continue
		}
		r.events[outer].call.take(e.call)
		dropped[i] = true
	}
	kept := r.events[:0]
	for i, e := range r.events {
		if !dropped[i] {
			kept = append(kept, e)
		}
	}
	r.events = kept
}

func firstGiven(v trace.Value, names ...string) trace.Value {
	for _, n := range names {
		if m := v.Get(n); m.Given() {
			return m
		}
	}
	return trace.Value{}
}
