package trace

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// Join puts a re-run's own trace behind the first one, so that both can be judged
// as one record: the first run's calls, then the second's, in order. Where the
// second's begin is the number of calls of the first. Summary, end and usage are
// those of the second; the claims and actions of neither are kept, since the
// caller says what is judged. Ids and batches of the second get a prefix that no
// id of the first has: a re-run mints its ids anew, and they mean nothing there.
func Join(first, second *Run) *Run {
	out := *second
	out.src = joined(first.src, second.src)
	out.Source = first.Source
	out.Format = first.Format
	shift := first.src.Size
	prefix := freePrefix(first.Calls)
	renamed := func(id ID) ID {
		if id == "" {
			return ""
		}
		return TextID(prefix + string(id)) // as JSON, so that "1" and 1 stay two
	}
	out.Calls = append([]Call(nil), first.Calls...)
	for _, c := range second.Calls {
		c.move(shift)
		c.ID, c.Parent = renamed(c.ID), renamed(c.Parent)
		if c.Batch != "" {
			c.Batch = prefix + c.Batch
		}
		out.Calls = append(out.Calls, c)
	}
	if out.SummaryPos.Set() {
		out.SummaryPos.Offset += shift
	}
	out.Statements = nil
	out.Gaps = append([]Gap(nil), first.Gaps...)
	for _, g := range second.Gaps {
		g.Pos.Offset += shift
		out.Gaps = append(out.Gaps, g)
	}
	out.BadLines = append(append([]BadLine(nil), first.BadLines...), second.BadLines...)
	return &out
}

// freePrefix returns a prefix that no id, parent or batch of the calls begins with.
func freePrefix(calls []Call) string {
	prefix := "rerun:"
	taken := func(c Call) bool {
		return strings.HasPrefix(c.ID.String(), prefix) || strings.HasPrefix(c.Parent.String(), prefix) || strings.HasPrefix(c.Batch, prefix)
	}
	for slices.ContainsFunc(calls, taken) {
		prefix = "re" + prefix
	}
	return prefix
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
