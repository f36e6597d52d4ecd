package trace

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"iter"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// Kind is the JSON kind of a Value.
type Kind uint8

// The kinds. KindAbsent is that of the zero Value.
const (
	KindAbsent Kind = iota
	KindNull
	KindBool
	KindNumber
	KindString
	KindArray
	KindObject
)

// Value is a JSON value inside a record: its bytes, looked into on demand. It
// comes from a record that the Scanner has checked whole, so walking it cannot
// fail; what is asked of the wrong kind is simply not there. A Value of a Record
// is valid only until the Scanner moves on.
type Value struct {
	raw    []byte
	offset int64
}

// ParseValue checks that raw is one JSON text and hands it out as a Value.
func ParseValue(raw []byte) (Value, error) {
	start := skipSpace(raw, 0)
	end := quickEnd(raw, start)
	if end < 0 {
		var err error
		if end, err = check(raw, start); err != nil {
			return Value{}, err
		}
	}
	if i := skipSpace(raw, end); i != len(raw) {
		return Value{}, &SyntaxError{Offset: int64(i), Reason: "something follows the value"}
	}
	return Value{raw: raw[start:end], offset: int64(start)}, nil
}

// quickEnd returns the end of the value at raw[start], -1 where check has to find
// it: in a text that is not worth an index, or has something wrong with it.
func quickEnd(raw []byte, start int) int {
	const worth = 16 << 10
	if len(raw) < worth {
		return -1
	}
	x := &index{}
	x.build(raw)
	if x.noted(0, len(raw), noteSuspect) {
		return -1
	}
	g := grammar{index: x, text: raw}
	if start < len(raw) && (raw[start] == '{' || raw[start] == '[') {
		return g.nested(start, 0)
	}
	return g.value(start)
}

// Kind returns the value's kind.
func (v Value) Kind() Kind {
	if len(v.raw) == 0 {
		return KindAbsent
	}
	switch v.raw[0] {
	case '{':
		return KindObject
	case '[':
		return KindArray
	case '"':
		return KindString
	case 't', 'f':
		return KindBool
	case 'n':
		return KindNull
	default:
		return KindNumber
	}
}

// Raw returns the value's bytes; nil where it is absent.
func (v Value) Raw() []byte { return v.raw }

// Body returns the value's place in the source.
func (v Value) Body() Body {
	if len(v.raw) == 0 {
		return Body{}
	}
	return Body{Offset: v.offset, Length: uint32(len(v.raw)), Sum: crc32.Checksum(v.raw, castagnoli)}
}

// Inner returns the object or list that a string holds as text, and the Body under
// which a Run finds it again. Every other value is returned as it is.
func (v Value) Inner() (Value, Body) {
	b := v.Body()
	if v.Kind() != KindString {
		return v, b
	}
	inner, err := ParseValue([]byte(v.Text()))
	if err != nil || inner.Kind() != KindObject && inner.Kind() != KindArray {
		return v, b
	}
	b.Inner = true
	return inner, b
}

// Given tells whether the value is there and not null.
func (v Value) Given() bool { return len(v.raw) > 0 && v.raw[0] != 'n' }

