package trace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
)

// readTexts reads data as texts and checks what holds for every input.
func readTexts(t *testing.T, data []byte) (records []string, run *Run, lines bool) {
	t.Helper()
	src := source(data)
	run = NewRun(src, "test")
	texts := NewTexts(t.Context(), src)
	last := Position{Offset: -1}
	for texts.Next() {
		rec := texts.Record()
		records = append(records, fmt.Sprintf("%d %s", rec.Pos.Line, rec.Raw()))
		if rec.Pos.Offset <= last.Offset || rec.Pos.Line < last.Line {
			t.Errorf("record at %+v follows %+v", rec.Pos, last)
		}
		last = rec.Pos
		for _, m := range rec.Members() {
			want := 1 + bytes.Count(data[:m.Body().Offset], []byte("\n"))
			if at := texts.Place(m); at.Line != want || at.Offset != m.Body().Offset {
				t.Errorf("a member at byte %d is placed at %+v, want line %d", m.Body().Offset, at, want)
			}
		}
		if raw, err := run.Body(rec.Body()); err != nil || !bytes.Equal(raw, rec.Raw()) {
			t.Errorf("line %d read again: %.60q, %v", rec.Pos.Line, raw, err)
		}
	}
	if err := texts.Finish(run); err != nil {
		t.Errorf("Finish: %v", err)
	}
	if want := sha256.Sum256(data); run.SHA256 != want {
		t.Error("the hash is not that of the input")
	}
	return records, run, texts.Lines()
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string
		bad        []int
		lines      bool
		torn       bool
	}{
		{"empty", "", nil, nil, true, false},
		{"blank", " \r\n\n", nil, nil, true, false},
		{"lines", "{\"a\":1}\n\n{\"a\":2}\n", []string{`1 {"a":1}`, `3 {"a":2}`}, nil, true, false},
		{"one object on one line", `{"a":1}`, []string{`1 {"a":1}`}, nil, true, false},
		{"one object over lines", "\xef\xbb\xbf{\n\"a\":1\n}\n", []string{"1 {\n\"a\":1\n}"}, nil, false, false},
		{"a line broken in two", "{\"a\":1\n{\"a\":2},3}\n{\"a\":4}\n", []string{`2 {"a":2}`, `3 {"a":4}`}, []int{2, 2}, false, false},
		{"objects over lines", "{\n\"a\":1\n}\n{\"a\":\n2}\r\n", []string{"1 {\n\"a\":1\n}", "4 {\"a\":\n2}"}, nil, false, false},
		{"a list", ` [{"a":1}]`, []string{`1 [{"a":1}]`}, nil, false, false},
		{"a list over lines", "[\n{\"a\":1},\n{\"a\":2}\n]", []string{"1 [\n{\"a\":1},\n{\"a\":2}\n]"}, nil, false, false},
		{"a damaged first line", "{\"a\":x}\n{\"a\":2}\n", []string{`2 {"a":2}`}, []int{1}, true, false},
		{"a first line without its end", "{\"a\":\n{\"a\":2}\n{\"a\":3}", []string{`2 {"a":2}`, `3 {"a":3}`}, []int{3}, false, false},
		{"a cut document", "{\n\"a\":[1,", nil, []int{2}, false, true},
		{"a cut list", "[{\"a\":1},\n{\"a\":", nil, []int{2}, false, true},
		{"a damaged document", "{\n\"a\":x}\n{\n\"a\":2}\n", []string{"3 {\n\"a\":2}"}, []int{2}, false, false},
		{"garbage behind a document", "{\n\"a\":1}\nxyz\n", []string{"1 {\n\"a\":1}"}, []int{3}, false, false},
		{"a key twice", "{\n\"a\":1,\"a\":2}\n{\n}", []string{"3 {\n}"}, []int{2}, false, false},
		{"a number behind a list", "[1]\n7\n", []string{"1 [1]"}, []int{2}, false, false},
		{"a cut first line", `{"a":`, nil, []int{1}, true, true},
		{"no JSON", "hello\n", nil, []int{1}, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, run, lines := readTexts(t, []byte(tt.text))
			if !slices.Equal(got, tt.want) || !slices.Equal(badLines(run), tt.bad) || lines != tt.lines || run.Torn != tt.torn {
				t.Errorf("got %q, bad lines %v, lines %v, torn %v", got, run.BadLines, lines, run.Torn)
			}
		})
	}
}

func TestTexts_LongFirstLine(t *testing.T) {
	long := slices.Concat([]byte(`{"a":"`), bytes.Repeat([]byte("x"), 5<<20), []byte("\"}\n{\"b\":1}\n"))
	if got, run, lines := readTexts(t, long); len(got) != 2 || len(run.BadLines) > 0 || !lines {
		t.Errorf("%d records, bad lines %v, lines %v", len(got), run.BadLines, lines)
	}
}

func TestTexts_Unreadable(t *testing.T) {
	for name, src := range map[string]Source{
		"at once":   {Name: "x", Size: 10, ReaderAt: shut{}},
		"in a line": {Name: "x", Size: 1 << 20, ReaderAt: shut{[]byte(`{"a":1}` + "\n")}},
		"in a list": {Name: "x", Size: 10 << 10, ReaderAt: shut{[]byte("[1,\n")}},
	} {
		texts := NewTexts(t.Context(), src)
		for texts.Next() {
			t.Logf("%s: a record", name)
		}
		if err := texts.Finish(NewRun(src, "test")); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	texts := NewTexts(ctx, source([]byte("[1]")))
	if err := texts.Finish(&Run{}); texts.Next() || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// shut fails behind its bytes.
type shut struct{ data []byte }

func (f shut) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.ErrClosedPipe
	}
	return copy(p, f.data[off:]), io.ErrClosedPipe
}

func FuzzTexts(f *testing.F) {
	for _, text := range []string{"{\n\"a\":1}\n{\"b\":2}", "[1,\n2]", "{\"a\":1}\n{\"a\":2}\n", "{\n\"a\":x}\n{\n}"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) { readTexts(t, data) })
}
