package trace

import "io"

// Behind returns src with a history before it: bytes of other files that it goes
// on from. What stands in src keeps its offsets; the history ends at 0 and begins
// at -len(history).
func Behind(history []byte, src Source) Source {
	src.ReaderAt = behind{history, src.ReaderAt}
	return src
}

type behind struct {
	history []byte
	own     io.ReaderAt
}

// ReadAt reads from one of the two: a Body lies wholly in the one or the other.
func (b behind) ReadAt(buf []byte, off int64) (int, error) {
	if off >= 0 {
		return b.own.ReadAt(buf, off)
	}
	at := off + int64(len(b.history))
	if at < 0 {
		return 0, io.ErrUnexpectedEOF
	}
	n := copy(buf, b.history[at:])
	if n < len(buf) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// Shifted returns a record of a history at the place that it has there.
func (r Record) Shifted(by int64) Record {
	r.offset += by
	r.Pos.Offset += by
	return r
}
