package trace

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// grammar checks records fast and notes where their members stand. What it
// accepts, check accepts too and gives the same end; what it refuses may still be
// JSON (a text that is near to damage, or nests too deep for it), so that check
// has the last word, and the words for what is wrong.
type grammar struct {
	*index
	text    []byte   // up to the end of the line: of the index's text a beginning
	members []member // where they stand in their record
	shapes  shapes
	objects [MaxDepth/64 + 1]uint64 // by level, whether it is an object and no list
}

// record passes the object that begins at text[start] and appends its members. It
// returns where the object ends, -1 where it cannot tell.
func (g *grammar) record(start int) int {
	b, at, have := g.text, &g.shapes.root, len(g.members)
	i := start // what stands before the next value begins here
	for {
		var m member
		if next := at.follow(g.index.text, i); next != nil {
			m = next.memberAt(uint32(i - start))
			at = next
		} else {
			var ok bool
			if m, ok = g.member(start, i, have); !ok {
				return g.empty(start, i)
			}
			at = g.shapes.learn(at, b[i:start+int(m.value)], m, uint32(i-start))
		}
		if i = g.value(start + int(m.value)); i < 0 {
			return -1
		}
		m.end = uint32(i - start)
		g.members = append(g.members, m)
		if i < len(b) && b[i] == '}' {
			return i + 1
		}
		if j := skipSpace(b, i); j < len(b) && b[j] == '}' {
			return j + 1
		}
	}
}

// empty returns the end of the object at text[start] if it has no members: then i
// is its start too.
func (g *grammar) empty(start, i int) int {
	if j := skipSpace(g.text, i+1); i == start && j < len(g.text) && g.text[j] == '}' {
		return j + 1
	}
	return -1
}

// member passes the bracket or comma at text[i], and a name up to its value. The
// name must not be that of a member of this record, from the index have on.
func (g *grammar) member(start, i, have int) (member, bool) {
	b := g.text
	if i != start {
		if i = skipSpace(b, i); i == len(b) || b[i] != ',' {
			return member{}, false
		}
	}
	i = skipSpace(b, i+1)
	end := g.stringEnd(i)
	if end < 0 || bytes.IndexByte(b[i:end], '\\') >= 0 {
		return member{}, false
	}
	value := g.colon(end)
	if value < 0 || g.twice(b[start:], have, b[i+1:end-1]) {
		return member{}, false
	}
	return member{name: uint32(i + 1 - start), nameEnd: uint32(end - 1 - start), value: uint32(value - start)}, true
}

// twice tells whether a member of the record, from the index have on, has the name. More members
// than records have in earnest count as well: comparing each with all would take
// too long.
func (g *grammar) twice(record []byte, have int, name []byte) bool {
	const many = 64
	list := g.members[have:]
	if len(list) > many {
		return true
	}
	for _, o := range list {
		if string(record[o.name:o.nameEnd]) == string(name) {
			return true
		}
	}
	return false
}

// stringEnd returns the end of the string that begins at text[i], -1 where none
// does.
func (g *grammar) stringEnd(i int) int {
	if i >= len(g.text) || g.text[i] != '"' {
		return -1
	}
	if end := g.stop(i + 1); end < len(g.text) && g.text[end] == '"' {
		return end + 1
	}
	return -1
}

// colon passes the colon behind a name and the spaces around it.
func (g *grammar) colon(i int) int {
	b := g.text
	if i = skipSpace(b, i); i == len(b) || b[i] != ':' {
		return -1
	}
	return skipSpace(b, i+1)
}

// value returns the end of the value that begins at text[i], -1 where none does.
func (g *grammar) value(i int) int {
	if i >= len(g.text) {
		return -1
	}
	switch g.text[i] {
	case '"':
		return g.stringEnd(i)
	case '{', '[':
		return g.nested(i, 1)
	default:
		return g.scalar(i)
	}
}

