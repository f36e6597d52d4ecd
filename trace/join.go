package trace

import (
	"errors"
	"io"
)

// Join puts a re-run's own trace behind the first one, so that both can be judged
// as one record: the first run's calls, then the second's, in order. Where the
// second's begin is the number of calls of the first. Statements, summary, end
// and usage are those of the second; ids of the second get a prefix that no other
// id has, since a re-run mints its ids anew and they mean nothing in the first.
func Join(first, second *Run) *Run {
	out := *second
	out.src = joined(first.src, second.src)
	out.Source = first.Source
	out.Format = first.Format
	shift := first.src.Size
	out.Calls = append([]Call(nil), first.Calls...)
	for _, c := range second.Calls {
		c.Pos.Offset += shift
		if c.ResultPos.Set() {
			c.ResultPos.Offset += shift
		}
		for _, b := range []*Body{&c.Args, &c.Result, &c.Structured, &c.Error, &c.Record, &c.Child} {
			if b.Present() {
				b.Offset += shift
			}
		}
		if c.ID != "" {
			c.ID = TextID("rerun:" + c.ID.String())
		}
		out.Calls = append(out.Calls, c)
	}
	out.Statements = nil
	out.Gaps = append(append([]Gap(nil), first.Gaps...), second.Gaps...)
	out.BadLines = append(append([]BadLine(nil), first.BadLines...), second.BadLines...)
	return &out
}

// joined reads two sources one behind the other.
func joined(a, b Source) Source {
	return Source{Name: a.Name, Size: a.Size + b.Size, ReaderAt: pair{a, b}}
}

type pair struct{ a, b Source }

// ReadAt reads from one of the two: a Body lies wholly in the one or the other.
func (p pair) ReadAt(buf []byte, off int64) (int, error) {
	if off >= p.a.Size {
		return p.b.ReadAt(buf, off-p.a.Size)
	}
	if off+int64(len(buf)) > p.a.Size {
		n, err := p.a.ReadAt(buf[:p.a.Size-off], off)
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return n, err
	}
	return p.a.ReadAt(buf, off)
}
