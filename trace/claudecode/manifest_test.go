package claudecode

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nightaudit/trace"
)

// TestManifest reads real session files and compares with what was counted in
// them by hand. Set NIGHTAUDIT_TRACES to a folder that holds MANIFEST.tsv.
//
// The manifest counts calls by distinct tool_use id, so a second call under a
// reused id (a resumed session whose model numbers its calls anew) is in the Run
// but not in its count. Its failed calls are those whose own result is flagged:
// denied, cancelled and refused ones are among them, a background task that
// fails later is not.
func TestManifest(t *testing.T) {
	root := os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	manifest, err := os.ReadFile(filepath.Join(root, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for row := range strings.Lines(string(manifest)) {
		cols := strings.Split(strings.TrimSpace(row), "\t")
		if len(cols) < 8 || !strings.HasPrefix(cols[0], "claude-code/") || !strings.HasSuffix(cols[0], ".jsonl") {
			continue
		}
		files++
		t.Run(cols[0], func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, cols[0]))
			if err != nil {
				t.Fatal(err)
			}
			run := readAll(t, data)
			checkRun(t, run)
			ids, failed := map[trace.ID]bool{}, 0
			for i := range run.Calls {
				c := &run.Calls[i]
				if c.ResultOnly {
					continue
				}
				ids[c.ID] = true
				if c.IsError == trace.FlagTrue {
					failed++
				}
			}
			if want := atoi(t, cols[5]); len(ids) != want {
				t.Errorf("%d calls, want %d", len(ids), want)
			}
			if want := atoi(t, cols[6]); failed != want {
				t.Errorf("%d failed calls, want %d", failed, want)
			}
			if want := cols[7] == "True"; (run.Summary != "") != want {
				t.Errorf("summary %q, want one: %v", run.Summary, want)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 {
				t.Errorf("gaps %v, bad lines %v", run.Gaps, run.BadLines)
			}
		})
	}
	if files == 0 {
		t.Error("no claude-code file in the manifest")
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func source(data []byte) trace.Source {
	return trace.Source{Name: "session.jsonl", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

func readAll(t *testing.T, data []byte) *trace.Run {
	t.Helper()
	var got *trace.Run
	for run, err := range Read(t.Context(), source(data)) {
		if err != nil {
			t.Fatal(err)
		}
		if got != nil {
			t.Fatal("two runs in one file")
		}
		got = run
	}
	return got
}

// checkRun holds for every run, whatever stands in its file.
func checkRun(t *testing.T, run *trace.Run) {
	t.Helper()
	for i := range run.Calls {
		c := &run.Calls[i]
		if i > 0 && c.Pos.Before(run.Calls[i-1].Pos) {
			t.Errorf("call %d at %d stands before call %d", i, c.Pos.Offset, i-1)
		}
		for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record, c.Child} {
			raw, err := run.Body(b)
			if err != nil {
				t.Fatalf("body of call %d: %v", i, err)
			}
			if !b.Present() {
				continue
			}
			if _, err := trace.ParseValue(raw); err != nil {
				t.Errorf("body of call %d is %q: %v", i, raw, err)
			}
		}
	}
}
