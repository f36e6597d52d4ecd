package claudecode

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"nightaudit/trace"
)

// maxTask is how much of the first prompt is kept, in bytes.
const maxTask = 4 << 10

// maxSame is how many calls under one id are compared with a new one; only a
// broken numbering gives more.
const maxSame = 256

// synthetic is the model name of messages that the program wrote itself.
const synthetic = "<synthetic>"

// origin tells a copy of a tool_use block from a second call under the same id.
type origin struct {
	message string
	start   time.Time
}

// batch is the message whose calls are being read.
type batch struct {
	message string
	agent   string
	first   int // index of its first call
	n       int
	name    string
}

// assistant reads one message, or the part of one that a line holds: newer
// versions write a line for each content block.
func (s *session) assistant(rec *record) {
	msg := rec.Get("message")
	t := turn{uuid: rec.uuid, pos: rec.Pos, side: rec.side, ends: true, reason: msg.Get("stop_reason").Text()}
	model := msg.Get("model").Text()
	own := model != synthetic && !rec.is("isApiErrorMessage")
	switch {
	case rec.is("isApiErrorMessage"):
		t.reason = "api_error"
	case !own:
		t.reason = ""
	}
	content := msg.Get("content")
	if content.Kind() == trace.KindString && own {
		t.said = append(t.said, content.Body())
	}
	for block := range content.Elements() {
		switch kind := block.Get("type").Text(); {
		case kind == "text" && own:
			if strings.TrimSpace(block.Get("text").Text()) != "" {
				t.said = append(t.said, block.Get("text").Body())
			}
		case strings.HasSuffix(kind, "tool_use"):
			t.said, t.acted = nil, true
			s.call(rec, block)
		case strings.HasSuffix(kind, "tool_result"): // of a tool that the server ran
			s.result(rec, block, trace.Value{})
		}
	}
	if own {
		s.spend(msg, rec.uuid)
	}
	s.follow(rec, t)
	if model != "" && own && (!t.side || s.run.Model == "") {
		s.run.Model = model
	}
}

// follow adds a message to the turns and moves the leaf of the main chain.
func (s *session) follow(rec *record, t turn) {
	s.turns = append(s.turns, t)
	if t.side {
		s.joinSide(rec, -1)
		return
	}
	s.began = true
	if t.uuid != "" {
		s.leaf, s.told = t.uuid, ""
	}
}

// call takes in a tool_use block.
func (s *session) call(rec *record, block trace.Value) {
	name := block.Get("name").Text()
	if name == "" {
		s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: rec.Pos.Line, Reason: "a tool_use without a name"})
		return
	}
	c := trace.Call{
		ID:     block.Get("id").ID(),
		Tool:   name,
		Pos:    rec.Pos,
		Args:   block.Get("input").Body(),
		Record: rec.Body(),
		Cwd:    rec.Get("cwd").Text(),
		Start:  rec.stamp(),
	}
	from := origin{message: rec.Path("message", "id").Text(), start: c.Start}
	if s.copied(&c, from) {
		return
	}
	i := len(s.run.Calls)
	c.Batch = s.joinBatch(i, from.message, agentOf(rec))
	s.run.Calls = append(s.run.Calls, c)
	s.from[i] = from
	if c.ID != "" {
		s.calls[c.ID] = append(s.calls[c.ID], i)
	}
	if delegating(name) {
		prompt := block.Path("input", "prompt").Text()
		s.children.agents = append(s.children.agents, i)
		s.children.prompts[prompt] = append(s.children.prompts[prompt], i)
	}
	s.joinSide(rec, i)
}

// copied tells whether the block repeats a call that is already there: streamed
// once more, or copied with a new uuid. Programs behind gateways number their
// calls from the start again and again, so the id alone does not make a copy: a
// call that has ended may be followed by another under its id.
func (s *session) copied(c *trace.Call, from origin) bool {
	under := s.calls[c.ID]
	for _, i := range under[max(0, len(under)-maxSame):] {
		old := &s.run.Calls[i]
		if old.Tool != c.Tool || old.Args.Length != c.Args.Length || old.Args.Sum != c.Args.Sum {
			if old.ResultPos.Line > 0 {
				continue
			}
			// Still open: one id cannot name two calls at once, so this is the
			// same call in a later state of its stream.
			return true
		}
		was := s.from[i]
		if old.ResultPos.Line == 0 || was.message == from.message || was.start.Equal(from.start) {
			return true
		}
	}
	return false
}

// joinBatch returns the batch of call i: the id of its message where the message
// holds several calls. A message id that comes back later is another message.
func (s *session) joinBatch(i int, message, agent string) string {
	b := &s.batch
	if message == "" || b.message != message || b.agent != agent {
		*b = batch{message: message, agent: agent, first: i, n: 1, name: message}
		if message != "" {
			s.batches[message]++
			if n := s.batches[message]; n > 1 {
				b.name = fmt.Sprintf("%s#%d", message, n)
			}
		}
		return ""
	}
	b.n++
	s.run.Calls[b.first].Batch = b.name
	return b.name
}

func agentOf(rec *record) string {
	if !rec.side {
		return ""
	}
	return "agent " + rec.Get("agentId").Text()
}

// user reads a prompt, or the results of calls.
func (s *session) user(rec *record) {
	content := rec.Path("message", "content")
	t := turn{uuid: rec.uuid, pos: rec.Pos, side: rec.side}
	results := 0
	for block := range content.Elements() {
		if strings.HasSuffix(block.Get("type").Text(), "tool_result") {
			results++
		}
	}
	for block := range content.Elements() {
		if !strings.HasSuffix(block.Get("type").Text(), "tool_result") {
			continue
		}
		twin := rec.Get("toolUseResult")
		if results > 1 {
			twin = trace.Value{} // it cannot be told whose it is
		}
		s.result(rec, block, twin)
	}
	if results == 0 {
		t.prompt = s.compactSummary(rec) // what follows is said anew
		text := textOf(content)
		switch {
		case s.notified(text, rec.Pos, content.Body()):
		case prompted(rec, text):
			t.prompt = true
			task := &s.run.Task
			if t.side {
				task = &s.sideTask
			}
			if *task == "" {
				*task = cut(text, maxTask)
			}
		}
	}
	s.follow(rec, t)
}

// machineTexts begin the messages that the program writes in the user's name.
var machineTexts = []string{
	"<command-", "<local-command-", "<task-notification>", "<bash-", "<system-reminder>", "<user-memory-input>",
	"[Request interrupted", "Caveat: The messages below were generated",
}

// prompted tells whether a message without results is a person's, or what stands
// for one in an unattended run.
func prompted(rec *record, text string) bool {
	if rec.is("isMeta") || rec.is("isCompactSummary") {
		return false
	}
	if kind := rec.Path("origin", "kind").Text(); kind != "" && kind != "human" {
		return false
	}
	text = strings.TrimSpace(text)
	for _, m := range machineTexts {
		if strings.HasPrefix(text, m) {
			return false
		}
	}
	return text != ""
}

// textOf joins a message's text blocks; a plain string is one.
func textOf(content trace.Value) string {
	if content.Kind() == trace.KindString {
		return content.Text()
	}
	var parts []string
	for block := range content.Elements() {
		if block.Get("type").Text() == "text" {
			parts = append(parts, block.Get("text").Text())
		}
	}
	return strings.Join(parts, "\n")
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
