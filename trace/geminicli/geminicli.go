// Package geminicli reads the sessions of Gemini CLI
// (~/.gemini/tmp/<project>/chats/session-*.jsonl, before 2026 session-*.json): one
// file in, one Run out. It judges nothing.
//
// The newer form is a log of changes: a message is written again under its id when
// its tool calls or their results are known, and the last writing counts, at the
// place of the first; `$set` changes the session, with messages it replaces those
// that the model sees; `$rewindTo` takes back what was said. A call that was made
// stays made: what is replaced or taken back loses its say in the summary only.
// Results are written a second time as messages of the user.
//
// What is trusted, and why:
//
//   - status error, and a response under error, are failures; status cancelled means
//     that the call was called off; every status that is no end means that the call
//     has not ended.
//   - status success says that the tool has run. For a shell it is written whatever
//     the command came to, so its exit code is read from the lines that the tool
//     sets behind the output (ShellEnd). A shell call without them is unknown.
//
// No end of a session is recorded: NoEndRecords. The session of a sub-agent, which
// has a file of its own, is a Child.
package geminicli

import (
	"context"
	"iter"
	"slices"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "gemini-cli"

// Read reads a session as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readSession(ctx, src))
	}
}

func readSession(ctx context.Context, src trace.Source) (*trace.Run, error) {
	s := newSession(ctx, src)
	for s.texts.Next() {
		s.take(s.texts.Record())
	}
	if err := s.texts.Finish(s.run); err != nil {
		return nil, err
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	return s.run, nil
}

// session is what is remembered of a file while it is read.
type session struct {
	run   *trace.Run
	texts *trace.Texts

	messages map[trace.ID]*message
	live     []*message // those that count for the summary, in order
	all      []*message

	calls  map[key]int
	latest map[trace.ID]int // the last call under an id, for the user's copy of its result
	orphan trace.Position   // the first result without a call
}

func newSession(ctx context.Context, src trace.Source) *session {
	run := trace.NewRun(src, Format)
	run.NoEndRecords = true
	run.Agent = Format
	return &session{
		run: run, texts: trace.NewTexts(ctx, src),
		messages: map[trace.ID]*message{}, calls: map[key]int{}, latest: map[trace.ID]int{},
	}
}

// take takes in one record: a message, a change, or a header, which in the older
// form holds all the messages.
func (s *session) take(rec trace.Record) {
	switch {
	case rec.Get("$set").Kind() == trace.KindObject:
		s.run.Records++
		s.change(rec.Get("$set"))
	case rec.Get("$rewindTo").Given():
		s.run.Records++
		s.rewind(rec.Get("$rewindTo").ID())
	case rec.Get("sessionId").Given():
		s.run.Records++
		s.header(rec.Value)
		s.change(rec.Value)
	default:
		s.message(rec.Value, rec.Pos)
	}
}

// header reads what the file says of the session.
func (s *session) header(v trace.Value) {
	run := s.run
	if id := v.Get("sessionId").Text(); id != "" {
		run.ID = id
	}
	if run.Started.IsZero() {
		run.Started = v.Get("startTime").Time()
	}
	run.Child = run.Child || v.Get("kind").Text() == "subagent"
}

// change replaces the messages that the model sees, where a change holds any.
func (s *session) change(v trace.Value) {
	messages := v.Get("messages")
	if messages.Kind() != trace.KindArray {
		return
	}
	s.keep(0)
	for m := range messages.Elements() {
		s.message(m, s.texts.Place(m))
	}
}

// rewind takes back a message and what follows it; all of them where it is unknown,
// as the program itself does.
func (s *session) rewind(id trace.ID) {
	at := len(s.live) - 1
	for at > 0 && (id == "" || s.live[at].id != id) {
		at--
	}
	s.keep(max(at, 0))
}

// keep takes back all but the first n messages.
func (s *session) keep(n int) {
	for _, m := range s.live[n:] {
		m.live = false
	}
	s.live = s.live[:n]
}

func (s *session) badLine(pos trace.Position, reason string) {
	s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: pos.Line, Reason: reason})
}

// finish draws what only the whole file tells.
func (s *session) finish() error {
	run := s.run
	if s.orphan.Set() {
		run.Gaps = append(run.Gaps, trace.Gap{Pos: s.orphan, Reason: "a result whose call is not in this file"})
	}
	for _, m := range s.all {
		run.Spend(m.spent)
	}
	slices.SortStableFunc(run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	turns := make([]trace.Turn, len(s.live))
	for i, m := range s.live {
		turns[i] = m.Turn
	}
	return run.Conclude(turns, func(trace.Turn) bool { return true })
}
