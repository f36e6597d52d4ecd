package trace

import "slices"

// Share hands what a Scanner has learnt of a file, which its Finish has written
// into whole, to the runs that the file holds one behind the other. starts are the
// lines on which they begin; what stands before the first belongs to it.
func Share(whole *Run, runs []*Run, starts []int) {
	for i, run := range runs {
		run.SHA256 = whole.SHA256
		for _, bad := range whole.BadLines {
			if (i == 0 || bad.Line >= starts[i]) && (i+1 == len(runs) || bad.Line < starts[i+1]) {
				run.BadLines = append(run.BadLines, bad)
			}
		}
		slices.SortStableFunc(run.BadLines, func(a, b BadLine) int { return a.Line - b.Line })
		run.Torn = whole.Torn && i+1 == len(runs)
	}
}
