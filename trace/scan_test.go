package trace

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestScanner_LongLineBehindShortOne reads a line that does not fit into the
// buffer and begins in the middle of it.
func TestScanner_LongLineBehindShortOne(t *testing.T) {
	var long strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&long, "%d ", i)
	}
	for _, pad := range []int{0, 1, 100, blockSize / 2, blockSize - 20} {
		want := []string{`{"a":"` + strings.Repeat("x", pad) + `"}`, `{"b":"` + long.String() + `"}`, `{"c":1}`}
		data := []byte(strings.Join(want, "\n"))
		src := Source{Name: "t", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
		run := NewRun(src, "test")
		sc := NewScanner(t.Context(), src)
		n := 0
		for ; sc.Next(); n++ {
			if got := sc.Record(); n < len(want) && string(got.Raw()) != want[n] {
				t.Errorf("padding %d: record %d is not what stands in the file", pad, n)
			} else if raw, err := run.Body(got.Body()); err != nil || string(raw) != want[n] {
				t.Errorf("padding %d: record %d read again: %v", pad, n, err)
			}
		}
		if err := sc.Finish(run); err != nil || n != len(want) || len(run.BadLines) > 0 {
			t.Errorf("padding %d: %d records, %v, bad lines %v", pad, n, err, run.BadLines)
		}
	}
}
