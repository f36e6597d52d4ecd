package audit

import (
	"fmt"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

// Check judges a run: the actions of the trace by their grounds, then the claims
// that stand in the trace itself, then those given. The error is that of reading
// the trace again; a trace that was written over in the meantime is no error but
// trace_gap.
func Check(run *trace.Run, given []claims.Claim, rules Rules) (*Report, error) {
	l := newLedger(run, rules.Tables)
	l.rules = rules
	rep := l.report(given)
	if l.changed {
		// What was judged before the change was noticed took the trace for whole.
		rep = l.report(given)
	}
	return rep, l.err
}

func (l *ledger) report(given []claims.Claim) *Report {
	l.secrets, l.searched = nil, map[int]bool{}
	all, actions := l.statements()
	all = append(all, given...)

	rep := &Report{Run: l.run, tables: l.tables}
	if l.rules.Statements != nil {
		var said []claims.Claim
		said, rep.NotChecked = l.rules.Statements(l.run.Summary)
		said, left := l.judgeable(said)
		all, rep.NotChecked = append(all, said...), append(rep.NotChecked, left...)
	}
	rep.Claims = append(rep.Claims, actions...)
	for _, c := range all {
		rep.Claims = append(rep.Claims, l.judge(c))
	}
	distinct(rep.Claims)
	rep.Secrets = l.secrets
	rep.Segments = segments(l, rep.Claims)
	rep.count()
	return rep
}

// judgeable parts the statements of the summary from those that cannot be judged
// beside the calls of this run.
func (l *ledger) judgeable(said []claims.Claim) (judged []claims.Claim, left []string) {
	kept := map[string]bool{}
	for _, c := range said {
		if !l.excepted(&c) {
			judged = append(judged, c)
			kept[c.Text] = true
		}
	}
	for _, c := range said {
		if !kept[c.Text] {
			kept[c.Text] = true
			left = append(left, c.Text)
		}
	}
	return judged, left
}

// excepted tells whether the run holds a call beside which a claim is not judged.
func (l *ledger) excepted(c *claims.Claim) bool {
	for i := range l.run.Calls {
		for k := range c.Unless {
			if how, _ := l.match(&c.Unless[k], i); how == fits && l.outcome(i).Ran() {
				return true
			}
		}
	}
	return false
}

// distinct gives claims of one id names of their own: an id comes from the trace
// or from one of several files, and must name one claim of the report. The
// operator's claims keep theirs before the trace's.
func distinct(judged []Judged) {
	taken := map[string]bool{}
	for _, own := range []bool{false, true} {
		for i := range judged {
			c := &judged[i].Claim
			if (c.Source == claims.SourceTrace || c.Source == claims.SourceAction) != own {
				continue
			}
			id := c.ID
			for n := 2; taken[c.ID]; n++ {
				c.ID = fmt.Sprintf("%s-%d", id, n)
			}
			taken[c.ID] = true
		}
	}
}

func (r *Report) count() {
	t := Totals{Statements: len(r.Claims) + len(r.NotChecked)}
	for _, j := range r.Claims {
		switch j.Verdict {
		case Pass:
			t.Pass++
		case Unsupported:
			t.Unsupported++
		case Contradicted:
			t.Contradicted++
		}
		if !j.OwnMeasure {
			t.Checked++
		}
	}
	r.Totals = t
}

// Rules supply requirements: for claims that name a kind, and for statements that
// a rule fits. audit/rules has them; the zero value has none, and then statements
// of a summary are neither checked nor counted.
type Rules struct {
	Kinds claims.Kinds
	// Tables say what tools, programs and texts mean; nil: outcome.DefaultTables.
	Tables *outcome.Tables
	// Statements returns a claim for each statement of a text that a rule fits, and
	// the statements that none fits.
	Statements func(text string) (fit []claims.Claim, notChecked []string)
}

// ledger is the run as the judge sees it: what a call means is worked out once,
// when a requirement first asks.
type ledger struct {
	run      *trace.Run
	tables   *outcome.Tables
	views    []*outcome.View
	whole    bool
	secrets  []SecretAt
	searched map[int]bool // calls whose secrets are among them
	err      error        // the first error of reading the trace
	changed  bool         // bytes have changed since they were scanned
	lost     map[int]bool // the calls that they belong to

	rules Rules
	known []*facts // of calls that a matcher has looked at

	// Of a merged record: where the re-run's calls begin, and what they observe.
	from         int
	observes     Observes
	firstUnknown bool
}

// newLedger opens a run; without tables, the default ones hold.
func newLedger(run *trace.Run, tables *outcome.Tables) *ledger {
	if tables == nil {
		tables = outcome.DefaultTables()
	}
	l := &ledger{run: run, tables: tables, views: make([]*outcome.View, len(run.Calls)), whole: run.Whole(), lost: map[int]bool{}, searched: map[int]bool{}}
	parents := map[trace.ID]bool{}
	for i := range run.Calls {
		parents[run.Calls[i].Parent] = true
	}
	for i := range run.Calls {
		c := &run.Calls[i]
		if c.ID != "" && parents[c.ID] || c.Child.Present() || !tables.Delegates(c.Tool) {
			continue
		}
		if l.outcome(i).Ran() {
			l.whole = false
		}
	}
	return l
}

// outcome returns what became of call i.
func (l *ledger) outcome(i int) outcome.Outcome {
	o, err := l.view(i).Outcome()
	if err != nil {
		l.fail(i, err)
		return outcome.Outcome{Kind: outcome.Unknown, Evidence: outcome.None, Detail: err.Error()}
	}
	return o
}

// view returns call i as package outcome sees it.
func (l *ledger) view(i int) *outcome.View {
	if l.views[i] == nil {
		l.views[i] = l.tables.View(l.run, &l.run.Calls[i])
	}
	return l.views[i]
}

// fail notes an error of reading what belongs to call i, -1 for none. Bytes that
// have changed since they were scanned make the trace one with a gap.
func (l *ledger) fail(i int, err error) {
	if isRewritten(err) {
		l.whole, l.changed = false, true
		if i >= 0 {
			l.lost[i] = true
		}
		return
	}
	if l.err == nil {
		l.err = err
	}
}

func (l *ledger) ref(i int) CallRef {
	c := &l.run.Calls[i]
	return CallRef{ID: c.ID, File: c.File, Line: c.Pos.Line, Tool: c.Tool, index: i}
}

// place says where call i stands.
func (l *ledger) place(i int) string { return l.ref(i).Place() }

func (l *ledger) refs(calls []int) []CallRef {
	out := make([]CallRef, 0, len(calls))
	for _, i := range calls {
		out = append(out, l.ref(i))
	}
	return out
}

// group is the result of one requirement: usually one finding, for grounds
// several of which any may do.
type group struct {
	verdict  Verdict
	reason   Reason
	findings []Finding
}

func single(f Finding) group { return group{f.Verdict, f.Reason, []Finding{f}} }

// judge gives a claim its verdict.
func (l *ledger) judge(c claims.Claim) Judged {
	var groups []group
	order := c.Order
	if len(order) == 0 { // a claim that no file holds
		order = []string{"must_show", "must_not_fail", "grounds", "envelope"}
	}
	for _, key := range order {
		groups = append(groups, l.requirement(&c, key)...)
	}
	if len(groups) == 0 {
		groups = append(groups, single(Finding{
			Verdict: Unsupported, Reason: NoRequirement,
			Detail: "the claim names nothing that would show it",
		}))
	}
	for i := range groups {
		l.loseGroup(&groups[i])
	}
	return l.sum(c, groups)
}

// loseGroup turns what could not be told of calls that were written over into
// trace_gap: it is not the agent's record that fails to tell.
func (l *ledger) loseGroup(g *group) {
	for i := range g.findings {
		f := &g.findings[i]
		if f.Verdict != Unsupported || !slices.ContainsFunc(f.Calls, func(c CallRef) bool { return l.lost[c.index] }) {
			continue
		}
		if g.verdict == Unsupported && g.reason == f.Reason {
			g.reason = TraceGap
		}
		*f = l.gap(*f)
	}
}

// requirement judges what stands under one key of a claim.
func (l *ledger) requirement(c *claims.Claim, key string) []group {
	name := func(i int) string { return fmt.Sprintf("%s[%d]", key, i) }
	var out []Finding
	switch key {
	case "must_show":
		for i := range c.MustShow {
			if s := &c.MustShow[i]; s.Match == nil {
				out = append(out, l.mustShow(name(i), s.Tool))
			} else {
				out = append(out, l.show(name(i), s))
			}
		}
	case "must_not_fail":
		for i := range c.MustNotFail {
			if n := &c.MustNotFail[i]; n.Match == nil {
				out = append(out, l.mustNotFail(name(i), n.Tool))
			} else {
				out = append(out, l.notFail(name(i), n))
			}
		}
	case "must_not_call":
		for i := range c.MustNotCall {
			out = append(out, l.notCall(name(i), &c.MustNotCall[i]))
		}
	case "count":
		for i := range c.Count {
			out = append(out, l.count(name(i), &c.Count[i]))
		}
	case "coverage":
		for i := range c.Coverage {
			out = append(out, l.coverage(name(i), &c.Coverage[i]))
		}
	case "no_duplicates":
		for i := range c.NoDuplicates {
			out = append(out, l.noDuplicates(name(i), &c.NoDuplicates[i]))
		}
	case "quotes":
		for i, q := range c.Quotes {
			out = append(out, l.quote(name(i), q))
		}
	case "grounds":
		if c.Grounds != nil {
			return []group{l.grounds(*c.Grounds, nil, trace.Position{})}
		}
	case "envelope":
		if c.Envelope != nil {
			return []group{l.envelope(c.Envelope)}
		}
	case "run":
		if c.Run != nil {
			out = l.runEnd(c.Run)
		}
	}
	var groups []group
	for _, f := range out {
		groups = append(groups, single(f))
	}
	return groups
}

// sum makes a claim's verdict out of its requirements' results.
func (l *ledger) sum(c claims.Claim, groups []group) Judged {
	j := Judged{Claim: c, Verdict: Pass}
	var evidence, recovered []int
	for _, g := range groups {
		if g.verdict.rank() > j.Verdict.rank() {
			j.Verdict, j.Reason = g.verdict, g.reason
		}
		for k, f := range g.findings {
			if g.verdict == Pass && f.Verdict != Pass {
				g.findings[k].rests = false // an alternative that another one made good
			}
			recovered = append(recovered, f.recovered...)
			if f.Verdict == Pass {
				for _, ref := range f.Calls {
					evidence = append(evidence, ref.index)
				}
			}
		}
		j.Findings = append(j.Findings, g.findings...)
	}
	if c.Weak && j.Verdict == Contradicted {
		// The trace can support such a statement, but not refute it.
		j.Verdict, j.Reason = Unsupported, CallFailed
		for k := range j.Findings {
			if j.Findings[k].Verdict == Contradicted {
				j.Findings[k].Verdict, j.Findings[k].Reason = Unsupported, CallFailed
			}
		}
	}
	if j.Verdict != Pass {
		return j
	}
	slices.Sort(evidence)
	evidence = slices.Compact(evidence)
	j.Evidence = l.refs(evidence)
	j.Strength = "reported"
	if observed := func(f Finding) bool { return f.strength == "observed" }; slices.ContainsFunc(j.Findings, observed) &&
		!slices.ContainsFunc(j.Findings, func(f Finding) bool {
			return len(f.Calls) > 0 && !observed(f) && strings.HasPrefix(f.Requirement, "must_show")
		}) {
		j.Strength = "observed"
	}
	j.OwnMeasure = c.Source == claims.SourceTrace && !c.Ruled
	for _, i := range recovered {
		if len(evidence) > 0 && i < evidence[len(evidence)-1] {
			j.Recovered = true
		}
	}
	return j
}

// absent turns a finding that rests on absence into trace_gap where the trace is
// not whole: what is missing may stand in the gap.
func (l *ledger) absent(f Finding) Finding {
	if l.whole {
		return f
	}
	return l.gap(f)
}

func (l *ledger) gap(f Finding) Finding {
	f.Verdict, f.Reason, f.rests = Unsupported, TraceGap, false
	f.Detail = "the trace has a gap, so that what is not in it cannot be told"
	if l.changed {
		f.Detail = "the trace was written over while it was read, so that what it held cannot be told"
	}
	return f
}

// because says what a failure rests on.
func because(o outcome.Outcome) string {
	switch {
	case o.Evidence == outcome.ExitCode:
		return fmt.Sprintf(" with exit code %d", o.ExitCode)
	case o.Detail != "":
		return ": " + o.Detail
	default:
		return ""
	}
}
