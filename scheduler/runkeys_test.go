package scheduler

import (
	"testing"

	"nightaudit/trace"
)

// TestRunKeys: runs of one file are told apart, also where their ids are not, and a
// run keeps the key that it has as the only one.
func TestRunKeys(t *testing.T) {
	keys := runKeys{}
	seen := map[string]bool{}
	for _, id := range []string{"", "", "a", "a", "b"} {
		seen[keys.next("s", &trace.Run{ID: id}, "p")] = true
	}
	if len(seen) != 5 {
		t.Errorf("%d keys of 5 runs", len(seen))
	}
	run := &trace.Run{ID: "a"}
	if (runKeys{}).next("s", run, "p") != RunKey("s", run, "p") {
		t.Error("the first run of a file has another key than alone")
	}
}
