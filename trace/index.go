package trace

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// index knows of a text, 64 bytes at a time, where its strings can end and where
// a closer look is needed. It is made in one pass without a branch for each
// string, so that what stands in the text hardly decides how long it takes; the
// grammar then steps from string to string by it.
type index struct {
	// stops has a bit for each byte of the text: set at quotes and control
	// characters that no backslash escapes. A string ends at the first of them
	// behind its opening quote, and is damaged if that one is no quote. Outside of
	// strings the bits mean nothing.
	stops []uint64
	// notes has a byte for each 64 bytes of the text.
	notes []note

	text    []byte
	escaped [1024]uint32 // places behind a backslash that are still to be looked at
	waiting int          // how many of them
	from    int          // the chunk in which the first of them may lie
}

// note is what is to be known of 64 bytes of a text.
type note uint8

const (
	noteSuspect note = 1 << iota // damaged, or near to what is: check decides
	noteEscapes                  // something is escaped
	noteWide                     // not only ASCII
)

// chunkSize is how many bytes one word of stops stands for.
const chunkSize = 64

// build makes x the index of a text. It may be of several lines: a line's
// opening and closing quotes are told apart by where the grammar starts, so that
// a damaged line has no effect on the next.
func (x *index) build(text []byte) {
	n := (len(text) + chunkSize - 1) / chunkSize
	if cap(x.stops) < n {
		x.stops = make([]uint64, n+n/8)
		x.notes = make([]note, n+n/8)
	}
	x.text, x.stops, x.notes = text, x.stops[:n], x.notes[:n]
	x.waiting, x.from = 0, 0
	carry := uint64(0) // 1: the chunk before ended in a backslash that escapes
	for k := range x.stops {
		carry = x.chunk(k, carry)
	}
	x.lookAtEscapes(n - 1)
	x.lookAtWide()
}

// chunk indexes 64 bytes and returns the carry for the next ones.
func (x *index) chunk(k int, carry uint64) uint64 {
	c := x.bytes(k)
	var stops, slashes uint64
	x.notes[k] = 0
	if isASCII(c) {
		stops, slashes = stopsIn(c), slashesIn(c)
	} else {
		x.notes[k] = noteWide
		stops, slashes = stopsInWide(c), slashesInWide(c)
	}
	stops = transpose(stops)
	if slashes|carry != 0 {
		var escaped uint64
		escaped, carry = escapedBy(transpose(slashes), carry)
		stops &^= escaped
		x.notes[k] |= noteEscapes
		x.collect(escaped, k)
	}
	x.stops[k] = stops
	return carry
}

// bytes returns the bytes of a chunk; the last one is filled up with spaces.
func (x *index) bytes(k int) *[chunkSize]byte {
	rest := x.text[k*chunkSize:]
	if len(rest) >= chunkSize {
		return (*[chunkSize]byte)(rest)
	}
	var last [chunkSize]byte
	for i := copy(last[:], rest); i < chunkSize; i++ {
		last[i] = ' '
	}
	return &last
}

// Below, eight bytes are looked at in one word. A mask has the lowest bit of each
// byte set that is looked for; masks of the eight words of a chunk are put beside
// each other, word j's in bit j of each byte, and transpose sorts them.
const (
	lows = 0x7f7f7f7f7f7f7f7f
	tops = 0x8080808080808080
)

func word(c *[chunkSize]byte, j int) uint64 { return binary.LittleEndian.Uint64(c[j*8:]) }

func isASCII(c *[chunkSize]byte) bool {
	return (word(c, 0)|word(c, 1)|word(c, 2)|word(c, 3)|word(c, 4)|word(c, 5)|word(c, 6)|word(c, 7))&tops == 0
}

// stopMask finds quotes and control characters among ASCII. Flipping the bit of
// value 2 maps the quote to 0x20 and the control characters among themselves, so
// that they are what is below 0x21; adding 0x5f carries all others into bit 7.
func stopMask(w uint64) uint64 {
	const flip, carry = 0x0202020202020202, 0x5f5f5f5f5f5f5f5f
	return ^((w ^ flip) + carry) & tops >> 7
}

