package audit

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"

	"nightaudit/audit/claims"
)

// equal compares two JSON values, decoded with numbers as json.Number, by JSON
// semantics: true is not 1, 20 equals 20.0, objects do not care about order, and
// integers are exact at any size.
func equal(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && compare(x, y) == 0
	case []any:
		y, ok := b.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !equal(v, w) {
				return false
			}
		}
		return true
	default:
		return a == b
	}
}

// compare orders two numbers that are in range. Two integers, or an integer and a
// fraction, are compared exactly; two fractions as 64-bit floats, which is what
// their writers mean by them.
func compare(a, b json.Number) int {
	if isInteger(a) && isInteger(b) {
		return compareDigits(string(a), string(b))
	}
	if isInteger(a) {
		return -compare(b, a)
	}
	f, _ := strconv.ParseFloat(string(a), 64)
	if !isInteger(b) {
		g, _ := strconv.ParseFloat(string(b), 64)
		switch {
		case f < g:
			return -1
		case f > g:
			return 1
		default:
			return 0
		}
	}
	whole, accuracy := big.NewFloat(f).Int(nil)
	if c := compareDigits(whole.String(), string(b)); c != 0 || accuracy == big.Exact {
		return c
	}
	return -int(accuracy) // cut off below the true value: f is greater
}

// canonical writes the numbers of a value in one form each, so that values which
// are equal have the same encoding.
func canonical(v any) any {
	switch x := v.(type) {
	case json.Number:
		if isInteger(x) {
			text, minus := digits(string(x))
			if minus {
				text = "-" + text
			}
			return json.Number(text)
		}
		f, err := strconv.ParseFloat(string(x), 64)
		if err != nil {
			return x
		}
		if whole, accuracy := big.NewFloat(f).Int(nil); accuracy == big.Exact {
			return json.Number(whole.String())
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = canonical(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k, e := range x {
			out[k] = canonical(e)
		}
		return out
	default:
		return v
	}
}

func isInteger(n json.Number) bool { return !strings.ContainsAny(string(n), ".eE") }

// compareDigits orders two integers by their digits, without limit to their size.
func compareDigits(a, b string) int {
	a, minusA := digits(a)
	b, minusB := digits(b)
	sign := 1
	switch {
	case minusA && !minusB:
		return -1
	case minusB && !minusA:
		return 1
	case minusA:
		sign = -1
	}
	if len(a) != len(b) {
		if len(a) < len(b) {
			return -sign
		}
		return sign
	}
	return sign * strings.Compare(a, b)
}

// digits strips the sign; minus zero is zero.
func digits(s string) (string, bool) {
	rest, minus := strings.CutPrefix(s, "-")
	return rest, minus && rest != "0"
}

// lookup walks a path into decoded JSON. Integer segments (ASCII digits, at most
// nine) index arrays; everything else names a member.
func lookup(v any, segments []string) (any, bool) {
	for _, s := range segments {
		switch t := v.(type) {
		case map[string]any:
			m, ok := t[s]
			if !ok {
				return nil, false
			}
			v = m
		case []any:
			i, ok := index(s)
			if !ok || i >= len(t) {
				return nil, false
			}
			v = t[i]
		default:
			return nil, false
		}
	}
	return v, true
}

func index(s string) (int, bool) {
	if len(s) == 0 || len(s) > 9 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// holds applies a ground's operator to the value found. Fits is false where
// the operator needs numbers and the value is none.
func holds(g claims.Ground, v any) (ok, fits bool) {
	switch g.Op {
	case claims.Equals:
		return equal(v, g.Value), true
	case claims.NotEquals:
		return !equal(v, g.Value), true
	case claims.In:
		list, _ := g.Value.([]any)
		for _, e := range list {
			if equal(v, e) {
				return true, true
			}
		}
		return false, true
	case claims.Between:
		n, isNumber := v.(json.Number)
		if !isNumber {
			return false, false
		}
		return (g.Min == nil || compare(n, *g.Min) >= 0) && (g.Max == nil || compare(n, *g.Max) <= 0), true
	}
	return false, false
}
