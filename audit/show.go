package audit

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
)

// show judges a requirement of must_show in its matcher form.
func (l *ledger) show(name string, s *claims.Show) Finding {
	list, others, hidden := l.candidates(s.Matchers()...)
	if len(list) == 0 && len(hidden) > 0 {
		return Finding{
			Requirement: name, Verdict: Unsupported, Reason: Redacted, Calls: l.refs(hidden), rests: true,
			Detail: "what such a call was about was redacted",
		}
	}
	if len(list) == 0 {
		if len(others) > 0 {
			return l.absent(Finding{
				Requirement: name, Verdict: Unsupported, Reason: OtherTarget, Calls: l.refs(others[:min(len(others), 3)]),
				Detail: "such calls are recorded, but on other targets",
			})
		}
		return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: NoCall, Detail: "no such call is recorded"})
	}
	ran := slices.DeleteFunc(slices.Clone(list), func(c candidate) bool { return !l.outcome(c.call).Ran() })
	if len(ran) == 0 {
		return l.absent(Finding{
			Requirement: name, Verdict: Unsupported, Reason: NotRun, Calls: l.refs(callsOf(list[:1])),
			Detail: fmt.Sprintf("it was called but never ran (%s)", l.outcome(list[0].call).Kind),
		})
	}
	fresh := ran
	if bound, what := l.bound(s); bound >= 0 {
		fresh = slices.DeleteFunc(slices.Clone(ran), func(c candidate) bool { return c.call <= bound && !l.followsWithin(c, bound, s) })
		if len(fresh) == 0 {
			return l.absent(Finding{
				Requirement: name, Verdict: Unsupported, Reason: Stale, Calls: l.refs([]int{ran[len(ran)-1].call, bound}),
				Detail: fmt.Sprintf("the last such call lies before %s on %s", what, l.place(bound)),
			})
		}
	}
	if s.Status == claims.StatusError {
		fresh = slices.DeleteFunc(slices.Clone(fresh), func(c candidate) bool { return l.becameOf(c).Kind != outcome.Error })
		if len(fresh) == 0 {
			return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: NoCall, Calls: l.refs(callsOf(ran[:1])), Detail: "no such call failed, as the claim says one did"})
		}
	}
	f := l.judgePicked(s, fresh)
	f.Requirement = name
	if f.Verdict == Pass {
		f.recovered = l.failures(list)
	}
	return f
}

// failures lists the calls of a list that failed.
func (l *ledger) failures(list []candidate) []int {
	var out []int
	for _, c := range list {
		if l.becameOf(c).Kind == outcome.Error {
			out = append(out, c.call)
		}
	}
	return out
}

// judgePicked judges the calls that pick selects. any: the best, the earliest of
// equals; latest and all: the worst, and a PASS rests on all of them.
func (l *ledger) judgePicked(s *claims.Show, list []candidate) Finding {
	if s.Pick != claims.PickAny {
		if s.Pick == claims.PickLatest {
			list = l.latest(list)
		}
		var all Finding
		for k, c := range list {
			f := l.judgeCall(s, c)
			switch {
			case k == 0 || f.Verdict.Worse(all.Verdict):
				all = f
			case f.Verdict == Pass && all.Verdict == Pass:
				for _, ref := range f.Calls { // several commands of one call may be picked
					if !slices.ContainsFunc(all.Calls, func(have CallRef) bool { return have.index == ref.index }) {
						all.Calls = append(all.Calls, ref)
					}
				}
				if f.strength == "" {
					all.strength = ""
				}
			}
		}
		return all
	}
	var best Finding
	for k := 0; k < len(list) && (k == 0 || best.Verdict != Pass); {
		// Which of a call's commands was meant is not known: all of them must do.
		f := l.judgeCall(s, list[k])
		from := k
		for k++; k < len(list) && list[k].call == list[from].call; k++ {
			if other := l.judgeCall(s, list[k]); other.Verdict.Worse(f.Verdict) {
				f = other
			}
		}
		if from == 0 || best.Verdict.Worse(f.Verdict) {
			best = f
		}
	}
	if best.Reason == CountDiffers && s.Tests != nil && l.together(s.Tests, list) {
		best.Verdict, best.Reason = Unsupported, OutputMissing
		best.Detail = "no single run counts so many tests; several of them together do"
	}
	return best
}

