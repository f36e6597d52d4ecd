package codex

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nightaudit/trace"
)

// within opens a file of a tree whose root its siblings may not leave.
func within(t *testing.T, root, name string) trace.Source {
	t.Helper()
	tree := os.DirFS(root)
	open := func(name string) (trace.Source, io.Closer, error) {
		data, err := fs.ReadFile(tree, name)
		return source(data), io.NopCloser(nil), err
	}
	src, _, err := open(name)
	if err != nil {
		t.Fatal(err)
	}
	src.Sibling = func(other string) (trace.Source, io.Closer, error) { return open(path.Join(path.Dir(name), other)) }
	src.Siblings = func(pattern string) ([]string, error) {
		found, err := fs.Glob(tree, path.Join(path.Dir(name), pattern))
		for i := range found {
			rel, err := filepath.Rel(path.Dir(name), found[i])
			if err != nil {
				return nil, err
			}
			found[i] = filepath.ToSlash(rel)
		}
		return found, err
	}
	return src
}

const day30 = "2026/11/30/rollout-2026-11-30T"

func TestRead_Fork(t *testing.T) {
	run := readAll(t, within(t, "testdata/sessions", day30+"03-00-00-cc-03.jsonl"))
	want := []string{"r1 exec_command exit 1", "r2 exec_command exit 2", "m1 exec_command exit 0", "c1 exec_command exit 0"}
	if got := shown(t, run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "cc-03" || run.Task != "Last task" || run.Summary != "Deployed." || run.Ended || run.Records != 6 || len(run.Gaps)+len(run.BadLines) > 0 {
		t.Errorf("%+v", run)
	}
	for i, c := range run.Calls {
		if inherited := i < 3; (c.Pos.Offset < 0) != inherited || inherited && c.Pos.Line != 1 {
			t.Errorf("call %s stands at %+v", c.ID, c.Pos)
		}
		if i > 0 && !run.Calls[i-1].Pos.Before(c.Pos) {
			t.Errorf("call %s does not follow %s", c.ID, run.Calls[i-1].ID)
		}
	}
	if got := body(t, run, run.Calls[2].Args); got != `{"cmd": "go test"}` {
		t.Errorf("arguments %s", got)
	}
	if run.Calls[1].ResultPos.Line != 4 || run.Notes["history"] == "" {
		t.Errorf("the late end stands at %+v, notes %v", run.Calls[1].ResultPos, run.Notes)
	}
}

func TestRead_ForkWithoutAnAnswer(t *testing.T) {
	src := within(t, "testdata/sessions", day30+"03-00-00-cc-03.jsonl")
	head := make([]byte, src.Size)
	if _, err := src.ReadAt(head, 0); err != nil {
		t.Fatal(err)
	}
	src.Size = int64(bytes.IndexByte(head, '\n') + 1)
	run := readAll(t, src)
	if run.Summary != "" || run.Task != "" || len(run.Calls) != 3 {
		t.Errorf("summary %q, task %q, %d calls", run.Summary, run.Task, len(run.Calls))
	}
}

func TestRead_ForkGaps(t *testing.T) {
	for _, tt := range []struct {
		file, gap string
		calls     int
	}{
		{"04-00-00-dd-04.jsonl", "forked: the history in thread ee-05 is not at hand", 0},
		{"05-00-00-ff-06.jsonl", "the history of this fork leads to ff-06 and no further", 0},
		{"06-00-00-ab-07.jsonl", "forked: the file of thread bb-02 ends before record 40", 3},
	} {
		run := readAll(t, within(t, "testdata/sessions", day30+tt.file))
		if len(run.Calls) != tt.calls || run.Summary != "Said." || run.Whole() ||
			!slices.ContainsFunc(run.Gaps, func(g trace.Gap) bool { return g.Reason == tt.gap }) {
			t.Errorf("%s: %d calls, summary %q, gaps %v", tt.file, len(run.Calls), run.Summary, run.Gaps)
		}
	}
	// Nothing beside it, and a name that is no thread's.
	src := within(t, "testdata/sessions", day30+"04-00-00-dd-04.jsonl")
	src.Siblings = nil
	if run := readAll(t, src); len(run.Gaps) != 1 {
		t.Errorf("gaps %v", run.Gaps)
	}
	evil := `{"type":"session_meta","payload":{"id":"x","history_base":{"thread_id":"../*[","end_ordinal_exclusive":2}}}`
	if run := readAll(t, source([]byte(evil))); len(run.Gaps) != 1 || !strings.Contains(run.Gaps[0].Reason, "not at hand") {
		t.Errorf("gaps %v", run.Gaps)
	}
}

// TestRead_ForkOfPacked: the file that a fork goes on from may have been compressed
// since, or damaged.
func TestRead_ForkOfPacked(t *testing.T) {
	root := t.TempDir()
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join("testdata/sessions", name))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	put := func(name string, data []byte) {
		full := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	base := read("2026/11/29/rollout-2026-11-29T02-00-00-aa-01.jsonl")
	fork := "sessions/" + day30 + "02-00-00-bb-02.jsonl"
	put(fork, read(day30+"02-00-00-bb-02.jsonl"))
	packed := "archived_sessions/rollout-2026-11-29T02-00-00-aa-01.jsonl.zst"
	put(packed, enc.EncodeAll(base, nil))
	run := readAll(t, within(t, root, fork))
	if len(run.Calls) != 3 || !run.Whole() {
		t.Errorf("%d calls, gaps %v", len(run.Calls), run.Gaps)
	}
	put(packed, append(enc.EncodeAll(base, nil), "garbage"...))
	if run := readAll(t, within(t, root, fork)); len(run.Calls) != 3 || run.Whole() {
		t.Errorf("damaged: %d calls, gaps %v", len(run.Calls), run.Gaps)
	}
	hurt := bytes.Replace(base, []byte(`"code 1`), []byte("\"\xff"), 1)
	hurt = bytes.Replace(hurt, []byte(`"Root task"`), []byte("\"\x00\""), 1)
	put(packed, hurt)
	if run := readAll(t, within(t, root, fork)); len(run.Calls) != 3 || run.Whole() || len(run.BadLines) > 0 {
		t.Errorf("bad line: %d calls, gaps %v, bad lines %v", len(run.Calls), run.Gaps, run.BadLines)
	}
}
