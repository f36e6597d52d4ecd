// Package custom reads traces of any form by a jq filter of the operator's: each
// JSON value of a file goes into the filter, and what comes out are records of the
// native format (tool_call, tool_result, summary, …), which are read as such.
//
// The flags of the records mean what the filter's author says they mean. A value
// that the filter fails on, or makes something else of than objects, is a bad
// line: it costs itself, and absence can no longer be concluded from the run.
// Places are those of the lines that the records were made of.
package custom

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/itchyny/gojq"

	"nightaudit/trace"
	"nightaudit/trace/native"
)

const (
	// maxText bounds the records that a file is made into: they are held in memory.
	maxText = 256 << 20
	// maxRecords bounds those of one value: a filter may repeat for ever.
	maxRecords = 100_000
)

// impure takes from a filter what would make the same trace give another run: the
// clock and the zone. It has no files and no environment to begin with.
const impure = `def now: error("now is not available here"); def localtime: error("localtime is not available here"); ` +
	`def strflocaltime(f): error("strflocaltime is not available here"); def mktime: error("mktime is not available here");` + "\n"

// Format is a format of the operator's own.
type Format struct {
	name string
	code *gojq.Code
}

// New compiles a filter. The error says where it is wrong.
func New(name, filter string) (*Format, error) {
	if _, err := gojq.Parse(filter); err != nil { // alone, so that places are its own
		return nil, fmt.Errorf("the jq filter of %s: %w", name, err)
	}
	query, err := gojq.Parse(impure + filter)
	if err != nil {
		return nil, fmt.Errorf("the jq filter of %s: %w", name, err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, fmt.Errorf("the jq filter of %s: %w", name, err)
	}
	return &Format{name: name, code: code}, nil
}

// Read reads a trace: always one Run, whose Format is the name of this one.
func (f *Format) Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(f.read(ctx, src))
	}
}

func (f *Format) read(ctx context.Context, src trace.Source) (*trace.Run, error) {
	m := &mapping{format: f, ctx: ctx}
	scanned := trace.NewRun(src, f.name) // takes in what is known of the file itself
	if err := m.file(src, scanned); err != nil {
		return nil, err
	}
	text := trace.Source{Name: src.Name, Size: int64(m.text.Len()), ReaderAt: bytes.NewReader(m.text.Bytes())}
	for run, err := range native.Read(ctx, text) {
		if err != nil {
			return nil, err
		}
		m.place(run)
		run.Format = f.name
		run.SHA256, run.Torn = scanned.SHA256, scanned.Torn
		run.BadLines = append(run.BadLines, scanned.BadLines...)
		run.BadLines = append(run.BadLines, m.bad...)
		slices.SortStableFunc(run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
		return run, nil
	}
	return nil, fmt.Errorf("read %s: the filter made no run", src.Name) // native.Read always yields one
}

// mapping is a file on its way through a filter.
type mapping struct {
	format *Format
	ctx    context.Context
	text   bytes.Buffer // the records made, one a line
	lines  []int        // for each line of text, the line that it was made of
	bad    []trace.BadLine
}

func (m *mapping) file(src trace.Source, scanned *trace.Run) error {
	document, err := trace.SpansLines(src)
	if err != nil {
		return err
	}
	if document {
		doc, err := trace.ReadDocument(m.ctx, src)
		if err != nil {
			return err
		}
		if doc.Kind() != trace.KindAbsent {
			scanned.SHA256 = doc.SHA256
			return m.value(doc.Value, 1)
		}
	}
	sc := trace.NewScanner(m.ctx, src)
	for sc.Next() {
		rec := sc.Record()
		if err := m.value(rec.Value, rec.Pos.Line); err != nil {
			return err
		}
	}
	return sc.Finish(scanned)
}

// value puts one value through the filter.
func (m *mapping) value(v trace.Value, line int) error {
	in, err := v.Decode()
	if err != nil {
		m.fail(line, err.Error())
		return nil
	}
	results := m.format.code.RunWithContext(m.ctx, in)
	for n := 0; ; n++ {
		out, ok := results.Next()
		if !ok {
			return nil
		}
		if n == maxRecords {
			m.fail(line, fmt.Sprintf("the filter makes more than %d records of it", maxRecords))
			return nil
		}
		if err, failed := out.(error); failed {
			if m.ctx.Err() != nil {
				return m.ctx.Err()
			}
			var halt *gojq.HaltError
			if errors.As(err, &halt) && halt.Value() == nil {
				return nil
			}
			m.fail(line, "the filter fails on it: "+err.Error())
			return nil
		}
		if err := m.add(out, line); err != nil {
			return err
		}
	}
}

// add takes in a record that the filter has made.
func (m *mapping) add(out any, line int) error {
	if out == nil {
		return nil // as good as empty
	}
	if _, ok := out.(map[string]any); !ok {
		m.fail(line, fmt.Sprintf("the filter makes %s of it, no object", gojq.TypeOf(out)))
		return nil
	}
	raw, err := json.Marshal(out)
	if err != nil { // NaN and infinity are no JSON
		m.fail(line, "the filter makes of it what is no JSON: "+err.Error())
		return nil
	}
	if m.text.Len()+len(raw) >= maxText {
		return fmt.Errorf("the jq filter of %s makes more than %d MiB of records", m.format.name, maxText>>20)
	}
	m.text.Write(raw)
	m.text.WriteByte('\n')
	m.lines = append(m.lines, line)
	return nil
}

func (m *mapping) fail(line int, reason string) {
	m.bad = append(m.bad, trace.BadLine{Line: line, Reason: reason})
}

// place gives everything in a run the line that it was made of.
func (m *mapping) place(run *trace.Run) {
	at := func(line int) int {
		if line < 1 || line > len(m.lines) {
			return line
		}
		return m.lines[line-1]
	}
	for i := range run.Calls {
		c := &run.Calls[i]
		c.Pos.Line, c.ResultPos.Line = at(c.Pos.Line), at(c.ResultPos.Line)
	}
	for i := range run.Statements {
		run.Statements[i].Pos.Line = at(run.Statements[i].Pos.Line)
	}
	for i := range run.Gaps {
		run.Gaps[i].Pos.Line = at(run.Gaps[i].Pos.Line)
	}
	for i := range run.BadLines {
		run.BadLines[i].Line = at(run.BadLines[i].Line)
	}
	run.SummaryPos.Line = at(run.SummaryPos.Line)
}