// Text returns a string's text, "" for every other kind.
func (v Value) Text() string {
	if v.Kind() != KindString {
		return ""
	}
	inner := v.raw[1 : len(v.raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(v.raw, &s) != nil {
		return ""
	}
	return s
}

// Flag reads a boolean: absent stays absent, another kind is FlagInvalid. Null
// counts as absent, since many writers give null for what they do not know.
func (v Value) Flag() Flag {
	switch v.Kind() {
	case KindAbsent, KindNull:
		return FlagAbsent
	case KindBool:
		if v.raw[0] == 't' {
			return FlagTrue
		}
		return FlagFalse
	default:
		return FlagInvalid
	}
}

// Int returns an integer that was written as one (201, not 201.0 or 2e2).
func (v Value) Int() (int64, bool) {
	if v.Kind() != KindNumber || bytes.ContainsAny(v.raw, ".eE") {
		return 0, false
	}
	n, err := json.Number(v.raw).Int64()
	return n, err == nil
}

// ExitCode reads a number as an exit code. Windows writes codes beyond 31 bits,
// and damage writes anything: what does not fit becomes the nearest that does,
// what is no integer the highest, so that only 0 is ever read as 0.
func (v Value) ExitCode() (code int32, ok bool) {
	if v.Kind() != KindNumber {
		return 0, false
	}
	if n, ok := v.Int(); ok {
		return int32(max(math.MinInt32, min(n, math.MaxInt32))), true
	}
	digits, _, _ := bytes.Cut(bytes.ToLower(v.raw), []byte("e"))
	if bytes.ContainsAny(digits, "123456789") {
		return math.MaxInt32, true
	}
	return 0, true // 0.0, -0e5
}

// Float returns a number, 0 for every other kind or out of range.
func (v Value) Float() float64 {
	if v.Kind() != KindNumber {
		return 0
	}
	f, err := json.Number(v.raw).Float64()
	if err != nil {
		return 0
	}
	return f
}

// ID returns a string or integer as an ID; "" for an empty string, for every other
// kind, and for a number that is out of range: nobody's id, and writing 1e999999
// out would cost megabytes.
func (v Value) ID() ID {
	switch v.Kind() {
	case KindString:
		return TextID(v.Text())
	case KindNumber:
		if len(v.raw) > 1000 {
			return ""
		}
		if bytes.ContainsAny(v.raw, ".eE") {
			f, err := json.Number(v.raw).Float64()
			if err != nil || f != math.Trunc(f) || f > 1<<53 || f < -(1<<53) {
				return ""
			}
			if i := bytes.IndexAny(v.raw, "eE"); i >= 0 {
				if exp, err := strconv.Atoi(string(v.raw[i+1:])); err != nil || exp < -1000 || exp > 1000 {
					return ""
				}
			}
		}
		if n, ok := new(big.Rat).SetString(string(v.raw)); ok && n.IsInt() {
			return ID(n.Num().String())
		}
	}
	return ""
}

// TextID returns the ID of a string; "" for the empty one.
func TextID(s string) ID {
	if s == "" {
		return ""
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil {
		return ""
	}
	return ID(strings.TrimSuffix(b.String(), "\n"))
}

// String returns the id as people write it, without quotes.
func (id ID) String() string {
	if len(id) > 0 && id[0] == '"' {
		var s string
		if json.Unmarshal([]byte(id), &s) == nil {
			return s
		}
	}
	return string(id)
}

// Get returns the member of an object with exactly this name; where the name
// stands twice, the last. The zero Value where there is none.
func (v Value) Get(name string) Value {
	var found Value
	for k, m := range v.Members() {
		if k.is(name) {
			found = m
		}
	}
	return found
}

// Path follows Get through nested objects.
func (v Value) Path(names ...string) Value {
	for _, n := range names {
		v = v.Get(n)
	}
	return v
}

// Key is the name of an object's member, not yet decoded.
type Key struct{ raw []byte }

// Text returns the decoded name.
func (k Key) Text() string { return Value{raw: k.raw}.Text() }

// is compares the name without decoding it where it can.
func (k Key) is(name string) bool {
	inner := k.raw[1 : len(k.raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner) == name
	}
	return k.Text() == name
}

// Members walks an object's members in the order of the text. Every other kind
// has none.
func (v Value) Members() iter.Seq2[Key, Value] {
	return func(yield func(Key, Value) bool) {
		if v.Kind() != KindObject {
			return
		}
		for m, ok := firstMember(v.raw); ok; m, ok = nextMember(v.raw, m) {
			if !yield(v.key(m), v.slice(int(m.value), int(m.end))) {
				return
			}
		}
	}
}

// member is where a member stands in its object's text. The name is without its
// quotes.
type member struct {
	name, nameEnd, value, end uint32
}

func (v Value) key(m member) Key { return Key{raw: v.raw[m.name-1 : m.nameEnd+1]} }

// firstMember returns an object's first member; b has passed check.
func firstMember(b []byte) (member, bool) { return memberAt(b, skipSpace(b, 1)) }

// nextMember returns the member behind m.
func nextMember(b []byte, m member) (member, bool) {
	i := skipSpace(b, int(m.end))
	if b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return memberAt(b, i)
}

// memberAt returns the member whose name begins at b[i]; false where the object
// ends there.
func memberAt(b []byte, i int) (member, bool) {
	if b[i] == '}' {
		return member{}, false
	}
	nameEnd := skipString(b, i)
	value := skipSpace(b, skipSpace(b, nameEnd)+1) // behind the colon
	return member{uint32(i + 1), uint32(nameEnd - 1), uint32(value), uint32(skip(b, value))}, true
}

// Elements walks an array's elements. Every other kind has none.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != KindArray {
			return
		}
		b := v.raw
		for i := skipSpace(b, 1); b[i] != ']'; {
			end := skip(b, i)
			if !yield(v.slice(i, end)) {
				return
			}
			if i = skipSpace(b, end); b[i] == ',' {
				i = skipSpace(b, i+1)
			}
		}
	}
}

func (v Value) slice(start, end int) Value {
	return Value{raw: v.raw[start:end], offset: v.offset + int64(start)}
}

// Decode unmarshals the value into plain Go values, numbers as json.Number, so
// that no digit is lost. In objects the last of two equal names wins.
func (v Value) Decode() (any, error) {
	dec := json.NewDecoder(bytes.NewReader(v.raw))
	dec.UseNumber()
	var x any
	if err := dec.Decode(&x); err != nil {
		return nil, err
	}
	return x, nil
}
