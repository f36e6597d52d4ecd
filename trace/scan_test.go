package trace

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

func source(data []byte) Source {
	return Source{Name: "t", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

// scanAll scans data with lines of at most maxLine bytes (0: MaxLine) and checks
// what holds for every input: places increase, and bodies read again are the same.
func scanAll(t *testing.T, data []byte, maxLine int) (records []string, run *Run) {
	t.Helper()
	src := source(data)
	run = NewRun(src, "test")
	sc := NewScanner(t.Context(), src)
	if maxLine > 0 {
		sc.feed.maxLine = maxLine
	}
	last := Position{Offset: -1}
	for sc.Next() {
		rec := sc.Record()
		records = append(records, fmt.Sprintf("%d %s", rec.Pos.Line, rec.Raw()))
		if rec.Pos.Offset <= last.Offset || rec.Pos.Line < last.Line {
			t.Errorf("record at %+v follows %+v", rec.Pos, last)
		}
		last = rec.Pos
		if raw, err := run.Body(rec.Body()); err != nil || !bytes.Equal(raw, rec.Raw()) {
			t.Errorf("line %d read again: %.60q, %v", rec.Pos.Line, raw, err)
		}
	}
	if sc.Next() {
		t.Error("Next goes on behind the end")
	}
	if err := sc.Finish(run); err != nil {
		t.Errorf("Finish: %v", err)
	}
	if want := sha256.Sum256(data); run.SHA256 != want {
		t.Error("the hash is not that of the input")
	}
	return records, run
}

func badLines(run *Run) []int {
	var out []int
	for _, b := range run.BadLines {
		out = append(out, b.Line)
	}
	return out
}

func TestScanner_Lines(t *testing.T) {
	const bom = "\xef\xbb\xbf"
	for _, c := range []struct {
		name, text string
		records    []string
		bad        []int
		torn       bool
	}{
		{name: "empty"},
		{name: "only blank lines", text: "\n \n\t\r\n"},
		{name: "one line", text: "{\"a\":1}\n", records: []string{`1 {"a":1}`}},
		{name: "no final newline", text: "{\"a\":1}\n{\"a\":2}", records: []string{`1 {"a":1}`, `2 {"a":2}`}},
		{name: "CRLF", text: "{\"a\":1}\r\n{\"a\":2}\r\n", records: []string{`1 {"a":1}`, `2 {"a":2}`}},
		{name: "blank lines are counted", text: "\n\n{\"a\":1}\n \n{\"a\":2}\n", records: []string{`3 {"a":1}`, `5 {"a":2}`}},
		{name: "several values on a line", text: "{\"a\":1}{\"a\":2} {\"a\":3}\n{\"a\":4}", records: []string{`1 {"a":1}`, `1 {"a":2}`, `1 {"a":3}`, `2 {"a":4}`}},
		{name: "a value, then rubbish", text: "{\"a\":1} x\n{\"a\":2}\n", records: []string{`1 {"a":1}`, `2 {"a":2}`}, bad: []int{1}},
		{name: "a value, a comma, a value", text: "{\"a\":1},{\"a\":2}\n", records: []string{`1 {"a":1}`}, bad: []int{1}},
		{name: "rubbish costs the rest of its line", text: "x {\"a\":1}\n{\"a\":2}\n", records: []string{`2 {"a":2}`}, bad: []int{1}},
		{name: "no objects", text: "1\n\"x\"\n[{}]\nnull\n{}\n", records: []string{`5 {}`}, bad: []int{1, 2, 3, 4}},
		{name: "byte-order mark", text: bom + "{\"a\":1}\n", records: []string{`1 {"a":1}`}},
		{name: "byte-order mark alone", text: bom},
		{name: "byte-order mark and a blank line", text: bom + "\n{}\n", records: []string{`2 {}`}},
		{name: "byte-order mark on a later line", text: "{}\n" + bom + "{}\n", records: []string{`1 {}`}, bad: []int{2}},
		{name: "two byte-order marks", text: bom + bom + "{}\n", bad: []int{1}},
		{name: "a key twice", text: "{\"a\":1,\"a\":2}\n{}\n", records: []string{`2 {}`}, bad: []int{1}},
		{name: "a key twice, one escaped", text: "{\"ok\":true,\"\\u006fk\":false}\n", bad: []int{1}},
		{name: "a nested key twice", text: "{\"a\":{\"b\":1,\"b\":2}}\n", records: []string{`1 {"a":{"b":1,"b":2}}`}},
		{name: "not UTF-8", text: "{\"a\":\"\xff\"}\n{}\n", records: []string{`2 {}`}, bad: []int{1}},
		{name: "UTF-16", text: "\xff\xfe{\x00}\x00\n\x00", bad: []int{1, 2}, torn: true},
		{name: "an object over two lines", text: "{\"a\":\n1}\n{}\n", records: []string{`3 {}`}, bad: []int{1, 2}},
		{name: "torn last line", text: "{\"a\":1}\n{\"a\":", records: []string{`1 {"a":1}`}, bad: []int{2}, torn: true},
		{name: "torn behind a whole value", text: "{\"a\":1}{\"a\":", records: []string{`1 {"a":1}`}, bad: []int{1}, torn: true},
		{name: "damaged, but ended, last line", text: "{\"a\":\n", bad: []int{1}},
		{name: "damaged line before a whole last one", text: "{\"a\":\n{}", records: []string{`2 {}`}, bad: []int{1}},
		{name: "NUL bytes", text: "\x00\x00\x00\n{}\n", records: []string{`2 {}`}, bad: []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, run := scanAll(t, []byte(c.text), 0)
			if !slices.Equal(records, c.records) || !slices.Equal(badLines(run), c.bad) || run.Torn != c.torn {
				t.Errorf("records %q, bad lines %+v, torn %v; want %q, %v, %v", records, run.BadLines, run.Torn, c.records, c.bad, c.torn)
			}
		})
	}
}

func TestScanner_LinesOverTheCap(t *testing.T) {
	const most = 100
	object := func(n int) string { return `{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}` }
	for _, c := range []struct {
		name, text string
		lines      []string // of the records
		bad        []int
		torn       bool
	}{
		{name: "at the cap", text: object(most) + "\n{}\n", lines: []string{"1", "2"}},
		{name: "one byte over", text: object(most+1) + "\n{}\n", lines: []string{"2"}, bad: []int{1}},
		{name: "over, the last line", text: "{}\n" + object(most+1) + "\n", lines: []string{"1"}, bad: []int{2}},
		{name: "over, without a newline", text: "{}\n" + object(most+1), lines: []string{"1"}, bad: []int{2}},
		{name: "two over in a row", text: object(most+1) + "\n" + object(most+1) + "\n{}\n", lines: []string{"3"}, bad: []int{1, 2}},
		{name: "blocks long", text: "{}\n" + object(5*blockSize+7) + "\n{}\n", lines: []string{"1", "3"}, bad: []int{2}},
		{name: "blocks long, without a newline", text: "{}\n" + object(3*blockSize), lines: []string{"1"}, bad: []int{2}},
		{name: "blocks of spaces", text: strings.Repeat(" ", 3*blockSize) + "\n{}\n", lines: []string{"2"}, bad: []int{1}},
		{name: "ends with a block", text: object(blockSize-1) + "\n{}\n", lines: []string{"2"}, bad: []int{1}},
		{name: "fills blocks", text: object(2*blockSize) + "\n{}\n", lines: []string{"2"}, bad: []int{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			records, run := scanAll(t, []byte(c.text), most)
			var lines []string
			for _, r := range records {
				line, _, _ := strings.Cut(r, " ")
				lines = append(lines, line)
			}
			if !slices.Equal(lines, c.lines) || !slices.Equal(badLines(run), c.bad) {
				t.Errorf("records on lines %v, bad lines %+v; want %v, %v", lines, run.BadLines, c.lines, c.bad)
			}
		})
	}
}

// TestScanner_PassesOverWithoutKeeping looks at the buffer that a line far over
// the cap leaves behind.
func TestScanner_PassesOverWithoutKeeping(t *testing.T) {
	data := []byte(strings.Repeat("x", 40*blockSize) + "\n{}\n")
	sc := NewScanner(t.Context(), source(data))
	sc.feed.maxLine = blockSize
	if !sc.Next() || sc.Record().Pos.Line != 2 {
		t.Fatal("the record behind the long line is not found")
	}
	for _, b := range append(append(sc.free, sc.ahead...), sc.block) {
		if cap(b.buf) > 4*blockSize {
			t.Errorf("%d bytes were kept of a line that is passed over", cap(b.buf))
		}
	}
}

// TestScanner_LongLineBehindShortOne reads a line that does not fit into the
// buffer and begins anywhere in it.
func TestScanner_LongLineBehindShortOne(t *testing.T) {
	var long strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&long, "%d ", i)
	}
	pads := []int{0, 1, 100, blockSize / 2}
	for d := -25; d <= 5; d++ {
		pads = append(pads, blockSize+d, 2*blockSize+d)
	}
	for _, pad := range pads {
		want := []string{`1 {"a":"` + strings.Repeat("x", pad) + `"}`, `2 {"b":"` + long.String() + `"}`, `3 {"c":1}`}
		var text strings.Builder
		for _, w := range want {
			text.WriteString(w[2:] + "\n")
		}
		records, run := scanAll(t, []byte(text.String()), 0)
		if !slices.Equal(records, want) || len(run.BadLines) > 0 {
			t.Errorf("padding %d: the %d records are not those of the file; bad lines %v", pad, len(records), run.BadLines)
		}
	}
}

