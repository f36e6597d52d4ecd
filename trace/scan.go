package trace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// MaxLine is the longest line that is read, in bytes, its line end not counted. A
// longer one is a bad line.
const MaxLine = 256 << 20

// blockSize is how much is read at a time.
const blockSize = 256 << 10

// Record is one JSON object of a JSON Lines file.
type Record struct {
	Value
	Pos Position
}

// Scanner reads a JSON Lines source record by record: blank lines are skipped,
// several values on one line are several records, a byte-order mark at the start
// is ignored. What cannot be read is collected, never fatal.
//
//	sc := trace.NewScanner(ctx, src)
//	for sc.Next() {
//		rec := sc.Record()
//	}
//	if err := sc.Finish(run); err != nil { … }
//
// It holds one line in memory at a time.
type Scanner struct {
	ctx  context.Context
	src  Source
	hash hash.Hash

	buf   []byte // what block lies in
	block []byte // what was read and not yet handed out
	pos   int64  // offset of block[0]
	read  int64  // bytes read so far

	line    []byte // rest of the current line
	lineNo  int
	lineOff int64 // offset of line[0]
	maxLine int   // MaxLine; tests set less
	long    bool  // the current line is over maxLine and is being passed over

	rec  Record
	bad  []BadLine
	torn bool
	err  error
}

// NewScanner starts at the beginning of src.
func NewScanner(ctx context.Context, src Source) *Scanner {
	return &Scanner{ctx: ctx, src: src, hash: sha256.New(), maxLine: MaxLine}
}

// Record returns the record that Next has found; it is valid until the next call
// of Next.
func (s *Scanner) Record() Record { return s.rec }

// Next moves to the next record. It returns false at the end and after an error.
func (s *Scanner) Next() bool {
	for s.err == nil {
		start := skipSpace(s.line, 0)
		if start == len(s.line) {
			if !s.nextLine() {
				return false
			}
			continue
		}
		end, err := check(s.line, start)
		if err == nil && s.line[start] != '{' {
			err = fmt.Errorf("no JSON object")
		}
		if err == nil {
			err = Value{raw: s.line[start:end]}.UniqueNames()
		}
		if err != nil {
			s.badLine(err)
			continue
		}
		off := s.lineOff + int64(start)
		s.rec = Record{Value: Value{raw: s.line[start:end], offset: off}, Pos: Position{Line: s.lineNo, Offset: off}}
		s.line, s.lineOff = s.line[end:], s.lineOff+int64(end)
		return true
	}
	return false
}

// badLine gives up the rest of the current line. A last line without its line
// end is a run that is still being written rather than a damaged one.
func (s *Scanner) badLine(err error) {
	if s.torn {
		s.bad = append(s.bad, BadLine{Line: s.lineNo, Reason: "the last line is cut off: " + err.Error()})
	} else {
		s.bad = append(s.bad, BadLine{Line: s.lineNo, Reason: err.Error()})
	}
	s.line = nil
}

// UniqueNames refuses a record that names one of its own keys twice: which of the
// two is meant cannot be told.
func (v Value) UniqueNames() error {
	var few [16][]byte // enough for every known format; more names go to a map
	var many map[string]bool
	n := 0
	for k := range v.Members() {
		name := k.raw[1 : len(k.raw)-1]
		if bytes.IndexByte(name, '\\') >= 0 {
			name = []byte(k.Text())
		}
		twice := many[string(name)]
		for _, f := range few[:min(n, len(few))] {
			twice = twice || bytes.Equal(f, name)
		}
		if twice {
			return fmt.Errorf("the key %q stands twice", name[:min(len(name), 80)])
		}
		if n < len(few) {
			few[n] = name
		} else {
			if many == nil {
				many = map[string]bool{}
			}
			many[string(name)] = true
		}
		n++
	}
	return nil
}

// nextLine fills s.line with the next line, without its line end.
func (s *Scanner) nextLine() bool {
	scanned := 0 // how far block holds no line end
	for {
		if i := bytes.IndexByte(s.block[scanned:], '\n'); i >= 0 {
			i += scanned
			s.long = s.long || i > s.maxLine
			s.take(i, i+1)
			if !s.long {
				return true
			}
			s.tooLong()
			scanned = 0
			continue
		}
		if s.long || len(s.block) > s.maxLine {
			// Pass over it without keeping it.
			s.long = true
			s.pos += int64(len(s.block))
			s.block = nil
		}
		scanned = len(s.block)
		if more, err := s.fill(); err != nil {
			s.err = err
			return false
		} else if more {
			continue
		}
		if s.long {
			s.lineNo++
			s.tooLong()
			return false
		}
		if len(s.block) == 0 {
			return false
		}
		s.torn = true
		s.take(len(s.block), len(s.block))
		return true
	}
}

