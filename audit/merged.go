package audit

import (
	"fmt"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

// Observes tells whether call read, which succeeded, is an observation of what
// call write has changed: a look at its target that would show a failure.
type Observes func(merged *trace.Run, write, read *trace.Call) bool

// CheckMerged judges claims on a merged record (trace.Join): the calls before
// from are the first run's, those from there on the re-run's. What a claim
// requires to be shown must lie in the re-run. A failure of the first run is
// superseded only by a later ok call of the same tool and an observation of its
// target, both in the re-run: otherwise a failure that was blindly repeated would
// be washed clean by repeating it once more. Envelopes are judged over the whole
// record.
//
// FirstKnown is false where the first trace could not be read any more: then
// every call that must not fail counts as having failed there. Tables are those
// of Rules.
func CheckMerged(merged *trace.Run, from int, firstKnown bool, list []claims.Claim, observes Observes, tables *outcome.Tables) ([]Judged, error) {
	l := newLedger(merged, tables)
	l.from, l.observes, l.firstUnknown = from, observes, !firstKnown
	judge := func() (out []Judged) {
		for _, c := range list {
			out = append(out, l.judge(c))
		}
		return out
	}
	out := judge()
	if l.changed {
		out = judge() // see Check
	}
	return out, l.err
}

// superseded tells whether the failures of a tool in the first run are made good
// by the re-run, and by which calls. Why says what is missing, "" nothing.
func (l *ledger) superseded(tool string) (evidence []int, why string) {
	repaired := -1
	for i := l.from; i < len(l.run.Calls); i++ {
		c := &l.run.Calls[i]
		if c.ResultOnly || l.outcome(i).Kind != outcome.OK {
			continue
		}
		if c.Tool == tool {
			repaired = i
			continue
		}
		if repaired >= 0 && l.observes != nil && l.observes(l.run, &l.run.Calls[repaired], c) {
			return []int{repaired, i}, ""
		}
	}
	if repaired < 0 {
		return nil, fmt.Sprintf("%s failed in the first run, and no call of it succeeded in the re-run", tool)
	}
	return nil, fmt.Sprintf("%s succeeded in the re-run, but nothing was looked at afterwards that would show its effect", tool)
}