// together tells whether several test runs, of which none counts as many tests as
// are claimed, count them together: nobody said that it was one run.
func (l *ledger) together(want *claims.Tests, list []candidate) bool {
	total, runs, last := 0, 0, -1
	for _, c := range l.latest(list) {
		if c.call == last {
			continue // one more command of a call that was counted
		}
		last = c.call
		s, err := l.view(c.call).TestsAsked()
		if err == nil && s != nil && s.Counted && !s.Failing() {
			total, runs = total+s.Total(), runs+1
		}
	}
	if want.Total != nil {
		return runs > 1 && total == *want.Total
	}
	return runs > 1 && total >= want.MinTotal
}

// latest keeps the last run of each command, told apart by what was run and where,
// so that a later narrower run cannot hide a failing wider one.
func (l *ledger) latest(list []candidate) []candidate {
	last := map[string]int{}
	for k, c := range list {
		last[l.commandKey(c)] = k
	}
	var out []candidate
	for k, c := range list {
		if last[l.commandKey(c)] == k {
			out = append(out, c)
		}
	}
	return out
}

// commandKey identifies what a call ran, and where.
func (l *ledger) commandKey(c candidate) string {
	f := l.facts(c.call)
	switch {
	case c.command >= 0:
		return "command\x00" + f.shell.Commands[c.command].Group()
	case f.shell.Text != "":
		return "command\x00" + f.shell.Text + "\x00" + f.cwd
	default:
		return "tool\x00" + l.run.Calls[c.call].Tool + "\x00" + string(encode(f.args))
	}
}

// bound returns the call that the evidence must be later than, -1 where there is
// none, and what it is.
func (l *ledger) bound(s *claims.Show) (call int, what string) {
	for i := len(l.run.Calls) - 1; i >= 0; i-- {
		if s.AfterEdit && l.isEdit(i, s.EditPaths) {
			return i, "the last edit"
		}
		if s.After != nil {
			if how, commands := l.match(s.After, i); how >= veiled && l.became(i, commands).Kind == outcome.OK {
				return i, "the call that it must follow"
			}
		}
	}
	return -1, ""
}

// followsWithin tells whether, in the very call that sets the bound, the command
// that fits stands behind the one that sets it.
func (l *ledger) followsWithin(c candidate, bound int, s *claims.Show) bool {
	if c.call != bound || c.command < 0 {
		return false
	}
	if s.After != nil {
		_, commands := l.match(s.After, bound)
		return len(commands) > 0 && commands[len(commands)-1] < c.command
	}
	for k, cmd := range l.facts(c.call).shell.Commands {
		switch {
		case k < c.command:
		case k == c.command && !editing[programOf(cmd)], k > c.command && programOf(cmd) == "tee":
			// Where its own output is kept changes nothing that it has looked at.
		case cmd.Classes[outcome.ClassEdit]:
			return false
		}
	}
	return true
}

// editing are the programs whose paths are what they change, not their output's.
var editing = map[string]bool{"sed": true, "gsed": true, "perl": true, "mv": true, "cp": true, "rm": true, "ln": true, "install": true, "truncate": true, "patch": true, "git": true, "apply_patch": true}

// isEdit tells whether a call has edited, or may have, a file that makes earlier
// evidence stale.
func (l *ledger) isEdit(i int, globs []string) bool {
	f := l.facts(i)
	if !f.classes[outcome.ClassEdit] || l.run.Calls[i].ResultOnly {
		return false
	}
	if !l.mayHaveEdited(i) {
		return false
	}
	touched := append(slices.Clone(f.paths.Written), f.paths.Removed...)
	if len(touched) == 0 || slices.ContainsFunc(f.shell.Commands, editsUnnamed) {
		return true // nobody knows what it edited
	}
	for _, p := range touched {
		if l.isRoot(p) || l.tables.IsMark(path.Base(p)) {
			return true // whatever stands in the working directory, or was redacted
		}
		if len(globs) > 0 {
			if slices.ContainsFunc(globs, func(g string) bool { return pathFits(g, p, l.run.Cwd) }) {
				return true
			}
			continue
		}
		if !documentation(p) && !temporary(p) {
			return true
		}
	}
	return false
}