// failing is a reader that fails at a place.
type failing struct {
	io.ReaderAt
	at  int64
	err error
}

func (f failing) ReadAt(b []byte, off int64) (int, error) {
	if off+int64(len(b)) > f.at {
		n, _ := f.ReaderAt.ReadAt(b[:max(0, f.at-off)], off)
		return n, f.err
	}
	return f.ReaderAt.ReadAt(b, off)
}

func TestScanner_ReadErrors(t *testing.T) {
	broken := errors.New("the disk is broken")
	data := []byte(strings.Repeat("{\"a\":1}\n", 100_000))
	for _, at := range []int64{0, 1, blockSize, blockSize + 3, int64(len(data)) - 1} {
		src := Source{Name: "t", Size: int64(len(data)), ReaderAt: failing{bytes.NewReader(data), at, broken}}
		run := NewRun(src, "test")
		sc := NewScanner(t.Context(), src)
		for sc.Next() {
			if sc.Record().Pos.Offset >= at {
				t.Fatalf("a record was read behind the fault at %d", at)
			}
		}
		if err := sc.Finish(run); !errors.Is(err, broken) {
			t.Errorf("fault at %d: Finish gave %v", at, err)
		}
		if _, err := ReadDocument(t.Context(), src); !errors.Is(err, broken) {
			t.Errorf("fault at %d: ReadDocument gave %v", at, err)
		}
	}
}

