package trace

import "encoding/binary"

// Traces are written by machines: record after record has the same members in the
// same order, written with the same spaces. A shape is what stands before a value
// of such a record (comma, name, colon and spaces, byte for byte), behind another
// shape or at the record's beginning. Where a record goes on as one before it did,
// one comparison passes the name, its quotes and its colon, and shows that it
// stands in the record only once: the record that the shape was learnt from was
// held against the grammar in full.
type shape struct {
	glue          string
	name, nameEnd uint32    // of the name in glue, without its quotes
	words, masks  [2]uint64 // the first 16 bytes of glue
	next          *shape    // what may follow, one beside the other
	beside        *shape
}

// Bounds of what is learnt: what comes after them is read without shapes.
const (
	maxGlue   = 64  // bytes
	maxBeside = 8   // shapes behind one
	maxShapes = 500 // in all
)

// shapes is what has been learnt from the records of a source.
type shapes struct {
	root  shape
	lost  shape // where nothing is learnt any more
	count int
}

// follow returns the shape behind s that text[i:] begins with, nil where none is
// known. A glue holds no line end, so one that fits lies in the line.
func (s *shape) follow(text []byte, i int) *shape {
	for n := s.next; n != nil; n = n.beside {
		if n.fits(text, i) {
			return n
		}
	}
	return nil
}

func (s *shape) fits(text []byte, i int) bool {
	if len(text)-i < 16 {
		return len(text)-i >= len(s.glue) && string(text[i:i+len(s.glue)]) == s.glue
	}
	head := text[i : i+16]
	return (binary.LittleEndian.Uint64(head)^s.words[0])&s.masks[0] == 0 &&
		(binary.LittleEndian.Uint64(head[8:])^s.words[1])&s.masks[1] == 0 &&
		(len(s.glue) <= 16 || len(text)-i >= len(s.glue) && string(text[i+16:i+len(s.glue)]) == s.glue[16:])
}

// learn adds what stands before the value of m behind s. Where there would be too
// much to compare with, it gives up on the rest of the record.
func (l *shapes) learn(s *shape, glue []byte, m member, from uint32) *shape {
	if s == &l.lost || len(glue) > maxGlue || l.count == maxShapes {
		return &l.lost
	}
	end, n := &s.next, 0
	for *end != nil {
		end = &(*end).beside
		if n++; n == maxBeside {
			return &l.lost
		}
	}
	l.count++
	*end = newShape(string(glue), m.name-from, m.nameEnd-from)
	return *end
}

// memberAt returns the member whose glue begins at a place of its record.
func (s *shape) memberAt(i uint32) member {
	return member{name: i + s.name, nameEnd: i + s.nameEnd, value: i + uint32(len(s.glue))}
}

func newShape(glue string, name, nameEnd uint32) *shape {
	s := &shape{glue: glue, name: name, nameEnd: nameEnd}
	var head, mask [16]byte
	for i := range copy(head[:], glue) {
		mask[i] = 0xff
	}
	for w := range s.words {
		s.words[w] = binary.LittleEndian.Uint64(head[w*8:])
		s.masks[w] = binary.LittleEndian.Uint64(mask[w*8:])
	}
	return s
}
