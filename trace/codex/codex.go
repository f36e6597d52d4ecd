// Package codex reads the rollouts of the Codex CLI
// (~/.codex/sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl), versions 0.40 to
// 0.171, and the older ones whose lines have no envelope: one file in, one Run
// out. It judges nothing. Compressed files are unpacked before they get here.
//
// What is trusted, and why, in this order:
//
//   - The item of a call (item_completed, or the event exec_command_end,
//     patch_apply_end, mcp_tool_call_end of versions between): exit_code, status,
//     isError. It is recorded beside what the model was told, and for a command
//     that outlives its call much later, even after the summary; it outranks every
//     text. Many versions record it for few kinds of calls.
//   - The exit code in the text that the model was told: a line `Process exited
//     with code N` or `Exit code: N` in its head, or metadata.exit_code where the
//     text is JSON. No field of the result holds it.
//   - `Process running with session ID N` is no end: the call is running until its
//     item, or the output of a write_stdin for that session, says more.
//   - Texts with which Codex itself refuses a call (denied) or says that it failed.
//     They are looked for only at the beginning of a text that has no exit code.
//   - A flag of success is never written. A text of a shell, a patch or an MCP tool
//     that fits none of this tells nothing: its status is unknown. What Codex's other
//     tools return counts as success.
//
// task_complete and turn_aborted end a turn; a file that has no task_started comes
// from a version that writes neither, and records no end.
//
// A fork (0.171) holds only what is new and names the file and the record that it
// goes on from. Its history is read from there: those calls belong to the run and
// stand before its first byte, on the line that names them. Sub-agents write files
// of their own: their runs are marked (Run.Child), and so are the calls that start
// them (Call.Delegates).
package codex

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "codex"

// Read reads a rollout as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readRollout(ctx, src))
	}
}

func readRollout(ctx context.Context, src trace.Source) (*trace.Run, error) {
	h, err := historyOf(ctx, src)
	if err != nil {
		return nil, err
	}
	s := newSession(trace.NewRun(trace.Behind(h.text, src), Format))
	if err := s.readHistory(ctx, h); err != nil {
		return nil, err
	}
	if done, err := s.document(ctx, src); err != nil {
		return nil, err
	} else if done {
		return s.run, nil
	}
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		s.take(sc.Record())
	}
	if err := sc.Finish(s.run); err != nil {
		return nil, err
	}
	s.finish()
	return s.run, nil
}

// session is what is remembered of a rollout while it is read.
type session struct {
	run     *trace.Run
	rec     trace.Object // the current line
	load    trace.Object // its payload, which is
	payload trace.Value
	at      time.Time  // its time
	raw     trace.Body // all of it
	pos     trace.Position

	calls  map[trace.ID][]int // indexes of the calls under an id, oldest first
	states []state            // one a call
	procs  map[string]*process
	batch  batch
	orphan trace.Position // the first result without a call

	numbers numbering
	past    int // the line that names the history, while that is read; 0 when it is not
	forked  bool
	cwd     string
	model   string

	talk  talk
	spent spent
}

// state is what is known of one call beside what stands in it.
type state struct {
	told  bool   // what the model was told is recorded
	final bool   // its item is recorded, which has the last word
	proc  string // of a call that looks at a running process: the process
}

func newSession(run *trace.Run) *session {
	run.Agent = Format
	return &session{run: run, calls: map[trace.ID][]int{}, procs: map[string]*process{}}
}

// take takes in one line. Kinds that carry no evidence are counted and passed over.
func (s *session) take(rec trace.Record) {
	s.rec.Take(rec.Value)
	payload := s.rec.Get("payload")
	kind := s.rec.Get("type").Text()
	if payload.Kind() != trace.KindObject {
		payload = rec.Value // before 0.32 a line is the item itself
		kind = s.bareKind(kind)
	}
	s.load.Take(payload)
	s.payload = payload
	s.at, s.raw, s.pos = stamp(s.rec.Get("timestamp")), rec.Body(), rec.Pos
	if s.past > 0 {
		s.pos.Line = s.past
	}
	s.number(rec.Pos)
	if s.dispatch(kind) {
		s.count(&s.run.Records)
	} else {
		s.count(&s.run.Ignored)
	}
}

