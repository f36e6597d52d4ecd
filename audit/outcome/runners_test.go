package outcome

import (
	"os"
	"strings"
	"testing"
)

// TestTests_Printed reads what runners print as they print it.
func TestTests_Printed(t *testing.T) {
	data, err := os.ReadFile("testdata/runners.txt")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(data), `\e`, "\x1b")
	for sample := range strings.SplitSeq("\n"+text, "\n@ ") {
		head, output, _ := strings.Cut(sample, "\n")
		parts := strings.Split(head, " | ")
		if len(parts) < 3 {
			continue // the words before the first one
		}
		name, command, want := parts[0], strings.Join(parts[1:len(parts)-1], " | "), parts[len(parts)-1]
		t.Run(name, func(t *testing.T) {
			if got := brief(testsOf(t, command, output)); got != want {
				t.Errorf("%s: %s, want %s", command, got, want)
			}
		})
	}
}
