package trace

import "strings"

// maxTask is how much of the first prompt is kept, in bytes.
const maxTask = 4 << 10

// Talk finds what a run says of itself, from its messages in order: the task is
// the first prompt, the summary what the agent said behind its last call in the
// last turn that it answered. A turn that ends with calls has no summary, a prompt
// that nobody answered takes none away.
type Talk struct {
	task  string
	said  []string
	first Position // where the first of said stands
	waits bool     // a prompt has not been answered yet
}

// Prompt takes in what the agent was asked.
func (t *Talk) Prompt(text string) {
	if strings.TrimSpace(text) == "" {
		return
	}
	if t.task == "" {
		t.task = cutText(text, maxTask)
	}
	t.waits = true
}

// Said takes in what the agent said.
func (t *Talk) Said(text string, pos Position) {
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	if t.waits {
		t.said, t.waits = nil, false
	}
	if len(t.said) == 0 {
		t.first = pos
	}
	t.said = append(t.said, text)
}

// Called takes in that the agent called a tool.
func (t *Talk) Called() { t.said, t.waits = nil, false }

// Finish writes what was found into the run.
func (t *Talk) Finish(run *Run) {
	if run.Task == "" {
		run.Task = t.task
	}
	if len(t.said) > 0 {
		run.Summary, run.SummaryPos = strings.Join(t.said, "\n\n"), t.first
	}
}

// cutText shortens a text to at most n bytes without splitting a rune.
func cutText(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.Clone(strings.ToValidUTF8(text[:n], ""))
}