// count counts a line of the file itself.
func (s *session) count(n *int) {
	if s.past == 0 {
		*n++
	}
}

// bareKind says what a line without an envelope is.
func (s *session) bareKind(kind string) string {
	if kind != "" {
		return "response_item"
	}
	if s.rec.Get("id").Given() && s.rec.Get("timestamp").Given() {
		return "session_meta"
	}
	return ""
}

// dispatch reads a payload by its kind. It tells whether the kind carries evidence.
func (s *session) dispatch(kind string) bool {
	switch kind {
	case "session_meta":
		s.meta()
	case "turn_context":
		s.cwd = textOr(s.load.Get("cwd"), s.cwd)
		s.model = textOr(s.load.Get("model"), s.model)
		if s.run.Model = s.model; s.run.Cwd == "" {
			s.run.Cwd = s.cwd
		}
	case "response_item":
		return s.item()
	case "event_msg":
		return s.event()
	case "token_usage_record":
		s.batch.close()
		s.spendRecord(s.load.Get("usage"))
	case "compacted": // what it repeats stands in the file already
	default:
		return false
	}
	return true
}

// meta reads the head of the file. A fork of an older version repeats that of its
// parent behind its own, so the first one counts.
func (s *session) meta() {
	payload := &s.load
	s.cwd = textOr(payload.Get("cwd"), s.cwd)
	run := s.run
	if s.past > 0 || run.ID != "" {
		return
	}
	run.ID = payload.Get("id").Text()
	run.Cwd = payload.Get("cwd").Text()
	run.Started = stamp(payload.Get("timestamp"))
	if v := payload.Get("cli_version").Text(); v != "" {
		run.Agent = Format + " " + v
	}
	run.Child = payload.Path("source", "subagent").Given() || payload.Get("thread_source").Text() == "subagent"
	s.forked = payload.Get("forked_from_id").Given()
}

// finish draws what only the whole file tells.
func (s *session) finish() {
	run := s.run
	if s.orphan.Set() {
		run.Gaps = append(run.Gaps, trace.Gap{Pos: s.orphan, Reason: "a result whose call is not in this file"})
	}
	s.conclude()
	s.addUsage()
	slices.SortStableFunc(run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	slices.SortStableFunc(run.Gaps, func(a, b trace.Gap) int { return int(max(-1, min(a.Pos.Offset-b.Pos.Offset, 1))) })
}

// numbering follows the ordinals of the lines (0.171): they show what was taken out.
type numbering struct {
	next  int64
	begun bool
	bare  int64 // lines without one since the last
}

func (s *session) number(pos trace.Position) {
	n, ok := s.rec.Get("ordinal").Int()
	if !ok || n < 0 || n > 1<<53 {
		s.numbers.bare++
		return
	}
	last := &s.numbers
	switch {
	case !last.begun && n > 0 && s.past == 0 && !s.load.Get("history_base").Given():
		s.gap(pos, fmt.Sprintf("the file begins with record %d", n))
	case last.begun && n > last.next+last.bare:
		s.gap(pos, fmt.Sprintf("records are missing between %d and %d", last.next-1, n))
	}
	*last = numbering{next: n + 1, begun: true}
}

func (s *session) gap(pos trace.Position, reason string) {
	if s.past > 0 {
		pos.Line = s.past
	}
	s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: pos, Reason: reason})
}

func textOr(v trace.Value, otherwise string) string {
	if t := v.Text(); t != "" {
		return t
	}
	return otherwise
}

// stamp is the zero time where there is none that can be read.
func stamp(v trace.Value) time.Time {
	t, err := time.Parse(time.RFC3339, v.Text())
	if err != nil {
		return time.Time{}
	}
	return t
}
