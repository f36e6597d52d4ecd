package claudecode

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// The words for Call.Status that this reader sets.
const (
	denied    = "denied"
	cancelled = "cancelled"
	unknown   = "unknown"
	running   = "running"
	completed = "completed"
)

// How Claude Code words that a call never ran. Hooks and permission rules name
// the tool in the middle, so for those a second part is looked for.
var (
	deniedTexts = [][2]string{
		{"The user doesn't want to ", ""},
		{"This command requires approval", ""},
		{"This Bash command contains multiple operations", "approval"},
		{"Claude requested permissions to ", "granted"},
		{"Permission to use ", "has been denied"},
		{"Permission for this action has been denied", ""},
		{"PreToolUse:", "hook error"},
		{"PreToolUse:", "blocked"},
		{"Hook PreToolUse:", "denied"},
		{"Blocked by hook", ""},
		{"User rejected", ""},
	}
	cancelledTexts = []string{"Sibling tool call errored", "Cancelled:", "[Request interrupted"}
)

// result joins a tool_result block to its call: the last one under its id that is
// still open. One more result for a call that has ended is kept as evidence
// unless it repeats the first.
func (s *session) result(rec *record, block, twin trace.Value) {
	id := block.Get("tool_use_id").ID()
	content := block.Get("content").Body()
	under := s.calls[id]
	under = under[max(0, len(under)-maxSame):]
	for k := len(under) - 1; k >= 0; k-- {
		if c := &s.run.Calls[under[k]]; c.ResultPos.Line == 0 {
			s.end(under[k], rec, block, twin)
			return
		}
	}
	for _, i := range under {
		if old := s.run.Calls[i].Result; old.Length == content.Length && old.Sum == content.Sum {
			return
		}
	}
	if len(under) == 0 && s.orphan.Line == 0 {
		s.orphan = rec.Pos
	}
	s.run.Calls = append(s.run.Calls, trace.Call{
		ID: id, Pos: rec.Pos, Record: rec.Body(), Cwd: rec.Get("cwd").Text(), Start: rec.stamp(), ResultOnly: true,
	})
	s.end(len(s.run.Calls)-1, rec, block, twin)
}

// end reads from a result how its call has ended.
func (s *session) end(i int, rec *record, block, twin trace.Value) {
	c := &s.run.Calls[i]
	content := block.Get("content")
	c.Result, c.ResultPos = content.Body(), rec.Pos
	if twin.Kind() == trace.KindObject {
		c.Structured = twin.Body()
	}
	c.IsError = flag(block.Get("is_error"), twin)
	if delegating(c.Tool) {
		s.delegated(i, content, twin)
	}
	switch {
	case c.IsError == trace.FlagTrue:
		text := opening(content)
		c.Status = neverRan(text)
		if c.Status == "" && twin.Kind() == trace.KindString && strings.HasPrefix(twin.Text(), "User rejected tool use") {
			c.Status = denied
		}
		if code, ok := exitCode(text); ok && (shell(c.Tool) || c.Tool == "") {
			c.HasExit, c.ExitCode = true, code
		}
	case s.launched(i, content, twin):
		c.Status = running
	case s.stream.mutes(c.Tool):
		c.Status = unknown
	case twin.Get("interrupted").Flag() == trace.FlagTrue && shell(c.Tool):
		c.IsError = trace.FlagTrue
	case shell(c.Tool):
		streams := twin.Get("stdout").Given() || twin.Get("stderr").Given()
		c.HasExit = streams && twin.Get("returnCodeInterpretation").Text() == ""
	default:
		s.looked(twin, rec.Pos, content.Body())
	}
}

func flag(recorded, twin trace.Value) trace.Flag {
	f := recorded.Flag()
	if f != trace.FlagAbsent {
		return f
	}
	if bytes.HasPrefix(twin.Raw(), []byte(`"Error: `)) {
		return trace.FlagTrue
	}
	return trace.FlagFalse
}

func shell(tool string) bool { return tool == "Bash" || tool == "PowerShell" }

// opening is the text that a result begins with, without the tag around the
// program's own errors.
func opening(content trace.Value) string {
	text := content.Text()
	for block := range content.Elements() {
		text = block.Get("text").Text()
		break
	}
	return strings.TrimPrefix(strings.TrimSpace(text), "<tool_use_error>")
}

func neverRan(text string) string {
	for _, c := range cancelledTexts {
		if strings.HasPrefix(text, c) {
			return cancelled
		}
	}
	text = cut(text, 1000)
	for _, d := range deniedTexts {
		if rest, ok := strings.CutPrefix(text, d[0]); ok && strings.Contains(rest, d[1]) {
			return denied
		}
	}
	return ""
}

// exitCode reads the line with which the result of a failed shell call begins.
func exitCode(text string) (int32, bool) {
	rest, ok := strings.CutPrefix(text, "Exit code ")
	if !ok {
		return 0, false
	}
	return number(rest)
}

// number reads the digits at the beginning of a text.
func number(text string) (int32, bool) {
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	code, err := strconv.Atoi(text[:n])
	if err != nil || code > math.MaxInt32 {
		return 0, false
	}
	return int32(code), true
}
