// Package claudestream reads what `claude -p` prints: the records of
// --output-format stream-json, the list of them that json prints with --verbose,
// and the one result that it prints without. Qwen Code prints the same form and is
// read here under a name of its own. One file in, one Run out, or one for each
// session of a log that is appended to.
//
// What is trusted is what package claudecode trusts in a session's file, whose
// messages these are, and beside it:
//
//   - The result at the end: subtype says how the run ended (is_error without a
//     subtype of its own is an error), permission_denials which calls were refused,
//     modelUsage what it cost. A stream without one was cut off.
//   - system/task_notification ends a call that went to the background.
//   - parent_tool_use_id marks the records of a sub-agent.
//
// Where only the result was printed, no call is known but those that were refused:
// that is a gap.
//
// Qwen flags is_error:false whatever the exit code of a command was, and writes the
// code nowhere: its shell calls are unknown unless they are flagged.
package claudestream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"

	"nightaudit/trace"
	"nightaudit/trace/claudecode"
)

// The names of these formats.
const (
	Format     = "claude-stream-json"
	QwenFormat = "qwen-stream-json"
)

// qwenShell is Qwen's tool that runs commands; no tool of Claude Code has its name.
const qwenShell = "run_shell_command"

// Read reads what Claude Code prints.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return read(ctx, src, Format, func(tool string) bool { return tool == qwenShell })
}

// ReadQwen reads what Qwen Code prints. A result whose call is missing may be that
// of a command.
func ReadQwen(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return read(ctx, src, QwenFormat, func(tool string) bool { return tool == qwenShell || tool == "" })
}

func read(ctx context.Context, src trace.Source, format string, mute func(string) bool) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		p := &printed{src: src, format: format, mute: mute, whole: trace.NewRun(src, format)}
		p.begin(0)
		runs, err := p.read(ctx)
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

// printed is a file of what was printed: one session, or several behind each other
// where a log is appended to.
type printed struct {
	src    trace.Source
	format string
	mute   func(string) bool

	whole   *trace.Run // what is learnt of the file
	runs    []*trace.Run
	starts  []int // lines
	streams []*claudecode.Stream
}

// begin begins a session.
func (p *printed) begin(line int) {
	run := trace.NewRun(p.src, p.format)
	p.runs, p.starts = append(p.runs, run), append(p.starts, line)
	p.streams = append(p.streams, claudecode.NewStream(run, p.mute))
}

// take hands a record to the session that it belongs to.
func (p *printed) take(rec trace.Record) {
	last := len(p.runs) - 1
	if rec.Get("type").Text() == "system" && rec.Get("subtype").Text() == "init" {
		if id := rec.Get("session_id").Text(); p.runs[last].ID != "" && id != p.runs[last].ID {
			p.begin(rec.Pos.Line)
			last++
		}
	}
	p.streams[last].Take(rec)
}

func (p *printed) read(ctx context.Context) ([]*trace.Run, error) {
	done, err := p.document(ctx)
	if err != nil {
		return nil, err
	}
	if !done {
		sc := trace.NewScanner(ctx, p.src)
		for sc.Next() {
			p.take(sc.Record())
		}
		if err := sc.Finish(p.whole); err != nil {
			return nil, err
		}
	}
	for _, st := range p.streams {
		if err := st.Finish(); err != nil {
			return nil, err
		}
	}
	trace.Share(p.whole, p.runs, p.starts)
	return p.runs, nil
}

// document reads a file that is one JSON text: a list of records, or one record
// over several lines. It tells whether the file is one.
func (p *printed) document(ctx context.Context) (bool, error) {
	if !mayBeDocument(p.src) {
		return false, nil
	}
	doc, err := trace.ReadDocument(ctx, p.src)
	if err != nil || doc.Kind() != trace.KindArray && doc.Kind() != trace.KindObject {
		return false, err
	}
	p.whole.SHA256 = doc.SHA256
	take := func(v trace.Value) {
		pos := trace.Position{Line: doc.LineOf(v), Offset: v.Body().Offset}
		if err := v.UniqueNames(); v.Kind() != trace.KindObject || err != nil {
			p.whole.BadLines = append(p.whole.BadLines, trace.BadLine{Line: pos.Line, Reason: "an element that is no record"})
			return
		}
		p.take(trace.Record{Value: v, Pos: pos})
	}
	if doc.Kind() == trace.KindObject {
		take(doc.Value)
	}
	for v := range doc.Elements() {
		take(v)
	}
	return true, nil
}

// mayBeDocument tells whether a file begins with a list, or with an object that
// goes on behind its first line.
func mayBeDocument(src trace.Source) bool {
	head := make([]byte, min(src.Size, 64<<10))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false // the fault comes up again when the file is read
	}
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(head) == 0 || head[0] != '{' {
		return len(head) > 0 && head[0] == '['
	}
	line, _, whole := bytes.Cut(head, []byte("\n"))
	_, err = trace.ParseValue(line)
	return whole && err != nil
}
