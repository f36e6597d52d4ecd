package trace

import "io"

// spillBase is where spilled values begin, far before every source. A Body with
// such an Offset is never shown.
const spillBase = -1 << 60

// Spill holds values that stand nowhere in a source as they are: within the text
// of a string, or put together by a reader. They lie in memory, so a reader spills
// what is small.
type Spill struct{ text []byte }

// Source returns src with the spilled values beside it; those that are added later
// are found too.
func (s *Spill) Source(src Source) Source {
	src.ReaderAt = spilled{s, src.ReaderAt}
	return src
}

// Add keeps a JSON text and returns the Body under which a Run finds it; the zero
// Body for what is no JSON text, and for one that no longer fits.
func (s *Spill) Add(raw []byte) Body {
	v, err := ParseValue(raw)
	if err != nil || len(s.text)+len(v.raw) > MaxLine {
		return Body{}
	}
	b := v.Body()
	b.Offset = spillBase + int64(len(s.text))
	s.text = append(s.text, v.raw...)
	return b
}

type spilled struct {
	spill *Spill
	own   io.ReaderAt
}

// ReadAt reads from one of the two: a Body lies wholly in the one or the other.
func (s spilled) ReadAt(buf []byte, off int64) (int, error) {
	at := off - spillBase
	if off >= 0 || at < 0 || at > int64(len(s.spill.text)) {
		return s.own.ReadAt(buf, off)
	}
	n := copy(buf, s.spill.text[at:])
	if n < len(buf) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}
