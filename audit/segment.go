package audit

import (
	"slices"

	"nightaudit/trace"
)

// Segment is what a re-run has to redo: the part of the run behind the
// checkpoint, for the claims that fail there.
type Segment struct {
	Claims []int // indexes into Report.Claims
	// Checkpoint is the final supporting call of the last PASS claim whose evidence
	// lies wholly before the segment; nil: the beginning of the run.
	Checkpoint *CallRef
	// Cut is the last call that is kept: the checkpoint, moved to the end of its
	// parallel batch; nil: nothing is kept.
	Cut *CallRef
	// Start and End are the first and last call to redo; both nil where the segment
	// begins behind the last call.
	Start, End *CallRef
	// Downstream are the PASS claims with evidence behind the start: they are
	// audited again after a re-run. Indexes into Report.Claims.
	Downstream []int
}

// segments cuts the run for every claim that is not PASS. Claims that share a
// checkpoint share a segment.
func segments(l *ledger, judged []Judged) []Segment {
	var out []Segment
	for i := range judged {
		if judged[i].Verdict == Pass {
			continue
		}
		s := cut(l, judged, i)
		if k := slices.IndexFunc(out, func(o Segment) bool { return sameCall(o.Checkpoint, s.Checkpoint) }); k >= 0 {
			out[k] = merge(l, judged, out[k], s)
			continue
		}
		out = append(out, s)
	}
	return out
}

func sameCall(a, b *CallRef) bool {
	return a == nil && b == nil || a != nil && b != nil && a.index == b.index
}

// start returns the earliest call that one of the claim's findings rests on, or
// the number of calls where none rests on any.
func start(l *ledger, j *Judged) int {
	first := len(l.run.Calls)
	for _, f := range j.Findings {
		if f.Verdict == Pass || !f.rests {
			continue
		}
		for _, ref := range f.Calls {
			first = min(first, ref.index)
		}
	}
	return first
}

// cut makes the segment of one claim.
func cut(l *ledger, judged []Judged, i int) Segment {
	from := start(l, &judged[i])
	s := Segment{Claims: []int{i}}
	checkpoint := -1
	for k := range judged {
		e := judged[k].Evidence
		if judged[k].Verdict == Pass && len(e) > 0 && e[len(e)-1].index < from {
			checkpoint = max(checkpoint, e[len(e)-1].index)
		}
	}
	if checkpoint >= 0 {
		s.Checkpoint = l.pointer(checkpoint)
		s.Cut = l.pointer(batchEnd(l.run, checkpoint))
	}
	return bound(l, judged, s, from)
}

// bound sets the segment's start, end and downstream claims.
func bound(l *ledger, judged []Judged, s Segment, from int) Segment {
	s.Start, s.End, s.Downstream = nil, nil, nil
	last := len(l.run.Calls) - 1
	for k := range judged {
		if judged[k].Verdict != Pass {
			continue
		}
		for _, ref := range judged[k].Evidence {
			if ref.index >= from {
				s.Downstream = append(s.Downstream, k)
				last = min(last, ref.index-1)
				break
			}
		}
	}
	if from < len(l.run.Calls) {
		s.Start = l.pointer(from)
		s.End = l.pointer(max(last, from))
	}
	return s
}

// merge joins two segments that share a checkpoint: from the earlier start on.
func merge(l *ledger, judged []Judged, a, b Segment) Segment {
	from := len(l.run.Calls)
	for _, s := range []Segment{a, b} {
		if s.Start != nil {
			from = min(from, s.Start.index)
		}
	}
	a.Claims = append(a.Claims, b.Claims...)
	return bound(l, judged, a, from)
}

func (l *ledger) pointer(i int) *CallRef {
	ref := l.ref(i)
	return &ref
}

// batchEnd returns the last call of the parallel batch that call i belongs to, so
// that no call is parted from its siblings' results.
func batchEnd(run *trace.Run, i int) int {
	end := i
	if batch := run.Calls[i].Batch; batch != "" {
		for k := i + 1; k < len(run.Calls); k++ {
			if run.Calls[k].Batch == batch {
				end = k
			}
		}
	}
	return end
}

// Prefix returns the calls that are kept before the cut, in order.
func (s *Segment) Prefix(run *trace.Run) []trace.Call {
	if s.Cut == nil {
		return nil
	}
	return run.Calls[:s.Cut.index+1]
}

// In returns the call that the reference names.
func (r CallRef) In(run *trace.Run) *trace.Call { return &run.Calls[r.index] }
