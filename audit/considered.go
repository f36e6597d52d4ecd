package audit

import (
	"encoding/json"
	"fmt"
	"slices"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
)

// Considered is a requirement with every call that came into question for it.
type Considered struct {
	Requirement string
	Asks        json.RawMessage // as it stands in the claim
	Calls       []ConsideredCall
}

// ConsideredCall is a call that came into question, and why it counted or not.
type ConsideredCall struct {
	CallRef
	Counts bool
	Why    string
}

// Considered lists, for each requirement of a claim that names calls, every call
// that was considered and why it counted or not.
func (r *Report) Considered(claim int) ([]Considered, error) {
	l := newLedger(r.Run, r.tables)
	c := &r.Claims[claim].Claim
	var asks map[string][]json.RawMessage
	// Requirements that are no lists (grounds by any_of, envelope, run) name no
	// calls by matcher and have no list to show.
	var all map[string]json.RawMessage
	if json.Unmarshal(c.Requirement, &all) == nil {
		asks = map[string][]json.RawMessage{}
		for key, raw := range all {
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) == nil {
				asks[key] = list
			}
		}
	}
	var out []Considered
	add := func(key string, i int, m []*claims.Matcher, tool string, s *claims.Show) {
		one := Considered{Requirement: fmt.Sprintf("%s[%d]", key, i)}
		if list := asks[key]; i < len(list) {
			one.Asks = list[i]
		}
		one.Calls = l.consider(m, tool, s)
		out = append(out, one)
	}
	for i := range c.MustShow {
		if s := &c.MustShow[i]; s.Match != nil {
			add("must_show", i, s.Matchers(), "", s)
		} else {
			add("must_show", i, nil, s.Tool, s)
		}
	}
	for i, n := range c.MustNotFail {
		if n.Match != nil {
			add("must_not_fail", i, []*claims.Matcher{n.Match}, "", nil)
		} else {
			add("must_not_fail", i, nil, n.Tool, nil)
		}
	}
	for i := range c.MustNotCall {
		add("must_not_call", i, []*claims.Matcher{&c.MustNotCall[i]}, "", nil)
	}
	for i := range c.Count {
		add("count", i, []*claims.Matcher{&c.Count[i].Of}, "", nil)
	}
	for i := range c.NoDuplicates {
		add("no_duplicates", i, []*claims.Matcher{&c.NoDuplicates[i].Match}, "", nil)
	}
	return out, l.err
}

// consider lists the calls that matchers, or a tool's name, brings into question.
func (l *ledger) consider(m []*claims.Matcher, tool string, s *claims.Show) []ConsideredCall {
	bound, after := -1, ""
	if s != nil && s.Match != nil {
		bound, after = l.bound(s)
	}
	var out []ConsideredCall
	for i := range l.run.Calls {
		c := &l.run.Calls[i]
		if c.ResultOnly || m == nil && c.Tool != tool {
			continue
		}
		how := fits
		var commands []int
		if m != nil {
			if how, commands = l.matchAny(m, i); how == noFit {
				continue
			}
		}
		o := l.became(i, commands)
		one := ConsideredCall{CallRef: l.ref(i), Counts: how == fits && o.Kind == outcome.OK, Why: fmt.Sprintf("%s (%s)", o.Kind, o.Evidence)}
		if o.Kind == outcome.Error {
			one.Why += because(o)
		}
		switch {
		case how == otherTarget:
			one.Why += "; on another target"
		case how == veiled:
			one.Why += "; what it was about was redacted"
		case i <= bound && !l.anyFollows(i, commands, bound, s):
			one.Counts, one.Why = false, fmt.Sprintf("%s; older than %s on %s", one.Why, after, l.place(bound))
		case m != nil && one.Counts && !l.anyTrusted(i, commands):
			one.Why += "; its exit code is not that of this command"
		}
		out = append(out, one)
	}
	return out
}

// anyTrusted tells whether the status of call i is that of one of its commands that
// fit.
func (l *ledger) anyTrusted(i int, commands []int) bool {
	if commands == nil {
		return l.trusted(i, -1)
	}
	return slices.ContainsFunc(commands, func(k int) bool { return l.trusted(i, k) })
}

// anyFollows tells whether, in the call that sets the bound, a command that fits
// stands behind the one that sets it.
func (l *ledger) anyFollows(i int, commands []int, bound int, s *claims.Show) bool {
	return slices.ContainsFunc(commands, func(k int) bool {
		return l.followsWithin(candidate{i, k, commands}, bound, s)
	})
}
