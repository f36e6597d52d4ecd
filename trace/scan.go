package trace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
)

// MaxLine is the longest line that is read, in bytes, its line end not counted. A
// longer one is a bad line.
const MaxLine = 256 << 20

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
// It holds a few blocks of the source in memory, or a few of its longest lines.
// Where there is more than one core, the blocks of a large source are checked and
// hashed ahead of the caller; what comes out is the same.
type Scanner struct {
	feed  feed
	sum   *summer
	depth int // how many blocks may be at work, the current one not counted

	ahead []*block // read, and being checked, in order
	free  []*block
	block *block // the current one
	at    int    // its next record

	rec  Record
	bad  []BadLine
	torn bool
}

// readAhead is how many blocks may be at work at a time, aheadBytes how much text
// may lie in them before another one is read.
const (
	readAhead  = 3
	aheadBytes = 4 << 20
)

// NewScanner starts at the beginning of src.
func NewScanner(ctx context.Context, src Source) *Scanner {
	s := &Scanner{depth: 1, sum: &summer{hash: sha256.New()}}
	if runtime.GOMAXPROCS(0) > 1 && src.Size > readAhead*blockSize {
		s.depth = readAhead
	}
	s.feed = feed{ctx: ctx, src: src, size: blockSize, maxLine: MaxLine, sum: s.sum}
	return s
}

// Record returns the record that Next has found; it is valid until the next call
// of Next.
func (s *Scanner) Record() Record { return s.rec }

// Next moves to the next record. It returns false at the end and after an error.
func (s *Scanner) Next() bool {
	for s.block == nil || s.at == len(s.block.records) {
		if !s.nextBlock() {
			return false
		}
	}
	s.rec = s.block.record(s.at)
	s.at++
	return true
}

// nextBlock makes the next block the current one.
func (s *Scanner) nextBlock() bool {
	if s.block != nil {
		s.sum.wait(s.block)
		s.free = append(s.free, s.block)
		s.block = nil
	}
	s.readAhead()
	if len(s.ahead) == 0 {
		return false
	}
	b := s.ahead[0]
	s.ahead = slices.Delete(s.ahead, 0, 1)
	b.await()
	s.block, s.at = b, 0
	s.bad = append(s.bad, b.bad...)
	s.torn = b.torn && len(b.bad) > 0 && b.bad[len(b.bad)-1].Line > b.line
	return true
}

// readAhead reads blocks and has their work begun.
func (s *Scanner) readAhead() {
	waiting := 0
	for _, b := range s.ahead {
		waiting += len(b.text)
	}
	for len(s.ahead) < s.depth && waiting < aheadBytes {
		b := s.spare()
		if !s.feed.next(b) {
			return
		}
		s.start(b)
		s.ahead = append(s.ahead, b)
		waiting += len(b.text)
	}
}

func (s *Scanner) spare() *block {
	n := len(s.free)
	if n == 0 {
		return &block{maxLine: s.feed.maxLine}
	}
	b := s.free[n-1]
	s.free = s.free[:n-1]
	return b
}

// start has a block checked and hashed: beside what the caller does where blocks
// are read ahead. Whoever wants the block before its turn has come checks it
// himself.
func (s *Scanner) start(b *block) {
	if s.depth == 1 {
		s.sum.write(b.fresh())
		return
	}
	turn := s.sum.turn(b)
	go func() {
		b.check()
		turn()
	}()
}

// Finish ends the reading: it hands what the Scanner has learnt of the file
// (hash, bad lines, torn end) to the run and returns the error that stopped it,
// if one did.
func (s *Scanner) Finish(run *Run) error {
	s.sum.rest()
	if s.feed.err != nil {
		return s.feed.err
	}
	s.sum.hash.Sum(run.SHA256[:0])
	run.BadLines = append(run.BadLines, s.bad...)
	run.Torn = run.Torn || s.torn
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
