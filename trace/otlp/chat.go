package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"nightaudit/trace"
)

// isChat are the operations whose spans hold messages.
var isChat = map[string]bool{"chat": true, "generate_content": true, "text_completion": true, "llm_call": true, "invoke_agent": true}

// message is one message of a chat span, whatever the convention.
type message struct {
	role  string
	texts []string
	calls []*facts
	told  []toldResult
}

type toldResult struct {
	id   trace.ID
	body trace.Body
}

// chat reads a span with the messages of the GenAI conventions. Its input is the
// whole conversation so far: of it only results are taken, once each, and the first
// prompt.
func (r *reader) chat(s *spanOf) {
	var in, out []message
	for m := range value(s.first("gen_ai.input.messages")).Elements() {
		in = append(in, r.parts(s, m))
	}
	answer := value(s.first("gen_ai.output.messages"))
	for m := range answer.Elements() {
		out = append(out, r.parts(s, m))
	}
	if answer.Given() && answer.Kind() != trace.KindArray {
		r.note(s, nil, func(run *session) {
			run.gap(s.pos, "an answer of the model that cannot be read: what it called is not known")
		})
	}
	r.converse(s, in, out)
	if s.op != "invoke_agent" { // its usage is the sum of the others'
		r.note(s, nil, s.spent())
	}
}

// parts reads one message: a role with parts, in the words of the conventions or
// those of Gemini.
func (r *reader) parts(s *spanOf, m trace.Value) message {
	out := message{role: m.Get("role").Text()}
	if c := m.Get("content"); c.Kind() == trace.KindString {
		out.texts = append(out.texts, c.Text())
	}
	for part := range m.Get("parts").Elements() {
		if fc := part.Get("functionCall"); fc.Given() {
			out.calls = append(out.calls, r.asked(s, fc.Get("id").Text(), fc.Get("name").Text(), fc.Get("args"), len(out.calls)))
		}
		if fr := part.Get("functionResponse"); fr.Given() {
			out.told = append(out.told, toldResult{fr.Get("id").ID(), r.once(s, fr.Get("id").ID(), fr.Get("response"))})
		}
		switch part.Get("type").Text() {
		case "text":
			out.texts = append(out.texts, firstGiven(part, "content", "text").Text())
		case "tool_call":
			out.calls = append(out.calls, r.asked(s, part.Get("id").Text(), part.Get("name").Text(), part.Get("arguments"), len(out.calls)))
		case "tool_call_response":
			out.told = append(out.told, toldResult{part.Get("id").ID(), r.once(s, part.Get("id").ID(), firstGiven(part, "response", "result"))})
		case "":
			out.texts = append(out.texts, part.Get("text").Text())
		}
	}
	return out
}

// asked is a call that a message asks for.
func (r *reader) asked(s *spanOf, id, tool string, args trace.Value, n int) *facts {
	inner, _ := args.Inner()
	pos := s.pos
	pos.Offset += int64(n) // calls of one span are told apart by their places
	return &facts{
		from: fromChat, id: trace.TextID(id), tool: tool, pos: pos, args: r.spill.Add(inner.Raw()), record: s.Body(),
		sig: signature(inner), batch: fmt.Sprintf("messages at %d", s.pos.Offset),
	}
}

// signature is a value in compact form, to compare arguments by.
func signature(v trace.Value) string {
	var b bytes.Buffer
	if json.Compact(&b, v.Raw()) != nil {
		return ""
	}
	return b.String()
}

// once spills a result the first time that it stands in a conversation.
func (r *reader) once(s *spanOf, id trace.ID, result trace.Value) trace.Body {
	where := s.conv
	if where == "" {
		where = s.trace
	}
	key := told{where, id}
	if id == "" || r.told[key] {
		return trace.Body{}
	}
	r.told[key] = true
	return r.spill.Add(result.Raw())
}

