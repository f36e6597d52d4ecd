package trace

import (
	"bytes"
	"testing"
)

// FuzzScanner checks what scanAll checks, and that each line's bytes are a record
// or a bad line, never both and never neither.
func FuzzScanner(f *testing.F) {
	for _, s := range []string{
		"", "\n", "{}", "{}\n{}\r\n", "\xef\xbb\xbf{\"a\":1}\n", "{\"a\":1}{\"b\":2} x\n{}", "{\"a\":1,\"\\u0061\":2}\n", "{\"a\":\"\xff\"}\n{\"a\":",
		"{\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\":1}\n{}", "[1]\n{\"a\":{\"b\":[{}]}}\n",
	} {
		f.Add([]byte(s), uint8(40))
	}
	f.Fuzz(func(t *testing.T, data []byte, most uint8) {
		maxLine := int(most) + 1
		_, run := scanAll(t, data, maxLine)
		bad := map[int]int{}
		for i, b := range run.BadLines {
			bad[b.Line]++
			if b.Reason == "" || i > 0 && b.Line <= run.BadLines[i-1].Line {
				t.Fatalf("bad lines %+v", run.BadLines)
			}
		}
		covered := recordBytes(t, data, maxLine)
		offset := 0
		for i, line := range bytes.SplitAfter(data, []byte("\n")) {
			rest := covered[offset : offset+len(line)]
			offset += len(line)
			left := uncovered(line, rest, i == 0)
			switch {
			case len(left) > 0 && bad[i+1] != 1:
				t.Fatalf("line %d: %q is in no record and on no bad line", i+1, left)
			case len(left) == 0 && bad[i+1] != 0 && len(line) <= maxLine: // spaces over the cap are bad too
				t.Fatalf("line %d is a bad line although its records cover it", i+1)
			}
		}
		if run.Torn && (len(data) == 0 || data[len(data)-1] == '\n') {
			t.Fatal("torn, but the last line has its end")
		}
	})
}

// recordBytes marks the bytes that belong to records.
func recordBytes(t *testing.T, data []byte, maxLine int) []bool {
	covered := make([]bool, len(data))
	sc := NewScanner(t.Context(), source(data))
	sc.feed.maxLine = maxLine
	for sc.Next() {
		b := sc.Record().Body()
		for i := b.Offset; i < b.Offset+int64(b.Length); i++ {
			if covered[i] {
				t.Fatal("two records share bytes")
			}
			covered[i] = true
		}
	}
	return covered
}

// uncovered returns the bytes of a line that are in no record and are no space.
func uncovered(line []byte, covered []bool, first bool) []byte {
	start := 0
	if first && bytes.HasPrefix(line, []byte("\xef\xbb\xbf")) {
		start = 3
	}
	var left []byte
	for i := start; i < len(line); i++ {
		if !covered[i] && bytes.IndexByte([]byte(" \t\r\n"), line[i]) < 0 {
			left = append(left, line[i])
		}
	}
	return left
}

// BenchmarkScanner reports how fast ordinary lines and one very long line are read.
func BenchmarkScanner(b *testing.B) {
	line := []byte(`{"ts":1785596401,"type":"tool_call","id":"c1","tool":"Bash","args":{"command":"go test ./..."},"result":{"stdout":"ok  \tpkg\t0.1s\n","stderr":""},"exit_code":0}` + "\n")
	long := append(append([]byte(`{"a":"`), bytes.Repeat([]byte("0123456789abcdef"), 2<<20)...), "\"}\n"...)
	for _, c := range []struct {
		name string
		data []byte
	}{
		{"lines", bytes.Repeat(line, 32<<20/len(line))},
		{"one long line", long},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.data)))
			b.ReportAllocs()
			for b.Loop() {
				sc := NewScanner(b.Context(), source(c.data))
				for sc.Next() {
				}
				if err := sc.Finish(NewRun(source(c.data), "test")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
