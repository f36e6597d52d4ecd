package claims

import (
	"fmt"
	"strings"
)

// Kind classifies what is wrong with a claims file.
type Kind string

// The kinds of errors.
const (
	BadJSON     Kind = "bad_json"
	BadYAML     Kind = "bad_yaml"
	UnknownKey  Kind = "unknown_key"
	UnknownKind Kind = "unknown_kind"
	EmptyList   Kind = "empty_list"
	WrongType   Kind = "wrong_type"
	MissingKey  Kind = "missing_key"
	BadValue    Kind = "bad_value"
	DuplicateID Kind = "duplicate_id"
	BadSchema   Kind = "bad_schema"
)

// Error is one fault of a claims file, with its place.
type Error struct {
	File         string
	Line, Column int // from 1; 0 where there is none
	Kind         Kind
	Key          string // the key at fault, "" where there is none
	Nearest      string // the known name nearest to an unknown one, "" where none is near
	Detail       string
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	b.WriteString(e.Detail)
	if e.Nearest != "" {
		fmt.Fprintf(&b, "; did you mean %q?", e.Nearest)
	}
	return b.String()
}

// Nearest returns the known name that somebody may have meant, "" where none is near
// enough to be a slip.
func Nearest(name string, known []string) string { return nearest(name, known) }

// nearest returns the known name that differs from name by the fewest edits, ""
// where none is near enough to be a slip.
func nearest(name string, known []string) string {
	best, bestDist := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := distance(name, k); d < bestDist {
			best, bestDist = k, d
		}
	}
	return best
}

// distance counts the insertions, deletions and substitutions between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
