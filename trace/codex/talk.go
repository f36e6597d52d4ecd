package codex

import (
	"strings"
	"unicode/utf8"

	"nightaudit/trace"
)

// maxTask is how much of the first prompt is kept, in bytes.
const maxTask = 4 << 10

// talk is what was said, as far as the end of the run is concerned: the texts
// behind the last call of the last turn that the agent answered.
type talk struct {
	said     []string
	at       trace.Position // of the first of them
	next     bool           // a prompt waits for its answer
	turns    bool           // the version records turns
	closed   string         // what the end of the last turn repeats of it
	closedAt trace.Position
}

// acted: what was said before a call is no summary.
func (t *talk) acted() { t.said, t.next, t.closed = nil, false, "" }

func (t *talk) say(text string, at trace.Position) {
	if t.next || len(t.said) == 0 {
		t.said, t.at, t.next = nil, at, false
	}
	t.said = append(t.said, text)
}

func (t *talk) begin(run *trace.Run) {
	t.turns = true
	run.Ended, run.EndReason = false, ""
}

func (t *talk) end(run *trace.Run, reason, last string, at trace.Position) {
	t.turns = true
	run.Ended, run.EndReason = true, reason
	t.closed, t.closedAt = strings.TrimSpace(last), at
}

// message reads what a person or the agent said.
func (s *session) message() {
	role := s.load.Get("role").Text()
	if role == "assistant" {
		s.batch.close()
		if text := strings.TrimSpace(textOf(s.load.Get("content"))); text != "" {
			s.talk.say(text, s.pos)
		}
		return
	}
	if text, ok := s.prompt(); ok && role == "user" {
		s.batch.close()
		s.talk.next = true
		if s.run.Task == "" {
			s.run.Task = cut(text, maxTask)
		}
	}
}

// machineTexts begin the messages that Codex writes in the user's name.
var machineTexts = []string{
	"<environment_context>", "<user_instructions>", "<turn_aborted>", "<subagent_notification>", "<permissions instructions>",
	"<user_shell_command>", "<skill>", "<INSTRUCTIONS>", "# AGENTS.md instructions", "<user_action>", "<hook_prompt", "<apps_instructions>",
}

// prompt returns what a person, or what stands for one, asks for. Since 0.15x a
// message says of each of its parts what it is.
func (s *session) prompt() (string, bool) {
	content := s.load.Get("content")
	kinds := s.load.Path("internal_chat_message_metadata_passthrough", "content_item_kinds")
	if kinds.Kind() == trace.KindArray {
		for kind := range kinds.Elements() {
			if strings.HasPrefix(kind.Text(), "user.") {
				return textOf(content), true
			}
		}
		return "", false
	}
	text := strings.TrimSpace(textOf(content))
	for _, m := range machineTexts {
		if strings.HasPrefix(text, m) {
			return "", false
		}
	}
	return text, text != ""
}

// textOf joins the texts of a message; a plain string is one.
func textOf(content trace.Value) string {
	if content.Kind() == trace.KindString {
		return content.Text()
	}
	var parts []string
	for part := range content.Elements() {
		if text := part.Get("text").Text(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

// conclude finds the summary. Where the message itself is missing, the end of its
// turn repeats it.
func (s *session) conclude() {
	t := &s.talk
	s.run.NoEndRecords = !t.turns
	switch {
	case len(t.said) > 0:
		s.run.Summary, s.run.SummaryPos = strings.Join(t.said, "\n\n"), t.at
	case t.closed != "":
		s.run.Summary, s.run.SummaryPos = t.closed, t.closedAt
	}
}

// cut shortens a text to at most n bytes without splitting a rune.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return strings.Clone(text[:n])
}
