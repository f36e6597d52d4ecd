// Package claudestream reads what `claude -p` prints: the records of
// --output-format stream-json, the list of them that json prints with --verbose,
// and the one result that it prints without. Qwen Code prints the same form and is
// read here under a name of its own. One file in, one Run out.
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
		run := trace.NewRun(src, format)
		st := claudecode.NewStream(run, mute)
		done, err := document(ctx, src, run, st)
		if err == nil && !done {
			sc := trace.NewScanner(ctx, src)
			for sc.Next() {
				st.Take(sc.Record())
			}
			err = sc.Finish(run)
		}
		if err == nil {
			err = st.Finish()
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(run, nil)
	}
}

// document reads a file that is one JSON text: a list of records, or one record
// over several lines. It tells whether the file is one.
func document(ctx context.Context, src trace.Source, run *trace.Run, st *claudecode.Stream) (bool, error) {
	if !mayBeDocument(src) {
		return false, nil
	}
	doc, err := trace.ReadDocument(ctx, src)
	if err != nil || doc.Kind() != trace.KindArray && doc.Kind() != trace.KindObject {
		return false, err
	}
	run.SHA256 = doc.SHA256
	take := func(v trace.Value) {
		pos := trace.Position{Line: doc.LineOf(v), Offset: v.Body().Offset}
		if err := v.UniqueNames(); v.Kind() != trace.KindObject || err != nil {
			run.BadLines = append(run.BadLines, trace.BadLine{Line: pos.Line, Reason: "an element that is no record"})
			return
		}
		st.Take(trace.Record{Value: v, Pos: pos})
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
