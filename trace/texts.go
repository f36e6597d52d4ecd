package trace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Texts reads a source that is either JSON Lines or JSON texts over several lines:
// one document, a list, or documents one behind the other. Lines are read as the
// Scanner reads them; everything else is held in memory, at most MaxLine bytes.
// A record is an object, or a list where the source is no JSON Lines.
//
//	texts := trace.NewTexts(ctx, src)
//	for texts.Next() {
//		rec := texts.Record()
//	}
//	if err := texts.Finish(run); err != nil { … }
//
// What cannot be read is collected, never fatal. Behind damage in a text over
// several lines reading goes on at the next line that begins with an object.
type Texts struct {
	sc  *Scanner
	err error

	doc  []byte // what was read whole; nil for JSON Lines
	at   int    // where the next text is looked for
	rec  Record
	bad  []BadLine
	torn bool
	sum  [32]byte

	objects bool // it begins with an object, so that others may follow damage

	counted, line int // lines of doc[:counted]
}

// NewTexts starts at the beginning of src.
func NewTexts(ctx context.Context, src Source) *Texts {
	t := &Texts{}
	var whole bool
	if whole, t.err = overLines(src); t.err == nil && whole {
		t.err = t.load(ctx, src)
	}
	if t.doc == nil {
		t.sc = NewScanner(ctx, src)
	}
	return t
}

// overLines tells whether the lines of a source say nothing by themselves: it
// begins with a list, or with an object that goes on behind the line on which it
// begins.
func overLines(src Source) (bool, error) {
	for size := int64(4 << 10); ; size *= 16 {
		size = min(size, src.Size, MaxLine)
		head := make([]byte, size)
		n, err := src.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return false, fmt.Errorf("read %s: %w", src.Name, err)
		}
		text := bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
		if len(text) > 0 && text[0] != '{' {
			return text[0] == '[', nil
		}
		line, _, ended := bytes.Cut(text, []byte("\n"))
		if !ended && int64(n) == size && size < min(src.Size, MaxLine) {
			continue // the first line is longer
		}
		if len(line) == 0 || !ended {
			return false, nil
		}
		line = bytes.TrimRight(line, " \t\r")
		end, err := check(line, 0)
		return err != nil && end >= len(line), nil
	}
}

// load reads the source whole.
func (t *Texts) load(ctx context.Context, src Source) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if src.Size > MaxLine {
		t.doc, t.bad = []byte{}, []BadLine{{Line: 1, Reason: fmt.Sprintf("a document longer than %d bytes", MaxLine)}}
		return nil
	}
	doc := make([]byte, src.Size)
	n, err := src.ReadAt(doc, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", src.Name, err)
	}
	t.doc = doc[:n]
	t.sum = sha256.Sum256(t.doc)
	if bytes.HasPrefix(t.doc, []byte("\xef\xbb\xbf")) {
		t.at = 3
	}
	start := skipSpace(t.doc, t.at)
	t.objects = start < len(t.doc) && t.doc[start] == '{'
	return nil
}

// Record returns the record that Next has found; it is valid until the next call
// of Next.
func (t *Texts) Record() Record { return t.rec }

// Next moves to the next record. It returns false at the end and after an error.
func (t *Texts) Next() bool {
	if t.err != nil {
		return false
	}
	if t.doc == nil {
		if !t.sc.Next() {
			return false
		}
		t.rec = t.sc.Record()
		return true
	}
	for {
		start := skipSpace(t.doc, t.at)
		if start == len(t.doc) {
			return false
		}
		end, err := check(t.doc, start)
		v := Value{raw: t.doc[start:end], offset: int64(start)}
		if err == nil && v.Kind() != KindObject && v.Kind() != KindArray {
			err = errors.New("neither an object nor a list")
		}
		if err == nil {
			err = v.UniqueNames()
		}
		if err != nil {
			t.pass(start, end, err)
			continue
		}
		t.at = end
		t.rec = Record{Value: v, Pos: t.place(start)}
		return true
	}
}

// pass notes that a text could not be read and goes on where another may begin.
func (t *Texts) pass(start, end int, err error) {
	bad := BadLine{Line: t.place(min(end, len(t.doc))).Line, Reason: err.Error()}
	next := bytes.Index(t.doc[start:], []byte("\n{"))
	switch {
	case next >= 0 && t.objects:
		t.at = start + next + 1
	case end >= len(t.doc):
		t.torn = true
		bad.Reason = "the document is cut off: " + bad.Reason
		t.at = len(t.doc)
	default:
		t.at = len(t.doc)
	}
	t.bad = append(t.bad, bad)
}

// Place returns where a value within the current record stands.
func (t *Texts) Place(v Value) Position {
	if t.doc == nil {
		return Position{Line: t.rec.Pos.Line, Offset: v.offset}
	}
	return t.place(int(v.offset))
}

// place counts lines. Asking in the order of the text is cheap.
func (t *Texts) place(at int) Position {
	if at < t.counted {
		t.counted, t.line = 0, 0
	}
	t.line += bytes.Count(t.doc[t.counted:at], []byte{'\n'})
	t.counted = at
	return Position{Line: t.line + 1, Offset: int64(at)}
}

// Lines tells whether the source is JSON Lines: each record one of many, and none
// the whole.
func (t *Texts) Lines() bool { return t.doc == nil }

// Finish ends the reading as Scanner.Finish does.
func (t *Texts) Finish(run *Run) error {
	if t.err != nil {
		return t.err
	}
	if t.doc == nil {
		return t.sc.Finish(run)
	}
	run.SHA256 = t.sum
	run.BadLines = append(run.BadLines, t.bad...)
	run.Torn = t.torn
	return nil
}

// FinishAll ends the reading of a source that holds several runs, one behind the
// other from starts on: a line that could not be read is missing from the run
// before it.
func FinishAll(of interface{ Finish(run *Run) error }, runs []*Run, starts []Position) error {
	var file Run
	if err := of.Finish(&file); err != nil {
		return err
	}
	for _, b := range file.BadLines {
		at := 0
		for i, p := range starts {
			if p.Line <= b.Line {
				at = i
			}
		}
		runs[at].BadLines = append(runs[at].BadLines, b)
	}
	for _, run := range runs {
		run.SHA256 = file.SHA256
		slices.SortStableFunc(run.BadLines, func(a, b BadLine) int { return a.Line - b.Line })
	}
	runs[len(runs)-1].Torn = file.Torn
	return nil
}