// converse plays the messages of a span.
func (r *reader) converse(s *spanOf, in, out []message) {
	pos := s.pos
	for _, m := range in {
		for _, t := range m.told {
			if t.body.Present() {
				r.note(s, nil, func(run *session) { run.result(t.id, pos, t.body) })
			}
		}
		if m.role == "user" && len(m.told) == 0 {
			text := strings.Join(m.texts, "\n")
			r.note(s, nil, func(run *session) { run.asked(text) })
		}
	}
	for _, m := range out {
		text := strings.Join(m.texts, "\n")
		for _, f := range m.calls {
			if len(m.calls) == 1 {
				f.batch = ""
			}
			if f.tool != "" {
				r.note(s, f, func(run *session) { run.call(f) })
			}
		}
		if len(m.calls) == 0 && m.role != "user" {
			r.note(s, nil, func(run *session) { run.said(text, pos) })
		}
	}
}

// asked takes the first prompt for the task; later spans repeat it.
func (s *session) asked(text string) {
	if !s.prompted && !strings.HasPrefix(text, "<session_context>") && strings.TrimSpace(text) != "" {
		s.prompted = true
		s.talk.Prompt(text)
	}
}

// said takes what a model answered. Each answer stands for itself: the last one that
// nothing was called after is the summary.
func (s *session) said(text string, pos trace.Position) {
	if strings.TrimSpace(text) != "" {
		s.talk.Called()
		s.talk.Said(text, pos)
	}
}

// spent adds what a request cost.
func (a attrs) spent() func(*session) {
	u := trace.Usage{
		Model:      a.text("gen_ai.response.model", "gen_ai.request.model", "model", "llm.model_name"),
		Prompt:     a.count("gen_ai.usage.input_tokens", "input_tokens", "input_token_count", "llm.token_count.prompt"),
		Completion: a.count("gen_ai.usage.output_tokens", "output_tokens", "output_token_count", "llm.token_count.completion"),
	}
	if written := a.count("cache_creation_tokens"); written > 0 {
		u.Prompt += written
	}
	if a["cache_read_tokens"].Given() { // beside the others
		u.Cached = a.count("cache_read_tokens")
	} else { // part of them
		u.Cached = min(u.Prompt, a.count("gen_ai.usage.cache_read.input_tokens", "cached_token_count", "cached_content_token_count"))
		u.Prompt -= u.Cached
	}
	u.Total = u.Prompt + u.Cached + u.Completion
	return func(s *session) { s.run.Spend(u) }
}

// flatKeys are the names under which a convention writes messages as many small
// attributes; N and M stand for numbers.
var flatKeys = []struct{ in, out, role, content, callID, calls, id, name, args string }{
	{
		in: "llm.input_messages.%d.", out: "llm.output_messages.%d.", role: "message.role", content: "message.content", callID: "message.tool_call_id",
		calls: "message.tool_calls.%d.", id: "tool_call.id", name: "tool_call.function.name", args: "tool_call.function.arguments",
	},
	{
		in: "gen_ai.prompt.%d.", out: "gen_ai.completion.%d.", role: "role", content: "content", callID: "tool_call_id",
		calls: "tool_calls.%d.", id: "id", name: "name", args: "arguments",
	},
}

// flattened tells whether a span holds messages as many small attributes.
func (r *reader) flattened(s *spanOf) bool {
	for _, k := range flatKeys {
		if s.attrs[fmt.Sprintf(k.out, 0)+k.role].Given() {
			return true
		}
	}
	return false
}

// flat reads such messages.
func (r *reader) flat(s *spanOf) {
	for _, k := range flatKeys {
		read := func(form string) []message {
			var list []message
			for n := 0; s.attrs[fmt.Sprintf(form, n)+k.role].Given(); n++ {
				at := fmt.Sprintf(form, n)
				m := message{role: s.text(at + k.role)}
				content := s.attrs[at+k.content]
				if m.role == "tool" {
					id := s.attrs[at+k.callID].ID()
					m.told = append(m.told, toldResult{id, r.once(s, id, content)})
				} else {
					m.texts = append(m.texts, content.Text())
				}
				for c := 0; s.text(at+fmt.Sprintf(k.calls, c)+k.name) != ""; c++ {
					call := at + fmt.Sprintf(k.calls, c)
					m.calls = append(m.calls, r.asked(s, s.text(call+k.id), s.text(call+k.name), s.attrs[call+k.args], c))
				}
				list = append(list, m)
			}
			return list
		}
		r.converse(s, read(k.in), read(k.out))
	}
	r.note(s, nil, s.spent())
}
