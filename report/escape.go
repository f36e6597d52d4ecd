// Package report turns verdicts and spend into what people and programs look at:
// text, JSON, Markdown. It decides nothing.
//
// What it prints comes from traces and models, which are hostile text: secrets
// are taken out, and what a terminal would obey is written out instead.
package report

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

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

// unprintable holds for control characters, for line and paragraph separators, and
// for format characters such as the marks that turn the direction of text around.
func unprintable(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == unicode.ReplacementChar
}

// escapeJSON writes out, in a JSON document, what JSON allows to stand raw but a
// terminal may obey: C1 control characters and format characters. They can only
// stand in strings. Line feeds are the document's own.
func escapeJSON(doc []byte) []byte {
	raw := func(r rune) bool { return r != '\n' && r != unicode.ReplacementChar && unprintable(r) }
	if bytes.IndexFunc(doc, raw) < 0 {
		return doc
	}
	var out []byte
	for _, r := range string(doc) {
		switch {
		case !raw(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// short cuts a text for a line of a report. It is made Safe before: half a secret
// would not be known as one.
func short(s string, most int) string {
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most-1]) + "…"
}
