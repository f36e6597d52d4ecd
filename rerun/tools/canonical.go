package tools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Limits of numbers in arguments. A number beyond them is refused, since some
// programs would write it out in full.
const (
	maxDigits   = 400
	maxExponent = 400
)

// Canonical writes JSON so that equal values have equal bytes: keys sorted, no
// blanks, one escape, and numbers by their exact value (1, 1.0 and 10e-1 are the
// same). Strings are not normalised. What two readers could read differently is
// an error: a key that stands twice, half a surrogate pair, bad UTF-8.
func Canonical(args json.RawMessage) ([]byte, error) {
	v, err := trace.ParseValue(args)
	if err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	if halfPair(args) {
		return nil, errors.New("canonical form: a string holds half a surrogate pair")
	}
	var b bytes.Buffer
	if err := canonical(&b, v); err != nil {
		return nil, fmt.Errorf("canonical form: %w", err)
	}
	return b.Bytes(), nil
}

// Key is the idempotency key of a call: the SHA-256, in hex, of the run's key, the
// tool and the canonical arguments. Arguments without a canonical form count as
// their bytes; no such call is ever run.
func Key(runKey, tool string, args json.RawMessage) string {
	kind := "canonical"
	form, err := Canonical(args)
	if err != nil {
		kind, form = "raw", args
	}
	h := sha256.New()
	for _, part := range []string{runKey, tool, kind, string(form)} {
		fmt.Fprintf(h, "%d:%s,", len(part), part) // the length keeps parts apart
	}
	return hex.EncodeToString(h.Sum(nil))
}

func canonical(b *bytes.Buffer, v trace.Value) error {
	switch v.Kind() {
	case trace.KindObject:
		return canonicalObject(b, v)
	case trace.KindArray:
		b.WriteByte('[')
		first := true
		for e := range v.Elements() {
			if !first {
				b.WriteByte(',')
			}
			first = false
			if err := canonical(b, e); err != nil {
				return err
			}
		}
		b.WriteByte(']')
	case trace.KindString:
		return canonicalString(b, v.Raw())
	case trace.KindNumber:
		n, err := canonicalNumber(string(v.Raw()))
		b.WriteString(n)
		return err
	default:
		b.Write(v.Raw())
	}
	return nil
}

func canonicalObject(b *bytes.Buffer, v trace.Value) error {
	type member struct {
		key   string
		value trace.Value
	}
	var members []member
	for k, value := range v.Members() {
		members = append(members, member{k.Text(), value})
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.key, b.key) })
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].key == m.key {
				return fmt.Errorf("the key %q stands twice", m.key)
			}
			b.WriteByte(',')
		}
		writeString(b, m.key)
		b.WriteByte(':')
		if err := canonical(b, m.value); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

func canonicalString(b *bytes.Buffer, raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("read a string: %w", err)
	}
	writeString(b, s)
	return nil
}

// halfPair finds an escaped surrogate without its other half. All halves decode to
// the same character, so that different texts would become equal.
func halfPair(raw []byte) bool {
	unit := func(i int) uint64 { // the UTF-16 unit that is escaped at i, 0 for none
		if i+6 > len(raw) || raw[i] != '\\' || raw[i+1] != 'u' {
			return 0
		}
		n, err := strconv.ParseUint(string(raw[i+2:i+6]), 16, 16)
		if err != nil {
			return 0
		}
		return n
	}
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		switch u := unit(i); {
		case u >= 0xD800 && u < 0xDC00:
			if low := unit(i + 6); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 11
		case u >= 0xDC00 && u <= 0xDFFF:
			return true
		default:
			i++ // what is escaped may be a backslash
		}
	}
	return false
}

func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string into memory: no error is possible
	b.Truncate(b.Len() - 1)
}

// canonicalNumber works on the digits, so that no number is rounded and none is
// ever written out longer than it came.
func canonicalNumber(s string) (string, error) {
	rest, negative := strings.CutPrefix(s, "-")
	mantissa, exponent := rest, 0
	if i := strings.IndexAny(rest, "eE"); i >= 0 {
		e, err := strconv.Atoi(rest[i+1:])
		if err != nil || e > maxExponent || e < -maxExponent {
			return "", errors.New("a number's exponent is out of range")
		}
		mantissa, exponent = rest[:i], e
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if len(digits) > maxDigits {
		return "", errors.New("a number has too many digits")
	}
	exponent -= len(fraction)
	digits = strings.TrimLeft(digits, "0")
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "0", nil
	}
	sign := ""
	if negative {
		sign = "-"
	}
	switch {
	case exponent == 0, exponent > 0 && exponent+len(trimmed) <= 21:
		return sign + trimmed + strings.Repeat("0", exponent), nil
	case exponent < 0 && -exponent < len(trimmed):
		point := len(trimmed) + exponent
		return sign + trimmed[:point] + "." + trimmed[point:], nil
	default:
		return sign + trimmed + "e" + strconv.Itoa(exponent), nil
	}
}