// tooLong ends the line that was passed over.
func (s *Scanner) tooLong() {
	s.long = false
	s.bad = append(s.bad, BadLine{Line: s.lineNo, Reason: fmt.Sprintf("longer than %d bytes", s.maxLine)})
	s.line = nil
}

// take makes block[:end] the current line and goes on behind next.
func (s *Scanner) take(end, next int) {
	s.lineNo++
	s.line, s.lineOff = s.block[:end], s.pos
	if s.lineNo == 1 {
		if rest, ok := bytes.CutPrefix(s.line, []byte("\xef\xbb\xbf")); ok {
			s.line, s.lineOff = rest, s.lineOff+3
		}
	}
	s.block, s.pos = s.block[next:], s.pos+int64(next)
}

// fill reads one more block behind what is there. False at the end.
func (s *Scanner) fill() (bool, error) {
	if err := s.ctx.Err(); err != nil {
		return false, err
	}
	want := min(int64(blockSize), s.src.Size-s.read)
	if want <= 0 {
		return false, nil
	}
	// The current line is used up when more is read, so the buffer can be reused:
	// what is left of it moves to the front, of a larger buffer where it must be.
	have := len(s.block)
	// It is copied once a line, not once a block.
	grow := len(s.buf)-have < int(want)
	if grow {
		s.buf = make([]byte, max(2*len(s.buf), have+blockSize))
	}
	if grow || have > 0 && &s.block[0] != &s.buf[0] {
		copy(s.buf, s.block)
	}
	s.block = s.buf[:have+int(want)]
	n, err := s.src.ReadAt(s.block[have:], s.read)
	s.block = s.block[:have+n]
	s.hash.Write(s.block[have:])
	s.read += int64(n)
	switch {
	case n > 0:
		return true, nil
	case err == nil || errors.Is(err, io.EOF):
		return false, nil // the file has become shorter: what is there is what counts
	default:
		return false, fmt.Errorf("read %s at byte %d: %w", s.src.Name, s.read, err)
	}
}

// Finish ends the reading: it hands what the Scanner has learnt of the file
// (hash, bad lines, torn end) to the run and returns the error that stopped it,
// if one did.
func (s *Scanner) Finish(run *Run) error {
	if s.err != nil {
		return s.err
	}
	s.hash.Sum(run.SHA256[:0])
	run.BadLines = append(run.BadLines, s.bad...)
	if n := len(s.bad); s.torn && n > 0 && s.bad[n-1].Line == s.lineNo {
		run.Torn = true
	}
	return nil
}

// Document is a whole file that is one JSON text, over any number of lines.
type Document struct {
	Value
	SHA256 [32]byte // of the file's bytes

	bytes   []byte
	seen    int64 // LineOf has counted up to here
	seenEnd int   // lines before seen
}

// ReadDocument reads the whole source, at most MaxLine bytes, as one JSON text.
// A source that is none, or is larger, gives a Document without a Value; an error
// means that it could not be read.
func ReadDocument(ctx context.Context, src Source) (*Document, error) {
	d := &Document{}
	if err := ctx.Err(); err != nil || src.Size > MaxLine {
		return d, err
	}
	b := make([]byte, src.Size)
	n, err := src.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", src.Name, err)
	}
	d.bytes = b[:n]
	d.SHA256 = sha256.Sum256(d.bytes)
	start := 0
	if bytes.HasPrefix(d.bytes, []byte("\xef\xbb\xbf")) {
		start = 3
	}
	v, err := ParseValue(d.bytes[start:])
	if err != nil || v.UniqueNames() != nil {
		return d, nil
	}
	v.offset += int64(start)
	d.Value = v
	return d, nil
}

// LineOf returns the line on which a value of the document begins. Asking in the
// order of the text is cheap.
func (d *Document) LineOf(v Value) int {
	if v.offset < d.seen {
		d.seen, d.seenEnd = 0, 0
	}
	d.seenEnd += bytes.Count(d.bytes[d.seen:v.offset], []byte{'\n'})
	d.seen = v.offset
	return 1 + d.seenEnd
}
