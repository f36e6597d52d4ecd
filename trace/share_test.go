package trace

import (
	"slices"
	"testing"
)

func TestShare(t *testing.T) {
	whole := &Run{SHA256: [32]byte{1}, Torn: true, BadLines: []BadLine{{Line: 1}, {Line: 4}, {Line: 5}, {Line: 9}}}
	runs := []*Run{{BadLines: []BadLine{{Line: 3, Reason: "its own"}}}, {}, {}}
	Share(whole, runs, []int{2, 5, 7})
	for i, want := range [][]int{{1, 3, 4}, {5}, {9}} {
		var got []int
		for _, b := range runs[i].BadLines {
			got = append(got, b.Line)
		}
		if !slices.Equal(got, want) || runs[i].SHA256 != whole.SHA256 || runs[i].Torn != (i == 2) {
			t.Errorf("run %d: bad lines %v, want %v; torn %v", i, got, want, runs[i].Torn)
		}
	}
}
