// Package report turns verdicts and spend into what people and programs look at:
// text, JSON, Markdown. It decides nothing.
//
// What it prints comes from traces and models, which are hostile text: secrets
// are taken out, and what a terminal would obey is written out instead.
package report

import (
	"strconv"
	"strings"
	"unicode"

	"nightaudit/trace"
)

// Safe makes a text from a trace fit to be shown on one line of a terminal:
// redacted, without control characters and invisible marks.
func Safe(s string) string {
	s = trace.Redact(s)
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unprintable(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unprintable holds for control characters and for format characters such as the
// marks that turn the direction of text around.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
}

// short cuts a text for a line of a report.
func short(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
