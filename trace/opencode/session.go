package opencode

import (
	"strings"
	"time"
	"unicode/utf8"

	"nightaudit/trace"
)

// maxTask is how much of the first prompt is kept, in bytes.
const maxTask = 4 << 10

// session is what is remembered of a session while it is read. It knows the parts
// of messages, wherever they were stored.
type session struct {
	run   *trace.Run
	parts map[string]int // call by the id of its part

	person  bool // the message is a person's
	repeats bool // the message sums up those before it
	model   string
	cwd     string
	first   map[string]int // index of the first call of a message

	said   []string // behind the last call
	at     trace.Position
	next   bool // a prompt waits for its answer
	inStep bool // a step has begun and not ended
	last   trace.Position
	ends   bool // the version records the ends of steps

	usage []trace.Usage
}

func newSession(run *trace.Run) *session {
	run.Agent = Format
	return &session{run: run, parts: map[string]int{}, first: map[string]int{}}
}

func (s *session) badLine(line int, reason string) {
	s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: line, Reason: reason})
}

// count counts a record by whether its kind carries evidence.
func (s *session) count(known bool) {
	if known {
		s.run.Records++
	} else {
		s.run.Ignored++
	}
}

// info reads what is stored of the session itself.
func (s *session) info(info trace.Value) {
	run := s.run
	run.ID = info.Get("id").Text()
	run.Cwd = info.Get("directory").Text()
	run.Started = millis(info.Path("time", "created"))
	if v := info.Get("version").Text(); v != "" {
		run.Agent = Format + " " + v
	}
	run.Child = info.Get("parentID").Given()
}

// message begins a message.
func (s *session) message(info trace.Value) {
	s.person = info.Get("role").Text() == "user"
	s.repeats = info.Get("summary").Flag() == trace.FlagTrue || info.Get("mode").Text() == "compaction"
	s.model = textOr(info.Get("modelID"), info.Path("model", "modelID").Text())
	s.cwd = info.Path("path", "cwd").Text()
	if s.person {
		s.run.Ended, s.run.EndReason = false, ""
		return
	}
	if s.run.Model == "" {
		s.run.Model = s.model
	}
	if finish := info.Get("finish").Text(); finish != "" {
		s.finished(finish)
	}
	if name := info.Path("error", "name").Text(); name != "" {
		s.run.Ended, s.run.EndReason = true, name
	}
}

// part reads one part of a message. It tells whether its kind carries evidence.
func (s *session) part(part trace.Value, pos trace.Position, record trace.Body) bool {
	var p trace.Object
	p.Take(part)
	s.last = pos
	switch p.Get("type").Text() {
	case "text":
		s.text(&p, pos)
	case "tool":
		s.tool(&p, pos, record)
	case "step-start":
		s.inStep = true
		s.run.Ended, s.run.EndReason = false, ""
	case "step-finish":
		s.inStep = false
		s.finished(p.Get("reason").Text())
		s.spend(p.Get("tokens"))
	default:
		return false
	}
	return true
}

// finished notes how a step has ended: tool-calls means that the run goes on.
func (s *session) finished(reason string) {
	s.ends = true
	s.run.Ended, s.run.EndReason = reason != "tool-calls" && reason != "", reason
	if !s.run.Ended {
		s.run.EndReason = ""
	}
}

// text reads what was asked or said. Synthetic texts are the program's.
func (s *session) text(p *trace.Object, pos trace.Position) {
	text := strings.TrimSpace(p.Get("text").Text())
	if text == "" || p.Get("synthetic").Flag() == trace.FlagTrue || p.Get("ignored").Flag() == trace.FlagTrue || s.repeats {
		return
	}
	if s.person {
		s.next = true
		if s.run.Task == "" {
			s.run.Task = cut(text, maxTask)
		}
		return
	}
	if s.next || len(s.said) == 0 {
		s.said, s.at, s.next = nil, pos, false
	}
	s.said = append(s.said, text)
}

func (s *session) finish() {
	run := s.run
	run.NoEndRecords = !s.ends
	run.Usage = s.usage
	if len(s.said) > 0 {
		run.Summary, run.SummaryPos = strings.Join(s.said, "\n\n"), s.at
	}
}

// maxTokens is far above what a step can cost; a number beyond it is damage, and
// would overflow the sums.
const maxTokens = 1 << 40

// spend adds what a step has cost, by model.
func (s *session) spend(t trace.Value) {
	if t.Kind() != trace.KindObject {
		return
	}
	n := func(path ...string) int64 {
		i, ok := t.Path(path...).Int()
		if !ok || i < 0 || i > maxTokens {
			return 0
		}
		return i
	}
	u := trace.Usage{
		Model: s.model, Prompt: n("input") + n("cache", "write"), Cached: n("cache", "read"),
		Completion: n("output") + n("reasoning"),
	}
	u.Total = u.Prompt + u.Cached + u.Completion
	for i := range s.usage {
		if sum := &s.usage[i]; sum.Model == u.Model {
			sum.Prompt += u.Prompt
			sum.Cached += u.Cached
			sum.Completion += u.Completion
			sum.Total += u.Total
			return
		}
	}
	s.usage = append(s.usage, u)
}

func textOr(v trace.Value, otherwise string) string {
	if t := v.Text(); t != "" {
		return t
	}
	return otherwise
}

// millis reads milliseconds since 1970; the zero time where there are none.
func millis(v trace.Value) time.Time {
	ms, ok := v.Int()
	if !ok || ms <= 0 || ms > 1e14 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
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
