// Package redact takes secrets out of text before it is stored, shown or sent:
// text or JSON goes in, the same comes out with Mark in place of every secret. It
// knows secrets by their own shape (prefixes of well-known tokens, key blocks,
// passwords in addresses) and by the name that they stand under. What has neither
// is not found: it is a safety net, no proof.
//
// It leaves alone what traces are full of and what evidence rests on: hashes,
// UUIDs, paths, counts of tokens. Redacting twice changes nothing.
package redact

import "strings"

// Mark stands where a secret stood.
const Mark = "[REDACTED]"

// IsMark tells whether a value is a redaction mark, ours or another writer's. The
// whole value must be one; "*" alone, a wildcard, is none.
func IsMark(s string) bool {
	s = strings.TrimSpace(s)
	if len(s) >= 3 && (strings.Trim(s, "*") == "" || strings.Trim(s, "•") == "" || strings.Trim(s, "█") == "") {
		return true
	}
	inner := s
	for _, pair := range [...]string{"[]", "<>", "()", "{}", "**"} {
		if len(inner) > 2 && inner[0] == pair[0] && inner[len(inner)-1] == pair[1] {
			inner = strings.Trim(inner, pair)
			break
		}
	}
	word, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(inner)), ":")
	switch word {
	case "redacted", "secret redacted", "redacted_secret", "redacted-secret", "redacted secret":
		return true
	case "filtered", "masked", "hidden", "removed", "secret", "scrubbed":
		return inner != s // as plain words they are ordinary values
	default:
		return false
	}
}

// span is a secret's place in a text.
type span struct {
	start, end int
	kind       string
}

// maxRounds bounds how often a text is gone over. One round finds everything
// but a value that only became short enough by what was replaced inside it.
const maxRounds = 4

// Text replaces the secrets in s.
func Text(s string) string {
	for range maxRounds {
		spans := scan(s)
		if len(spans) == 0 {
			break
		}
		s = replace(s, spans)
	}
	return s
}

func replace(s string, spans []span) string {
	var b strings.Builder
	b.Grow(len(s))
	at := 0
	for _, sp := range spans {
		b.WriteString(s[at:sp.start])
		b.WriteString(Mark)
		at = sp.end
	}
	b.WriteString(s[at:])
	return b.String()
}
