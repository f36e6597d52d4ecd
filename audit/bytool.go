package audit

import (
	"fmt"

	"nightaudit/audit/outcome"
)

// The requirements that are only a tool's name, with the meaning that the first
// article's script gave them.

// mustShow judges that a call of this tool has succeeded.
func (l *ledger) mustShow(name, tool string) Finding {
	var failed []int
	first := map[outcome.Kind]int{}
	for i := l.from; i < len(l.run.Calls); i++ {
		c := &l.run.Calls[i]
		if c.Tool != tool || c.ResultOnly {
			continue
		}
		o := l.outcome(i)
		switch o.Kind {
		case outcome.OK:
			return Finding{Requirement: name, Verdict: Pass, Calls: l.refs([]int{i}), rests: true, recovered: append(failed, l.failedAfter(tool, i)...)}
		case outcome.Error:
			failed = append(failed, i)
		}
		if _, ok := first[o.Kind]; !ok {
			first[o.Kind] = i
		}
	}
	for _, k := range []struct {
		kind   outcome.Kind
		reason Reason
		detail string
	}{
		{outcome.Error, CallFailed, "every call of %s that ended has failed"},
		{outcome.Suspect, Suspect, "a call of %s points to a failure, and none is known to have succeeded"},
		{outcome.Pending, Pending, "a call of %s was started, and no end of it is recorded"},
		{outcome.Unknown, NoOutcome, "the trace does not record how a call of %s ended"},
	} {
		if i, ok := first[k.kind]; ok {
			f := Finding{Requirement: name, Verdict: Unsupported, Reason: k.reason, Calls: l.refs([]int{i}), Detail: fmt.Sprintf(k.detail, tool), rests: true}
			if k.reason.Missing() {
				return l.absent(f) // a call that succeeded may stand in the gap
			}
			return f
		}
	}
	for _, kind := range []outcome.Kind{outcome.Denied, outcome.Cancelled} {
		if i, ok := first[kind]; ok {
			return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: NotRun, Calls: l.refs([]int{i}), Detail: fmt.Sprintf("%s was called but never ran (%s)", tool, kind)})
		}
	}
	return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: NoCall, Detail: fmt.Sprintf("no call of %s is recorded", tool)})
}

// failedAfter lists the failed calls of a tool behind call i: they matter for
// what a later supporting call of the same claim recovered from.
func (l *ledger) failedAfter(tool string, i int) []int {
	var out []int
	for k := i + 1; k < len(l.run.Calls); k++ {
		if l.run.Calls[k].Tool == tool && !l.run.Calls[k].ResultOnly && l.outcome(k).Kind == outcome.Error {
			out = append(out, k)
		}
	}
	return out
}

// mustNotFail judges that no call of this tool has failed.
func (l *ledger) mustNotFail(name, tool string) Finding {
	var failed, before, unclear []int
	for i := range l.run.Calls {
		c := &l.run.Calls[i]
		if c.Tool != tool || c.ResultOnly {
			continue
		}
		switch l.outcome(i).Kind {
		case outcome.Error:
			if i < l.from {
				before = append(before, i)
			} else {
				failed = append(failed, i)
			}
		case outcome.Suspect, outcome.Unknown:
			if i >= l.from {
				unclear = append(unclear, i)
			}
		}
	}
	var evidence []int
	if len(before) > 0 || l.firstUnknown {
		var why string
		if evidence, why = l.superseded(tool); why != "" && len(failed) == 0 {
			return Finding{Requirement: name, Verdict: Contradicted, Reason: Failed, Calls: l.refs(before), rests: true, Detail: why}
		}
	}
	switch {
	case len(failed) > 0:
		first := l.outcome(failed[0])
		reason := failureReason(first)
		return Finding{
			Requirement: name, Verdict: Contradicted, Reason: reason, Calls: l.refs(failed), rests: true,
			Detail: fmt.Sprintf("%s failed%s", tool, because(first)),
		}
	case len(unclear) > 0:
		reason, detail := NoOutcome, "the trace does not record how a call of %s ended"
		if l.outcome(unclear[0]).Kind == outcome.Suspect {
			reason, detail = Suspect, "a call of %s points to a failure without proving it"
		}
		return Finding{Requirement: name, Verdict: Unsupported, Reason: reason, Calls: l.refs(unclear[:1]), rests: true, Detail: fmt.Sprintf(detail, tool)}
	default:
		return l.absent(Finding{Requirement: name, Verdict: Pass, Calls: l.refs(evidence), rests: len(evidence) > 0, recovered: before})
	}
}