// stopMaskWide is stopMask for all bytes: bit 7 is kept out of the sum and counts
// as not found.
func stopMaskWide(w uint64) uint64 {
	const flip, carry = 0x0202020202020202, 0x5f5f5f5f5f5f5f5f
	return ^(((w^flip)&lows + carry) | w) & tops >> 7
}

// slashMask finds backslashes among ASCII: only they differ from one in no bit,
// and adding 0x7f carries every difference into bit 7.
func slashMask(w uint64) uint64 {
	const slash = 0x5c5c5c5c5c5c5c5c
	return ^((w ^ slash) + lows) & tops >> 7
}

func slashMaskWide(w uint64) uint64 {
	const slash = 0x5c5c5c5c5c5c5c5c
	return ^(((w^slash)&lows + lows) | w) & tops >> 7
}

func stopsIn(c *[chunkSize]byte) uint64 {
	return stopMask(word(c, 0)) | stopMask(word(c, 1))<<1 | stopMask(word(c, 2))<<2 | stopMask(word(c, 3))<<3 |
		stopMask(word(c, 4))<<4 | stopMask(word(c, 5))<<5 | stopMask(word(c, 6))<<6 | stopMask(word(c, 7))<<7
}

func stopsInWide(c *[chunkSize]byte) uint64 {
	return stopMaskWide(word(c, 0)) | stopMaskWide(word(c, 1))<<1 | stopMaskWide(word(c, 2))<<2 | stopMaskWide(word(c, 3))<<3 |
		stopMaskWide(word(c, 4))<<4 | stopMaskWide(word(c, 5))<<5 | stopMaskWide(word(c, 6))<<6 | stopMaskWide(word(c, 7))<<7
}

func slashesIn(c *[chunkSize]byte) uint64 {
	return slashMask(word(c, 0)) | slashMask(word(c, 1))<<1 | slashMask(word(c, 2))<<2 | slashMask(word(c, 3))<<3 |
		slashMask(word(c, 4))<<4 | slashMask(word(c, 5))<<5 | slashMask(word(c, 6))<<6 | slashMask(word(c, 7))<<7
}

func slashesInWide(c *[chunkSize]byte) uint64 {
	return slashMaskWide(word(c, 0)) | slashMaskWide(word(c, 1))<<1 | slashMaskWide(word(c, 2))<<2 | slashMaskWide(word(c, 3))<<3 |
		slashMaskWide(word(c, 4))<<4 | slashMaskWide(word(c, 5))<<5 | slashMaskWide(word(c, 6))<<6 | slashMaskWide(word(c, 7))<<7
}

// transpose turns bit j of byte i into bit i of byte j, so that bit n of the
// result stands for byte n of the chunk.
func transpose(x uint64) uint64 {
	t := (x ^ x>>7) & 0x00aa00aa00aa00aa
	x ^= t ^ t<<7
	t = (x ^ x>>14) & 0x0000cccc0000cccc
	x ^= t ^ t<<14
	t = (x ^ x>>28) & 0x00000000f0f0f0f0
	return x ^ t ^ t<<28
}

// escapedBy returns which bytes backslashes escape: those behind an odd run of
// them. A run's parity comes out of an addition: it carries through the run, and
// where the run began at an odd place it leaves the other bits behind.
func escapedBy(slashes, carry uint64) (escaped, next uint64) {
	const even = 0x5555555555555555
	slashes &^= carry
	follows := slashes<<1 | carry
	odd := slashes &^ even &^ follows
	sum, next := bits.Add64(odd, slashes, 0)
	return (even ^ sum<<1) & follows, next
}

