package rules

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/rules.md anew")

// generated begins what is made from the pack; a person writes what stands before.
const generated = "## Filters that every pack has\n"

// TestDocument: docs/rules.md says what the pack does.
func TestDocument(t *testing.T) {
	const name = "../../docs/rules.md"
	have, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	head, _, ok := strings.Cut(string(have), generated)
	if !ok {
		t.Fatalf("%s has no heading %q", name, generated)
	}
	var b strings.Builder
	b.WriteString(head + generated + "\n| filter | a sentence that fits one of these is not judged |\n|---|---|\n")
	for _, filter := range slices.Sorted(maps.Keys(Default().filters)) {
		fmt.Fprintf(&b, "| `%s` | %d patterns: `%s` |\n", filter, len(Default().filters[filter]), strings.ReplaceAll(first(Default().filters[filter]), "|", `\|`))
	}
	fmt.Fprintf(&b, "\n## The kinds for coding agents\n\n%s", Default().Document())
	want := b.String()
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(have) != want {
		t.Errorf("%s is stale: go test ./audit/rules -update", name)
	}
}

// first is the beginning of a filter, for a person to see what it is about.
func first(patterns []string) string {
	if s := []rune(patterns[0]); len(s) > 100 {
		return string(s[:100]) + "…"
	}
	return patterns[0]
}
