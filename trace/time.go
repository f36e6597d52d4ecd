package trace

import (
	"math"
	"time"
)

// Time reads a point in time: RFC 3339, the same without a zone (taken for UTC), or
// a number of seconds, milli-, micro- or nanoseconds since 1970, which their size
// tells apart. Anything else is the zero time, and so is 0, which writers give for
// what they do not know.
func (v Value) Time() time.Time {
	switch v.Kind() {
	case KindString:
		if t := ParseTime(v.Text()); !t.IsZero() {
			return t
		}
		if n, err := ParseValue([]byte(v.Text())); err == nil && n.Kind() == KindNumber {
			return n.Time() // OTLP writes 64-bit numbers as strings
		}
	case KindNumber:
		f := v.Float()
		switch a := math.Abs(f); {
		case f == 0 || a > 1e20:
			return time.Time{}
		case a > 1e17:
			n, _ := v.Int()
			return time.Unix(0, n).UTC()
		case a > 1e14:
			return time.UnixMicro(int64(f)).UTC()
		case a > 1e11:
			return time.UnixMilli(int64(f)).UTC()
		}
		sec, frac := math.Modf(f)
		return time.Unix(int64(sec), int64(frac*1e9)).UTC()
	}
	return time.Time{}
}

// ParseTime reads RFC 3339, or the same without a zone; anything else is the zero
// time.
func ParseTime(text string) time.Time {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t
		}
	}
	return time.Time{}
}
