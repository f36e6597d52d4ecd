// Package opencode reads sessions of opencode: its database (a Run for each session),
// what `opencode export` writes, one JSON text {info, messages}, and what `opencode
// run --format json` prints. One file in, one Run out, or one for each session of a
// printed log that is appended to.
//
// What is trusted, and why:
//
//   - state.status of a tool's part: error is a failure, of a call that was refused
//     or malformed too; the words tell them apart. pending and running are no ends.
//   - completed is one, except of a command: metadata.exit has its exit code. A
//     command that ran out of time or was aborted has none; its output says so. One
//     without either is unknown.
//   - The tool invalid stands in for a call that could not be made. It is completed,
//     and read as a failed call of the tool that input names.
//   - The finish of the last step says how the run ended. In a session that is still
//     at work it is tool-calls, or missing.
//
// The database holds the sessions of sub-agents too, whose calls are joined to the
// call that started them. Exports hold the calls that sub-agents were given, not
// those that they made (Call.Delegates). A printed log holds a call only when it has ended, so that one
// which does not end with the end of a step has a gap.
package opencode

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "opencode"

// Read reads an export as one Run, and each session of a database or a printed log
// as one.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	if src.Database != nil {
		return readDatabase(ctx, src)
	}
	return func(yield func(*trace.Run, error) bool) {
		read := readLog
		if mayBeDocument(src) {
			read = readExport
		}
		runs, err := read(ctx, src)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, run := range runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

// mayBeDocument tells whether a file's first line is no record of a log.
func mayBeDocument(src trace.Source) bool {
	head := make([]byte, min(src.Size, 64<<10))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false // the fault comes up again when the file is read
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	v, err := trace.ParseValue(line)
	if err != nil {
		return bytes.HasPrefix(line, []byte("{"))
	}
	return v.Get("messages").Given()
}

// readExport reads a file that is one JSON text. One that only looked like it is
// read as a log.
func readExport(ctx context.Context, src trace.Source) ([]*trace.Run, error) {
	doc, err := trace.ReadDocument(ctx, src)
	if err != nil {
		return nil, err
	}
	if !IsDocument(doc.Value) {
		return readLog(ctx, src)
	}
	s := newSession(trace.NewRun(src, Format))
	s.run.SHA256 = doc.SHA256
	s.info(doc.Get("info"))
	for message := range doc.Get("messages").Elements() {
		if message.Kind() != trace.KindObject {
			s.badLine(doc.LineOf(message), "a message that is no JSON object")
			continue
		}
		if message.Get("info").Kind() != trace.KindObject {
			s.badLine(doc.LineOf(message), "a message that does not say what it is")
			continue
		}
		s.message(message.Get("info"))
		for part := range message.Get("parts").Elements() {
			pos := trace.Position{Line: doc.LineOf(part), Offset: part.Body().Offset}
			if part.Kind() != trace.KindObject {
				s.badLine(pos.Line, "a part that is no JSON object")
				continue
			}
			s.count(s.part(part, pos, part.Body()))
		}
	}
	s.finish()
	return []*trace.Run{s.run}, nil
}

// readLog reads what was printed.
func readLog(ctx context.Context, src trace.Source) ([]*trace.Run, error) {
	runs, starts := []*trace.Run{trace.NewRun(src, Format)}, []int{0}
	s := newSession(runs[0])
	var rec trace.Object
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		line := sc.Record()
		rec.Take(line.Value)
		if id := rec.Get("sessionID").Text(); id != "" {
			if s.run.ID != "" && id != s.run.ID {
				s.finishLog()
				s = newSession(trace.NewRun(src, Format))
				runs, starts = append(runs, s.run), append(starts, line.Pos.Line)
			}
			s.run.ID = id
		}
		s.count(s.event(&rec, line))
	}
	s.finishLog()
	whole := trace.NewRun(src, Format)
	if err := sc.Finish(whole); err != nil {
		return nil, err
	}
	trace.Share(whole, runs, starts)
	return runs, nil
}

// event reads one record of a log. It tells whether its kind carries evidence.
func (s *session) event(rec *trace.Object, line trace.Record) bool {
	switch rec.Get("type").Text() {
	case "tool_use", "text", "step_start", "step_finish":
		if s.run.Started.IsZero() {
			s.run.Started = millis(rec.Get("timestamp"))
		}
		return s.part(rec.Get("part"), line.Pos, line.Body())
	case "error":
		s.run.Ended, s.run.EndReason = true, textOr(rec.Path("error", "name"), "error")
		return true
	default:
		return false
	}
}

// finishLog is finish for a log, in which a call that is running does not stand.
func (s *session) finishLog() {
	if s.inStep {
		s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: s.last, Reason: "the log ends within a step: a call that had not ended is not in it"})
	}
	s.finish()
}