// collect keeps the places that are escaped until there are enough of them to be
// looked at in one go. Eight are written at once, used or not: how many there are
// in a chunk is what a processor cannot guess.
func (x *index) collect(escaped uint64, k int) {
	if x.waiting > len(x.escaped)-chunkSize {
		x.lookAtEscapes(k)
	}
	at := uint32(k) * chunkSize
	count := bits.OnesCount64(escaped)
	out := (*[8]uint32)(x.escaped[x.waiting:])
	for j := range out {
		out[j] = at + uint32(bits.TrailingZeros64(escaped))
		escaped &= escaped - 1
	}
	for j := x.waiting + len(out); escaped != 0; j++ {
		x.escaped[j] = at + uint32(bits.TrailingZeros64(escaped))
		escaped &= escaped - 1
	}
	x.waiting += count
}

// lookAtEscapes marks the chunks up to k as suspect if something is escaped in
// them that JSON does not escape.
func (x *index) lookAtEscapes(k int) {
	all := escapeKnown | escapeShort
	for _, i := range x.escaped[:x.waiting] {
		if int(i) < len(x.text) {
			all &= escapes[x.text[i]]
		}
	}
	if all&escapeKnown == 0 || all&escapeShort == 0 && !x.hexFollows() {
		x.suspect(x.from, k+1)
	}
	x.waiting, x.from = 0, k
}

// hexFollows tells whether each \u that waits is followed by four hex digits.
func (x *index) hexFollows() bool {
	for _, i := range x.escaped[:x.waiting] {
		if int(i) >= len(x.text) || x.text[i] != 'u' {
			continue
		}
		if d := x.text[i+1:]; len(d) < 4 || !isHex(d[0]) || !isHex(d[1]) || !isHex(d[2]) || !isHex(d[3]) {
			return false
		}
	}
	return true
}

// escape says what a character behind a backslash is. The zero escape is none.
type escape uint8

const (
	escapeKnown escape = 1 << iota // JSON has it
	escapeShort                    // nothing has to follow
)

var escapes = [256]escape{
	'"': escapeKnown | escapeShort, '\\': escapeKnown | escapeShort, '/': escapeKnown | escapeShort,
	'b': escapeKnown | escapeShort, 'f': escapeKnown | escapeShort, 'n': escapeKnown | escapeShort,
	'r': escapeKnown | escapeShort, 't': escapeKnown | escapeShort,
	'u': escapeKnown,
}

// lookAtWide checks that what is not ASCII is UTF-8. A run of chunks that are not
// only ASCII begins and ends where characters do, if it is UTF-8 at all: what
// stands before and behind it is ASCII, or nothing.
func (x *index) lookAtWide() {
	for k := 0; k < len(x.notes); k++ {
		if x.notes[k]&noteWide == 0 {
			continue
		}
		from := k
		for k < len(x.notes) && x.notes[k]&noteWide != 0 {
			k++
		}
		if !utf8.Valid(x.text[from*chunkSize : min(k*chunkSize, len(x.text))]) {
			x.suspect(from, k)
		}
	}
}

func (x *index) suspect(from, to int) {
	for k := from; k < to; k++ {
		x.notes[k] |= noteSuspect
	}
}

// noted tells whether any chunk that holds a byte of text[from:to] has the note.
func (x *index) noted(from, to int, n note) bool {
	var all note
	for _, have := range x.notes[from/chunkSize : (to+chunkSize-1)/chunkSize] {
		all |= have
	}
	return all&n != 0
}

// stop returns the place of the first stop at or behind i, the text's length
// where there is none.
func (x *index) stop(i int) int {
	k := i / chunkSize
	if k >= len(x.stops) {
		return len(x.text)
	}
	if rest := x.stops[k] >> (i % chunkSize); rest != 0 {
		return i + bits.TrailingZeros64(rest)
	}
	return x.stopBehind(k)
}

// stopBehind returns the first stop behind chunk k.
func (x *index) stopBehind(k int) int {
	for k++; k < len(x.stops); k++ {
		if x.stops[k] != 0 {
			return k*chunkSize + bits.TrailingZeros64(x.stops[k])
		}
	}
	return len(x.text)
}
