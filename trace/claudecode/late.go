package claudecode

import (
	"bytes"
	"strings"

	"nightaudit/trace"
)

// Late outcomes: a call that went to the background has only started. How it
// ended is told by a task notification (queued, then given to the agent as a
// user message or an attachment: the same event two or three times), or by the
// result of a call that looks at the task's output.

// launchTexts stand near the beginning of a result whose command goes on.
var launchTexts = [][]byte{
	[]byte("running in background with ID"),
	[]byte("moved to background"),
	[]byte("moved to the background"),
	[]byte("manually backgrounded"),
}

// launched tells whether call i goes on in the background, and remembers its task.
func (s *session) launched(i int, content, twin trace.Value) bool {
	c := &s.run.Calls[i]
	task := twin.Get("backgroundTaskId").Text()
	if status := twin.Get("status").Text(); delegating(c.Tool) && (status == "async_launched" || status == "remote_launched") {
		task = twin.Get("agentId").Text()
		if task == "" {
			return true
		}
	}
	if task != "" {
		s.tasks[task] = i
		return true
	}
	if !shell(c.Tool) {
		return false
	}
	head := content.Raw()
	head = head[:min(len(head), 300)]
	for _, t := range launchTexts {
		if bytes.Contains(head, t) {
			return true
		}
	}
	return false
}

// notified ends the calls that a task notification speaks of. It tells whether
// the text is one.
func (s *session) notified(text string, pos trace.Position, body trace.Body) bool {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "<task-notification>") {
		return false
	}
	for part := range strings.SplitSeq(text, "<task-notification>") {
		status, ok := tag(part, "status")
		if !ok {
			continue
		}
		summary, _ := tag(part, "summary")
		use, _ := tag(part, "tool-use-id")
		task, _ := tag(part, "task-id")
		if i, ok := s.pending(trace.TextID(use), task); ok {
			code, has := lastExitCode(summary)
			s.settle(i, ending{status: status, code: code, hasCode: has, pos: pos, body: body})
		}
	}
	return true
}

// tag returns the text between <name> and </name>.
func tag(text, name string) (string, bool) {
	_, rest, ok := strings.Cut(text, "<"+name+">")
	if !ok {
		return "", false
	}
	inner, _, ok := strings.Cut(rest, "</"+name+">")
	return strings.TrimSpace(inner), ok
}

// lastExitCode looks for the code at the end of a summary: the description of
// the command, which stands before it, may speak of exit codes too.
func lastExitCode(summary string) (int32, bool) {
	const word = "exit code "
	at := strings.LastIndex(summary, word)
	if at < 0 {
		return 0, false
	}
	return number(summary[at+len(word):])
}

// pending finds the call that is still running, by its own id or its task's.
func (s *session) pending(id trace.ID, task string) (int, bool) {
	under := s.calls[id]
	for k := len(under) - 1; k >= 0; k-- {
		if s.run.Calls[under[k]].Status == running {
			return under[k], true
		}
	}
	i, ok := s.tasks[task]
	return i, ok && s.run.Calls[i].Status == running
}

// ending is what a late record says of a call.
type ending struct {
	status  string
	code    int32
	hasCode bool
	pos     trace.Position
	body    trace.Body // the text or object that says so
}

// settle ends a running call. Words that are no end (running, pending) leave it.
func (s *session) settle(i int, e ending) {
	c := &s.run.Calls[i]
	switch e.status {
	case completed:
		c.Status = completed
	case "failed", "error", "killed", "stopped", "timeout":
		c.Status = ""
		c.Error = e.body
		if !e.hasCode || e.status != "failed" {
			c.IsError = trace.FlagTrue
		}
	default:
		return
	}
	if e.hasCode {
		c.Status, c.HasExit, c.ExitCode = "", true, e.code
	}
	c.ResultPos = e.pos
}

// looked reads the result of a call that asks for a background task: BashOutput
// gives {shellId, status, exitCode}, TaskOutput the same within task.
func (s *session) looked(twin trace.Value, pos trace.Position, body trace.Body) {
	task := twin.Get("task")
	id := task.Get("task_id").Text()
	if id == "" {
		task, id = twin, twin.Get("shellId").Text()
	}
	i, ok := s.tasks[id]
	if !ok || s.run.Calls[i].Status != running {
		return
	}
	e := ending{status: task.Get("status").Text(), pos: pos, body: body}
	if code, ok := task.Get("exitCode").Int(); ok && int64(int32(code)) == code {
		e.code, e.hasCode = int32(code), true
	}
	s.settle(i, e)
}

// attachment looks for the two kinds that carry evidence: a queued notification
// and the end by the limit of turns.
func (s *session) attachment(rec *record) bool {
	a := rec.Get("attachment")
	switch a.Get("type").Text() {
	case "queued_command":
		prompt := a.Get("prompt")
		return s.notified(prompt.Text(), rec.Pos, prompt.Body())
	case "max_turns_reached":
		s.turns = append(s.turns, turn{uuid: rec.uuid, pos: rec.Pos, side: rec.side, ends: true, reason: "max_turns_reached"})
		return true
	default:
		return false
	}
}
