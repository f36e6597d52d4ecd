package trace

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects of one record may nest. Real traces
// stay below 40; the limit keeps hostile ones from costing memory.
const MaxDepth = 1000

// SyntaxError tells where a text stops being JSON.
type SyntaxError struct {
	Offset int64 // from the start of the text that was checked
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, e.Reason)
}

func bad(i int, reason string) (int, error) {
	return i, &SyntaxError{Offset: int64(i), Reason: reason}
}

func skipSpace(b []byte, i int) int {
	for i < len(b) {
		switch b[i] {
		case ' ', '\t', '\r', '\n':
			i++
		default:
			return i
		}
	}
	return i
}

// check validates the JSON value that starts at b[i] (RFC 8259: grammar, UTF-8,
// control characters, surrogate escapes as they come) and returns where it ends.
// It keeps a stack of its own instead of recursing, so depth costs no goroutine
// stack.
func check(b []byte, i int) (int, error) {
	var stack []byte // '{' or '[' a level
	for {
		i = skipSpace(b, i)
		if i == len(b) {
			return bad(i, "unexpected end")
		}
		// A value starts here.
		var err error
		switch c := b[i]; {
		case c == '{' || c == '[':
			if len(stack) == MaxDepth {
				return bad(i, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
			}
			stack = append(stack, c)
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == c+2 { // '}' and ']' follow their openers by two
				stack = stack[:len(stack)-1]
				i++
				break // an empty one is a finished value
			}
			if c == '{' {
				if i, err = checkKey(b, i); err != nil {
					return i, err
				}
			}
			continue
		case c == '"':
			i, err = checkString(b, i)
		case c == '-' || c >= '0' && c <= '9':
			i, err = checkNumber(b, i)
		default:
			i, err = checkLiteral(b, i)
		}
		if err != nil {
			return i, err
		}
		// A value has ended: close what it closes.
		for {
			if len(stack) == 0 {
				return i, nil
			}
			open := stack[len(stack)-1]
			i = skipSpace(b, i)
			if i == len(b) {
				return bad(i, "unexpected end")
			}
			if b[i] == ',' {
				i++
				if open == '{' {
					if i, err = checkKey(b, skipSpace(b, i)); err != nil {
						return i, err
					}
				}
				break
			}
			if b[i] != open+2 {
				return bad(i, "expected a comma or the end of the list or object")
			}
			stack = stack[:len(stack)-1]
			i++
		}
	}
}

// checkKey passes a member's name and its colon.
func checkKey(b []byte, i int) (int, error) {
	if i == len(b) {
		return bad(i, "unexpected end")
	}
	if b[i] != '"' {
		return bad(i, "expected a name in quotes")
	}
	i, err := checkString(b, i)
	if err != nil {
		return i, err
	}
	i = skipSpace(b, i)
	if i == len(b) || b[i] != ':' {
		return bad(i, "expected a colon")
	}
	return i + 1, nil
}

func checkString(b []byte, i int) (int, error) {
	start := i + 1
	ascii := true
	for i = start; i < len(b); i++ {
		switch c := b[i]; {
		case c == '"':
			if !ascii && !utf8.Valid(b[start:i]) {
				return bad(start, "a string is not UTF-8")
			}
			return i + 1, nil
		case c == '\\':
			i++
			if i == len(b) {
				return bad(i, "unexpected end")
			}
			switch b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i == len(b) || !isHex(b[i]) {
						return bad(i, "bad \\u escape")
					}
				}
			default:
				return bad(i, "unknown escape")
			}
		case c < ' ':
			return bad(i, "control character in a string")
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return bad(i, "a string without its end")
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func checkNumber(b []byte, i int) (int, error) {
	digits := func() bool {
		start := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > start
	}
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case !digits():
		return bad(i, "a number without digits")
	}
	if i < len(b) && b[i] == '.' {
		i++
		if !digits() {
			return bad(i, "no digits behind the decimal point")
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return bad(i, "no digits in the exponent")
		}
	}
	return i, nil
}

var literals = [][]byte{[]byte("true"), []byte("false"), []byte("null")}

func checkLiteral(b []byte, i int) (int, error) {
	for _, lit := range literals {
		if bytes.HasPrefix(b[i:], lit) {
			return i + len(lit), nil
		}
	}
	return bad(i, "unexpected character")
}

// skip returns the end of the value at b[i], which check has already passed.
func skip(b []byte, i int) int {
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
	default:
		for i < len(b) {
			switch b[i] {
			case ',', '}', ']', ' ', '\t', '\r', '\n':
				return i
			}
			i++
		}
		return i
	}
}

func skipString(b []byte, i int) int {
	for i++; ; i++ {
		j := bytes.IndexByte(b[i:], '"')
		i += j
		// The quote ends the string unless an odd number of backslashes precedes it.
		n := 0
		for b[i-1-n] == '\\' {
			n++
		}
		if n%2 == 0 {
			return i + 1
		}
	}
}
