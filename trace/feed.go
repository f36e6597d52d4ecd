package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// blockSize is how much is read at a time.
const blockSize = 256 << 10

// feed reads a source from its beginning in blocks of whole lines. Buffers are
// the blocks' own and used again: memory that is touched for the first time costs
// more than reading a line does.
type feed struct {
	ctx     context.Context
	src     Source
	size    int // how much is read at a time
	maxLine int
	sum     *summer

	read    int64  // bytes read so far
	lines   int    // lines handed out so far
	carry   []byte // the beginning of a line, in the buffer of the block before
	passing bool   // the current line is over maxLine: what comes of it is not kept
	ended   bool
	err     error // what ended it before the source did
}

// next fills a block. False at the end of the source and after an error; blocks
// that were handed out before it stay good.
func (f *feed) next(b *block) bool {
	if f.ended {
		return false
	}
	b.begin(f.carry)
	f.carry = nil
	for {
		n, err := f.fill(b)
		switch {
		case err != nil:
			f.ended, f.err = true, err
			return false
		case n == 0:
			f.ended = true
			return f.last(b)
		case f.passing && !f.passed(b, n):
		case f.whole(b, n):
			return true
		}
	}
}

// fill reads more behind what the block has, and returns how much: 0 at the end.
func (f *feed) fill(b *block) (int, error) {
	if err := f.ctx.Err(); err != nil {
		return 0, err
	}
	want := min(int64(f.size), f.src.Size-f.read)
	if want <= 0 {
		return 0, nil
	}
	n, err := f.src.ReadAt(b.room(int(want)), f.read)
	f.read += int64(n)
	if n == 0 && err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read %s at byte %d: %w", f.src.Name, f.read, err)
	}
	return n, nil // a file that has become shorter ends where it ends now
}

// whole takes n bytes that were read into the block, and tells whether it now
// holds whole lines; what stands behind the last of them is carried over.
func (f *feed) whole(b *block, n int) bool {
	fresh := len(b.buf)
	b.buf = b.buf[:fresh+n]
	end := bytes.LastIndexByte(b.buf[max(fresh, b.start):], '\n')
	if end < 0 {
		if len(b.buf)-b.start > f.maxLine {
			f.passing = true
			f.drop(b)
		}
		return false
	}
	end += max(fresh, b.start) + 1
	b.text, f.carry = b.buf[b.start:end], b.buf[end:]
	f.hand(b, len(f.carry))
	f.lines += bytes.Count(b.text, []byte{'\n'})
	return true
}

// passed looks for the end of a line that is passed over among n bytes that were
// read. It returns false where the line goes on.
func (f *feed) passed(b *block, n int) bool {
	end := bytes.IndexByte(b.buf[:n], '\n')
	if end < 0 {
		b.buf = b.buf[:n]
		f.drop(b)
		return false
	}
	f.tooLong(b)
	b.start = end + 1
	return true
}

// drop forgets what the block holds once it is hashed.
func (f *feed) drop(b *block) {
	f.sum.write(b.buf[b.hashed:])
	b.buf, b.start, b.hashed = b.buf[:0], 0, 0
}

// tooLong notes the line that was passed over.
func (f *feed) tooLong(b *block) {
	f.passing = false
	f.lines++
	b.bad = append(b.bad, BadLine{Line: f.lines, Reason: fmt.Sprintf("longer than %d bytes", f.maxLine)})
}

// last makes a block of what stands behind the last line end, if anything does.
func (f *feed) last(b *block) bool {
	if f.passing {
		f.tooLong(b)
		return true
	}
	b.text, b.torn = b.buf[b.start:], true
	f.hand(b, 0)
	if len(b.text) > 0 {
		f.lines++
	}
	return len(b.text)+len(b.bad) > 0
}

// hand tells the block where its text lies; behind bytes were read beyond it.
func (f *feed) hand(b *block, behind int) {
	b.line = f.lines
	b.offset = f.read - int64(behind) - int64(len(b.text))
}
