package geminicli

import (
	"strings"

	"nightaudit/trace"
)

// message is one message as it was last written.
type message struct {
	trace.Turn // at the place of its first writing
	id         trace.ID
	live       bool // it counts for the summary
	spent      trace.Usage
}

// message takes in a message, or the message of the same id once more. What the
// program shows to the user only (info, warning, error) carries no evidence.
func (s *session) message(v trace.Value, pos trace.Position) {
	if v.Kind() != trace.KindObject {
		s.badLine(pos, "a message that is no JSON object")
		return
	}
	kind := v.Get("type").Text()
	if kind != "user" && kind != "gemini" {
		s.run.Ignored++
		return
	}
	s.run.Records++
	m := s.place(v.Get("id").ID(), pos)
	m.Agent = kind == "gemini"
	m.Texts = nil
	s.content(m, v.Get("content"), pos)
	if m.Agent {
		s.model(m, v)
		s.toolCalls(m, v.Get("toolCalls"))
	}
}

// place finds the message of an id, or makes it. A message that comes back after it
// was taken out stands at the end.
func (s *session) place(id trace.ID, pos trace.Position) *message {
	m := s.messages[id]
	if m == nil || id == "" {
		m = &message{id: id, Turn: trace.Turn{Pos: pos}}
		s.all = append(s.all, m)
		if id != "" {
			s.messages[id] = m
		}
	}
	if !m.live {
		m.live = true
		s.live = append(s.live, m)
	}
	return m
}

// content reads a text, a part, or a list of either.
func (s *session) content(m *message, content trace.Value, pos trace.Position) {
	switch content.Kind() {
	case trace.KindString:
		m.say(content)
	case trace.KindArray:
		for part := range content.Elements() {
			s.content(m, part, pos)
		}
	case trace.KindObject:
		if text := content.Get("text"); text.Kind() == trace.KindString {
			m.say(text)
		}
		if response := content.Get("functionResponse"); response.Kind() == trace.KindObject {
			s.response(response, pos)
		}
	}
}

// say adds a text, unless it is what the program tells of the machine.
func (m *message) say(text trace.Value) {
	if !strings.HasPrefix(text.Text(), "<session_context>") {
		m.Texts = append(m.Texts, text.Body())
	}
}

// model reads who wrote a message, and what it cost. The numbers of its last
// writing count.
func (s *session) model(m *message, v trace.Value) {
	model := v.Get("model").Text()
	if model != "" {
		s.run.Model = model
	}
	tokens := v.Get("tokens")
	cached := tokens.Tokens("cached")
	m.spent = trace.Usage{
		Model:      model,
		Prompt:     max(0, tokens.Tokens("input")-cached) + tokens.Tokens("tool"),
		Cached:     cached,
		Completion: tokens.Tokens("output") + tokens.Tokens("thoughts"),
		Total:      tokens.Tokens("total"),
	}
}
