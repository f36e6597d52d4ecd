package trace

import (
	"bytes"
	"errors"
	"fmt"
	"sync/atomic"
)

// block is a stretch of whole lines, and what was found in them.
type block struct {
	maxLine int

	buf    []byte // what was carried over, and what was read
	hashed int    // how much of it another block, or nobody, has to hash
	start  int    // of the text in buf

	text   []byte // the lines
	offset int64  // of the text in the source
	line   int    // lines before the text
	torn   bool   // the last line has no line end

	grammar grammar
	index   index
	records []found
	bad     []BadLine

	claimed atomic.Bool
	checked chan struct{} // closed when the lines are checked
	summed  chan struct{} // closed when they are hashed
}

// found is a record of a block.
type found struct {
	start, end uint32 // in the text
	line       int
	members    int // where its members end among the block's
}

// begin empties the block but for the beginning of a line.
func (b *block) begin(carry []byte) {
	b.buf = append(b.buf[:0], carry...)
	b.hashed, b.start = len(carry), 0
	b.text, b.torn = nil, false
	b.records, b.bad = b.records[:0], b.bad[:0]
	b.grammar.members = b.grammar.members[:0]
	b.claimed.Store(false)
	b.checked, b.summed = make(chan struct{}), nil
}

// room returns n free bytes behind what the block holds. A long line makes it grow
// by doubling: each of its bytes is moved about once.
func (b *block) room(n int) []byte {
	have := len(b.buf)
	if cap(b.buf)-have < n {
		grown := make([]byte, have, max(2*cap(b.buf), have+n+n/4))
		copy(grown, b.buf)
		b.buf = grown
	}
	return b.buf[have : have+n]
}

// fresh is what the block has to hash.
func (b *block) fresh() []byte { return b.buf[b.hashed:] }

// check finds the records and the bad lines. Whoever comes first does it; the
// other returns at once and may wait for checked.
func (b *block) check() {
	if !b.claimed.CompareAndSwap(false, true) {
		return
	}
	b.scan()
	close(b.checked)
}

func (b *block) scan() {
	b.index.build(b.text)
	b.grammar.index = &b.index
	no := b.line
	for start := 0; start < len(b.text); {
		no++
		end, next := len(b.text), len(b.text)
		if i := bytes.IndexByte(b.text[start:], '\n'); i >= 0 {
			end = start + i
			next = end + 1
		}
		if end-start > b.maxLine {
			b.torn = false // as where it is passed over: it is not known to be cut off
			b.bad = append(b.bad, BadLine{Line: no, Reason: fmt.Sprintf("longer than %d bytes", b.maxLine)})
		} else {
			b.scanLine(start, end, no)
		}
		start = next
	}
}

var errNoObject = errors.New("no JSON object")

// scanLine finds the records of the line text[start:end]. What is damaged costs
// the rest of the line.
func (b *block) scanLine(start, end, no int) {
	line := b.text[:end]
	if no == 1 && bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
		start += 3
	}
	b.grammar.text = line
	suspect := b.index.noted(start, end, noteSuspect)
	for i := skipSpace(line, start); i < end; i = skipSpace(line, i) {
		to := -1
		if line[i] == '{' && !suspect {
			to = b.quickly(i)
		}
		if to < 0 {
			var err error
			if to, err = b.slowly(line[start:], i-start); err != nil {
				b.badLine(no, err)
				return
			}
			to += start
		}
		b.records = append(b.records, found{uint32(i), uint32(to), no, len(b.grammar.members)})
		start, i = to, to
	}
}

// quickly passes the record at text[i] and notes its members; -1 where it cannot.
func (b *block) quickly(i int) int {
	have := len(b.grammar.members)
	end := b.grammar.record(i)
	if end < 0 {
		b.grammar.members = b.grammar.members[:have]
	}
	return end
}

// slowly is quickly where that one fails: it says what is wrong with the record.
func (b *block) slowly(line []byte, i int) (int, error) {
	end, err := check(line, i)
	if err != nil {
		return 0, err
	}
	if line[i] != '{' {
		return 0, errNoObject
	}
	rec := line[i:end]
	if err := (Value{raw: rec}).UniqueNames(); err != nil {
		return 0, err
	}
	for m, ok := firstMember(rec); ok; m, ok = nextMember(rec, m) {
		b.grammar.members = append(b.grammar.members, m)
	}
	return end, nil
}

// badLine notes a damaged line. A last line without its line end is a run that is
// still being written rather than a damaged one.
func (b *block) badLine(no int, err error) {
	reason := err.Error()
	if b.torn {
		reason = "the last line is cut off: " + reason
	}
	b.bad = append(b.bad, BadLine{Line: no, Reason: reason})
}

// record returns the record at an index.
func (b *block) record(i int) Record {
	r, members := &b.records[i], 0
	if i > 0 {
		members = b.records[i-1].members
	}
	off := b.offset + int64(r.start)
	return Record{
		Value:   Value{raw: b.text[r.start:r.end:r.end], offset: off},
		Pos:     Position{Line: r.line, Offset: off},
		members: b.grammar.members[members:r.members:r.members],
	}
}

// await returns when the block is checked.
func (b *block) await() {
	b.check()
	<-b.checked
}
