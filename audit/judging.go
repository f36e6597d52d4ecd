package audit

import (
	"fmt"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

// judging is one call held against one requirement of must_show.
type judging struct {
	*ledger
	show      *claims.Show
	candidate candidate
	outcome   outcome.Outcome

	text   string
	loaded bool
}

// ended judges how the call ended.
func (j *judging) ended() (verdict, bool) {
	switch j.outcome.Kind {
	case outcome.Pending:
		return verdict{reason: Pending, detail: "it was started, and no end of it is recorded"}, true
	case outcome.Error:
		if !j.owned(j.candidate.call, j.candidate.all) && !j.endsChain(j.candidate.call, j.candidate.command) {
			if v := j.contradicted(); v.reason != "" {
				return v, true
			}
			return verdict{reason: MaskedExit, detail: "the call failed, but its exit code may be that of another command in it"}, true
		}
		return verdict{reason: failureReason(j.outcome), detail: "it failed" + because(j.outcome), contradicts: true}, true
	}
	return verdict{}, false
}

// output returns the text that the call returned.
func (j *judging) returned() string {
	if !j.loaded {
		j.loaded = true
		text, err := outcome.Output(j.run, &j.run.Calls[j.candidate.call])
		if err != nil {
			j.fail(j.candidate.call, err)
		}
		j.text = text
	}
	return j.text
}

// contradicted judges what must not stand in the output.
func (j *judging) contradicted() verdict {
	o := j.show.Output
	if o == nil {
		return verdict{}
	}
	if (o.NotMatch != nil || o.Equals != nil) && j.tables.IsMark(j.returned()) {
		return verdict{reason: Redacted, detail: "its output was redacted"}
	}
	if o.NotMatch != nil {
		if found := o.NotMatch.FindString(j.returned()); o.NotMatch.MatchString(j.returned()) {
			return verdict{reason: OutputContradicts, detail: fmt.Sprintf("its output holds what must not be there: %s", shortText(found)), contradicts: true}
		}
	}
	if o.Equals != nil && strings.TrimSpace(j.returned()) != strings.TrimSpace(*o.Equals) {
		return verdict{
			reason: OutputContradicts, detail: "its output is another one than claimed", contradicts: true,
			expected: *o.Equals, observed: shortText(strings.TrimSpace(j.returned())),
		}
	}
	return verdict{}
}

// named tells whether the claim itself names the text that was returned, which
// lifts what was only suspected.
func (j *judging) named() bool {
	o := j.show.Output
	return o != nil && (o.Match != nil && o.Match.MatchString(j.returned()) || o.Equals != nil)
}

func (j *judging) unclear() verdict {
	if j.show.Status != claims.StatusOK || j.named() {
		return verdict{}
	}
	switch j.outcome.Kind {
	case outcome.Suspect:
		return verdict{reason: Suspect, detail: "something points to a failure: " + j.outcome.Detail}
	case outcome.Unknown:
		return verdict{reason: NoOutcome, detail: "the trace does not record how it ended"}
	}
	return verdict{}
}

// summary returns the summary of the tests that the call ran, nil where there is
// none. A claim that asks for tests makes the call a test run.
func (j *judging) summary() *outcome.Summary {
	v := j.view(j.candidate.call)
	read := v.Tests
	if j.show.Tests != nil {
		read = v.TestsAsked
	}
	s, err := read()
	if err != nil {
		j.fail(j.candidate.call, err)
	}
	return s
}

func (j *judging) asksForTests() bool {
	return j.show.Tests != nil || j.show.Match.Class == string(outcome.ClassTest)
}

func (j *judging) zeroTests() verdict {
	if !j.asksForTests() || j.show.Status != claims.StatusOK {
		return verdict{}
	}
	if s := j.summary(); s != nil && s.None {
		return verdict{reason: ZeroTests, detail: "it ran no test"}
	}
	return verdict{}
}

func (j *judging) masked() verdict {
	if j.show.Status != claims.StatusOK || j.trusted(j.candidate.call, j.candidate.command) || j.named() {
		return verdict{}
	}
	if s := j.summary(); s != nil && s.Counted {
		return verdict{}
	}
	return verdict{reason: MaskedExit, detail: "the exit code that is recorded is not that of this command"}
}

func (j *judging) tests() verdict {
	want := j.show.Tests
	if want == nil {
		return verdict{}
	}
	s := j.summary()
	if s == nil && j.tables.IsMark(j.returned()) {
		return verdict{reason: Redacted, detail: "its output was redacted"}
	}
	if s == nil || want.Total != nil && !s.Counted {
		return verdict{reason: OutputMissing, detail: "its output holds no summary of tests"}
	}
	switch total := s.Total(); {
	case want.Total != nil && total != *want.Total:
		return verdict{reason: CountDiffers, detail: fmt.Sprintf("%d tests are in its summary", total), expected: *want.Total, observed: total, contradicts: true}
	case s.Counted && total < want.MinTotal:
		return verdict{reason: CountDiffers, detail: fmt.Sprintf("%d tests are in its summary", total), expected: map[string]int{"min": want.MinTotal}, observed: total, contradicts: true}
	}
	return verdict{}
}

func (j *judging) output() verdict {
	if o := j.show.Output; o != nil && o.Match != nil && !o.Match.MatchString(j.returned()) {
		if j.tables.IsMark(j.returned()) {
			return verdict{reason: Redacted, detail: "its output was redacted"}
		}
		return verdict{reason: OutputMissing, detail: "its output does not hold what the claim says"}
	}
	return verdict{}
}

// result compares fields of the call's own result.
func (j *judging) result() verdict {
	for _, g := range j.show.Result {
		f := j.compareField(g, j.candidate.call, Finding{Verdict: Unsupported})
		if f.Verdict != Pass {
			v := verdict{reason: f.Reason, detail: f.Detail, contradicts: f.Verdict == Contradicted}
			if f.Expected != nil {
				v.expected, v.observed = f.Expected, f.Observed
			}
			return v
		}
	}
	return verdict{}
}

// cutOff are the ends of delegated work that are no proper end.
var goodEnds = map[string]bool{"": true, "completed": true, "complete": true, "end_turn": true, "stop": true, "success": true, "done": true, "finished": true}

// child judges delegated work by what is recorded of it.
func (j *judging) child() verdict {
	want := j.show.Child
	if want == nil {
		return verdict{}
	}
	c := &j.run.Calls[j.candidate.call]
	rec, err := j.run.Value(c.Child)
	if err != nil {
		j.fail(j.candidate.call, err)
	}
	calls, tools, known := j.childCalls(c, rec)
	end := rec.Get("stop_reason").Text()
	if end == "" {
		end = rec.Get("status").Text()
	}
	switch {
	case !goodEnds[strings.ToLower(end)]:
		return verdict{reason: ChildCutOff, detail: "the delegated work was cut off: " + end, observed: end, contradicts: true}
	case !known:
		return verdict{reason: ChildMissing, detail: "what the delegated work did is not recorded"}
	case calls == 0:
		return verdict{reason: NoChildCalls, detail: "the delegated work made no tool call"}
	case want.Tool != "" && tools == nil:
		return verdict{reason: ChildMissing, detail: "which tools the delegated work called is not recorded"}
	case want.Tool != "" && !anyGlobs(want.Tool, tools):
		return verdict{reason: NoChildCalls, detail: "the delegated work did not call " + want.Tool}
	}
	return verdict{}
}

// childCalls returns how many calls delegated work made, and of which tools (nil:
// not recorded): from its events in this trace, else from its record.
func (j *judging) childCalls(c *trace.Call, rec trace.Value) (n int64, tools []string, known bool) {
	if c.ID != "" {
		for i := range j.run.Calls {
			if j.run.Calls[i].Parent != c.ID {
				continue
			}
			known = true
			if j.ledger.outcome(i).Ran() { // what was refused is no work
				n++
				tools = append(tools, j.run.Calls[i].Tool)
			}
		}
	}
	if known {
		return n, tools, true
	}
	for _, key := range []string{"tool_calls", "totalToolUseCount"} {
		if count, ok := rec.Get(key).Int(); ok {
			if list := rec.Get("tools"); list.Kind() == trace.KindArray {
				tools = []string{}
				for t := range list.Elements() {
					tools = append(tools, t.Text())
				}
			}
			return count, tools, true
		}
	}
	return 0, nil, false
}

func anyGlobs(pattern string, names []string) bool {
	for _, n := range names {
		if globs(pattern, n) {
			return true
		}
	}
	return false
}

// observed looks for a later observation of the call's target.
func (j *judging) observed(f Finding) Finding {
	at, found := j.observation(j.candidate.call)
	if j.show.StaleText != "" {
		first, old, redacted := j.readBack(j.candidate.call, j.show.StaleText)
		switch {
		case old >= 0:
			f.Calls = append(f.Calls, j.ref(old))
			return verdict{reason: ReadBackDiffers, detail: fmt.Sprintf("what was read afterwards, on %s, still holds the old text", j.place(old)), contradicts: true}.onto(f)
		case redacted >= 0:
			return verdict{reason: Redacted, detail: "what was read afterwards was redacted"}.onto(f)
		}
		at, found = first, first >= 0
	}
	if !found {
		if !j.show.Observed && j.show.StaleText == "" {
			return f
		}
		// A look may stand in the gap of a trace that is not whole.
		return j.absent(verdict{reason: NotObserved, detail: "nothing looked at its effect afterwards"}.onto(f))
	}
	f.strength = "observed"
	if (j.show.Observed || j.show.StaleText != "") && at != j.candidate.call {
		f.Calls = append(f.Calls, j.ref(at))
	}
	return f
}

func shortText(s string) string {
	runes := []rune(s)
	if len(runes) > 200 {
		return string(runes[:200]) + "…"
	}
	return s
}
