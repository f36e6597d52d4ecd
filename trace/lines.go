package trace

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Lines reads a source line by line, for logs whose lines are text with JSON in it.
// It is used as the Scanner is.
type Lines struct {
	ctx  context.Context
	src  Source
	r    *bufio.Reader
	hash hash.Hash

	line []byte
	pos  Position
	next int64 // where the next line begins
	last bool  // the current line has no line end
	bad  []BadLine
	torn bool
	err  error
}

// NewLines starts at the beginning of src.
func NewLines(ctx context.Context, src Source) *Lines {
	l := &Lines{ctx: ctx, src: src, hash: sha256.New()}
	l.r = bufio.NewReaderSize(io.TeeReader(io.NewSectionReader(src, 0, src.Size), l.hash), 64<<10)
	return l
}

// Next moves to the next line. It returns false at the end and after an error.
func (l *Lines) Next() bool {
	for l.err == nil && !l.last {
		if l.err = l.ctx.Err(); l.err != nil {
			return false
		}
		long := l.read()
		if l.err != nil || l.last && len(l.line) == 0 && !long {
			return false
		}
		if long {
			l.Bad(fmt.Sprintf("longer than %d bytes", MaxLine))
			continue
		}
		return true
	}
	return false
}

// read takes the next line, without its line end, and tells whether it is too long
// to be kept.
func (l *Lines) read() (long bool) {
	l.line = l.line[:0]
	l.pos = Position{Line: l.pos.Line + 1, Offset: l.next}
	for {
		part, err := l.r.ReadSlice('\n')
		l.next += int64(len(part))
		if long = long || len(l.line)+len(part) > MaxLine+1; !long {
			l.line = append(l.line, part...)
		}
		switch {
		case err == nil:
			if n := len(l.line); n > 0 && l.line[n-1] == '\n' {
				l.line = l.line[:n-1]
			}
			return long
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			l.last = true
			return long
		default:
			l.err = fmt.Errorf("read %s at byte %d: %w", l.src.Name, l.next, err)
			return long
		}
	}
}

// Text returns the current line; it is valid until the next call of Next.
func (l *Lines) Text() []byte { return l.line }

// Pos returns where the current line stands.
func (l *Lines) Pos() Position { return l.pos }

// JSON returns the JSON text that begins at byte i of the line.
func (l *Lines) JSON(i int) (Value, error) {
	end, err := check(l.line, i)
	if err != nil {
		return Value{}, err
	}
	return Value{raw: l.line[i:end], offset: l.pos.Offset + int64(i)}, nil
}

// Bad notes that the current line could not be read.
func (l *Lines) Bad(reason string) {
	l.torn = l.last
	l.bad = append(l.bad, BadLine{Line: l.pos.Line, Reason: reason})
}

// Finish ends the reading as Scanner.Finish does.
func (l *Lines) Finish(run *Run) error {
	if l.err != nil {
		return l.err
	}
	l.hash.Sum(run.SHA256[:0])
	run.BadLines = append(run.BadLines, l.bad...)
	run.Torn = l.torn
	return nil
}
