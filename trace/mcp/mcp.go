// Package mcp reads logs of the Model Context Protocol's JSON-RPC messages: one
// message a line, bare or wrapped ({ts, dir, message}), a list of them, or the
// text lines of Claude Desktop ("… Message from client: {…}"). Each tools/call is
// a call.
//
// A response belongs to the request of its id on the same connection that went the
// other way: servers send requests too, and count their ids on their own. In bare
// messages the direction is not recorded; where an id could mean either side, the
// form of the result tells.
//
// What is trusted, and why:
//
//   - isError of a result: true is a failure. Left out it means success, as the
//     protocol says; a text that begins like an error makes it suspect.
//   - A JSON-RPC error is a failure.
//   - A cancelled request gets no response. What its server had done by then
//     nobody knows: such a call has no end, unless one is recorded later.
//   - A result that only names a task is no end either; the task's own result is.
//
// There is no summary, and no end of a run: NoEndRecords. A connection that is
// initialized once more begins another Run: what was shown before is no evidence
// for what comes then.
package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "mcp"

// Read reads the sessions of a log in the order in which they begin.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		r := &reader{src: src, conns: map[string]*conn{}}
		r.begin(trace.Position{Line: 1})
		if err := r.read(ctx); err != nil {
			yield(nil, err)
			return
		}
		for _, run := range r.runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

// reader is what is remembered of a log while it is read.
type reader struct {
	src    trace.Source
	runs   []*trace.Run
	starts []trace.Position
	conns  map[string]*conn
	place  func(trace.Value) trace.Position
}

// begin starts a run.
func (r *reader) begin(pos trace.Position) {
	run := trace.NewRun(r.src, Format)
	run.NoEndRecords = true
	r.runs = append(r.runs, run)
	r.starts = append(r.starts, pos)
}

// run is the current one.
func (r *reader) run() *trace.Run { return r.runs[len(r.runs)-1] }

func (r *reader) read(ctx context.Context) error {
	text, err := isText(r.src)
	if err != nil {
		return err
	}
	if text {
		lines := trace.NewLines(ctx, r.src)
		r.place = func(v trace.Value) trace.Position {
			return trace.Position{Line: lines.Pos().Line, Offset: v.Body().Offset}
		}
		for lines.Next() {
			r.line(lines)
		}
		return trace.FinishAll(lines, r.runs, r.starts)
	}
	texts := trace.NewTexts(ctx, r.src)
	r.place = texts.Place
	for texts.Next() {
		r.record(texts.Record().Value)
	}
	return trace.FinishAll(texts, r.runs, r.starts)
}

// isText tells whether a log's first lines are text with messages in it.
func isText(src trace.Source) (bool, error) {
	head := make([]byte, min(src.Size, 256<<10))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s: %w", src.Name, err)
	}
	for line := range bytes.Lines(head[:n]) {
		if IsText(line) {
			return true, nil
		}
	}
	return false, nil
}

// record reads one JSON text: a message, a wrapped one, or a list of them.
func (r *reader) record(v trace.Value) {
	if v.Kind() == trace.KindArray {
		for e := range v.Elements() {
			r.record(e)
		}
		return
	}
	if isMessage(v) {
		r.message(v, from{})
		return
	}
	if m := wrapped(v); isMessage(m) {
		r.message(m, from{dir: direction(v), conn: connection(v), ts: firstGiven(v, "ts", "timestamp", "time").Time()})
		return
	}
	r.run().Ignored++
}

// line reads a line of Claude Desktop's logs. Lines without a message are what the
// program and its servers print beside them.
func (r *reader) line(lines *trace.Lines) {
	text := lines.Text()
	where, at, ok := logged(text)
	if !ok {
		r.run().Ignored++
		return
	}
	m, err := lines.JSON(at)
	if err == nil && !isMessage(m) {
		err = errors.New("no JSON-RPC message")
	}
	if err != nil {
		lines.Bad(err.Error())
		return
	}
	r.message(m, where)
}
