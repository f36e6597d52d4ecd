package report

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var updateDocs = flag.Bool("update", false, "write docs/verdicts.md anew")

// The page of reasons is made from the one place that explains them.
func TestReasonsMarkdown(t *testing.T) {
	var want bytes.Buffer
	if err := ReasonsMarkdown(&want); err != nil {
		t.Fatal(err)
	}
	const file = "../docs/verdicts.md"
	if *updateDocs {
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("%s is stale: go test ./report -run TestReasonsMarkdown -update", file)
	}
}