// scalar is value for numbers, booleans and null.
func (g *grammar) scalar(i int) int {
	rest := g.text[i:]
	switch {
	case rest[0] == 't' && len(rest) >= 4 && string(rest[:4]) == "true",
		rest[0] == 'n' && len(rest) >= 4 && string(rest[:4]) == "null":
		return i + 4
	case rest[0] == 'f' && len(rest) >= 5 && string(rest[:5]) == "false":
		return i + 5
	case rest[0] == '-' || isDigit(rest[0]):
		return numberEnd(g.text, i)
	}
	return -1
}

func isDigit(c byte) bool { return c-'0' < 10 }

// digitsAtStart returns how many of the eight bytes of a word, from the lowest on,
// are digits: with 0x30 taken out they are below ten, and adding 0x76 does not
// carry into bit 7.
func digitsAtStart(w uint64) int {
	const zeros, carry = 0x3030303030303030, 0x7676767676767676
	d := w ^ zeros
	return bits.TrailingZeros64(((d&lows+carry)|d)&tops) / 8
}

// digitsEnd returns the place behind the digits at b[i], of which there may be none.
func digitsEnd(b []byte, i int) int {
	for len(b)-i >= 8 {
		n := digitsAtStart(binary.LittleEndian.Uint64(b[i:]))
		if i += n; n < 8 {
			return i
		}
	}
	for i < len(b) && isDigit(b[i]) {
		i++
	}
	return i
}

// numberEnd returns the end of the number at b[i], -1 where it is none.
func numberEnd(b []byte, i int) int {
	if b[i] == '-' {
		i++
	}
	start := i
	if i = digitsEnd(b, i); i == start || b[start] == '0' && i > start+1 {
		return -1
	}
	if i < len(b) && b[i] == '.' {
		start = i + 1
		if i = digitsEnd(b, start); i == start {
			return -1
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		start = i
		if i = digitsEnd(b, start); i == start {
			return -1
		}
	}
	return i
}

// nested returns the end of the list or object that begins at text[i], below so
// many levels. It keeps its own account of them, so that depth costs no goroutine
// stack.
func (g *grammar) nested(i, above int) int {
	b, depth := g.text, above
	object := false
	for {
		// A value begins at i.
		switch {
		case i >= len(b):
			return -1
		case b[i] == '"':
			if i = g.stringEnd(i); i < 0 {
				return -1
			}
		case b[i] == '{' || b[i] == '[':
			object = b[i] == '{'
			if depth == MaxDepth {
				return -1
			}
			g.open(depth, object)
			depth++
			if i = skipSpace(b, i+1); i < len(b) && b[i] == closer(object) {
				break // an empty one: it is closed below
			}
			if object {
				if i = g.name(i); i < 0 {
					return -1
				}
			}
			continue
		default:
			if i = g.scalar(i); i < 0 {
				return -1
			}
		}
		// A value has ended before i: close what ends with it.
		for {
			if i = skipSpace(b, i); i == len(b) {
				return -1
			}
			if b[i] == ',' {
				break
			}
			if b[i] != closer(object) {
				return -1
			}
			i++
			if depth--; depth == above {
				return i
			}
			object = g.isObject(depth - 1)
		}
		i = skipSpace(b, i+1)
		if object {
			if i = g.name(i); i < 0 {
				return -1
			}
		}
	}
}

// closer is what ends an object or list.
func closer(object bool) byte {
	if object {
		return '}'
	}
	return ']'
}

func (g *grammar) open(level int, object bool) {
	bit := uint64(1) << (level % 64)
	if object {
		g.objects[level/64] |= bit
	} else {
		g.objects[level/64] &^= bit
	}
}

func (g *grammar) isObject(level int) bool { return g.objects[level/64]>>(level%64)&1 != 0 }

// name passes a nested member's name and its colon.
func (g *grammar) name(i int) int {
	if i = g.stringEnd(i); i < 0 {
		return -1
	}
	return g.colon(i)
}