func TestScanner_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	src := source([]byte("{}\n"))
	sc := NewScanner(ctx, src)
	if sc.Next() {
		t.Error("a record was read after the end was asked for")
	}
	if err := sc.Finish(NewRun(src, "test")); !errors.Is(err, context.Canceled) {
		t.Errorf("Finish gave %v", err)
	}
	if _, err := ReadDocument(ctx, src); !errors.Is(err, context.Canceled) {
		t.Errorf("ReadDocument gave %v", err)
	}
}

func TestScanner_FileShrinksBeforeItIsRead(t *testing.T) {
	data := []byte("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n")
	src := Source{Name: "t", Size: int64(len(data)), ReaderAt: bytes.NewReader(data[:12])}
	run := NewRun(src, "test")
	sc := NewScanner(t.Context(), src)
	n := 0
	for sc.Next() {
		n++
	}
	if err := sc.Finish(run); err != nil || n != 1 || !slices.Equal(badLines(run), []int{2}) || !run.Torn {
		t.Errorf("%d records, bad lines %v, torn %v, %v; want the first record and a torn second line", n, run.BadLines, run.Torn, err)
	}
	if run.SHA256 != sha256.Sum256(data[:12]) {
		t.Error("the hash is not that of what was there")
	}
}

func TestScanner_GrowsWhileItIsRead(t *testing.T) {
	data := []byte("{\"a\":1}\n{\"a\":2}\n")
	src := Source{Name: "t", Size: 8, ReaderAt: bytes.NewReader(data)}
	run := NewRun(src, "test")
	sc := NewScanner(t.Context(), src)
	n := 0
	for sc.Next() {
		n++
	}
	if err := sc.Finish(run); err != nil || n != 1 || len(run.BadLines) > 0 || run.Torn {
		t.Errorf("%d records, %v, %v; want what stood there when it was opened", n, run.BadLines, err)
	}
}