// mayHaveEdited tells whether an edit took effect, or may have. A shell call that
// failed may have edited before another command of it failed.
func (l *ledger) mayHaveEdited(i int) bool {
	switch l.outcome(i).Kind {
	case outcome.OK, outcome.Suspect, outcome.Pending:
		return true
	case outcome.Error:
		var edits []int
		for k, cmd := range l.facts(i).shell.Commands {
			if cmd.Classes[outcome.ClassEdit] {
				edits = append(edits, k)
			}
		}
		return len(edits) > 0 && !l.owned(i, edits)
	default:
		return false
	}
}

// editsUnnamed holds for a command that edits files and names none of them:
// git stash pop, or a redirection into what a variable holds.
func editsUnnamed(cmd outcome.Command) bool {
	if programOf(cmd) == "git" && len(cmd.Argv) > 1 {
		switch sub := cmd.Argv[1]; sub {
		case "pull", "merge", "rebase", "am", "apply", "revert", "cherry-pick":
			return cmd.Classes[outcome.ClassEdit] // its output may go to a file that is named
		}
	}
	return cmd.Classes[outcome.ClassEdit] && len(cmd.Writes)+len(cmd.Removes) == 0
}

// isRoot tells whether a path is the run's working directory or one above it.
func (l *ledger) isRoot(p string) bool {
	p = slashed(p)
	return p == "." || l.run.Cwd != "" && strings.HasPrefix(slashed(l.run.Cwd)+"/", strings.TrimSuffix(p, "/")+"/")
}

func documentation(p string) bool {
	base := path.Base(p)
	switch path.Ext(base) {
	case ".md", ".mdx", ".rst", ".adoc":
		return true
	}
	return strings.HasPrefix(base, "README") || strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(base, "CHANGELOG")
}

func temporary(p string) bool {
	return strings.HasPrefix(p, "/tmp/") || strings.Contains("/"+p, "/tmp/") || strings.Contains("/"+p, "/scratch/")
}

// judgeCall judges one picked call, by the first thing that speaks against it.
func (l *ledger) judgeCall(s *claims.Show, c candidate) Finding {
	f := Finding{Verdict: Pass, Calls: l.refs([]int{c.call}), rests: true}
	o := l.becameOf(c)
	j := judging{ledger: l, show: s, candidate: c, outcome: o}
	if s.Status == claims.StatusOK {
		if v, stop := j.ended(); stop {
			return v.onto(f)
		}
	}
	for _, check := range []func() verdict{j.contradicted, j.unclear, j.zeroTests, j.masked, j.tests, j.output, j.result, j.child} {
		if v := check(); v.reason != "" {
			return v.onto(f)
		}
	}
	return j.observed(f)
}

// verdict is what one check came to; no reason: nothing speaks against the call.
type verdict struct {
	reason             Reason
	detail             string
	expected, observed any
	contradicts        bool
}

func (v verdict) onto(f Finding) Finding {
	f.Verdict, f.Reason, f.Detail = Unsupported, v.reason, v.detail
	if v.contradicts {
		f.Verdict = Contradicted
	}
	if v.expected != nil {
		f.Expected = encode(v.expected)
	}
	if v.observed != nil {
		f.Observed = encode(v.observed)
	}
	return f
}

// failureReason is the reason of a failure that nothing made good.
func failureReason(o outcome.Outcome) Reason {
	switch o.Evidence {
	case outcome.TestsFailed:
		return TestsFailed
	case outcome.ExitCode:
		return ExitCode
	default:
		return Failed
	}
}
