package audit

import (
	"fmt"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

// notCall judges a requirement of must_not_call: no call that fits has run.
func (l *ledger) notCall(name string, m *claims.Matcher) Finding {
	var ran, hidden []int
	for i := range l.run.Calls {
		switch how, _ := l.match(m, i); {
		case how < veiled || !l.outcome(i).Ran():
		case how == veiled:
			hidden = append(hidden, i)
		default:
			ran = append(ran, i)
		}
	}
	if len(ran) > 0 {
		return Finding{Requirement: name, Verdict: Contradicted, Reason: ForbiddenCall, Calls: l.refs(ran), rests: true, Detail: "a call that the claim rules out has run"}
	}
	if len(hidden) > 0 {
		return Finding{Requirement: name, Verdict: Unsupported, Reason: Redacted, Calls: l.refs(hidden), rests: true, Detail: "what a call was about was redacted; it may be the one that the claim rules out"}
	}
	return l.absent(Finding{Requirement: name, Verdict: Pass})
}

// count judges a requirement of count: how many ok calls fit, or how many
// different values they had.
func (l *ledger) count(name string, c *claims.Count) Finding {
	var counted, unclear, hidden []int
	seen := map[string]bool{}
	for i := range l.run.Calls {
		how, commands := l.match(&c.Of, i)
		if how < veiled {
			continue
		}
		switch o := l.became(i, commands); {
		case o.Kind == outcome.OK && how == veiled:
			hidden = append(hidden, i)
		case o.Kind == outcome.OK:
			if c.Distinct != nil {
				v, ok := l.valueAt(i, c.Distinct)
				if l.redacted(v) { // it may be one more, or one of those counted
					hidden = append(hidden, i)
					continue
				}
				key := string(encode(canonical(v)))
				if !ok || seen[key] {
					continue
				}
				seen[key] = true
			}
			counted = append(counted, i)
		case o.Kind == outcome.Suspect || o.Kind == outcome.Unknown || o.Kind == outcome.Error && !l.owned(i, commands):
			unclear = append(unclear, i)
		}
	}
	n, least, most := len(counted), 0, -1
	switch {
	case c.Equals != nil:
		least, most = *c.Equals, *c.Equals
	default:
		if c.Min != nil {
			least = *c.Min
		}
		if c.Max != nil {
			most = *c.Max
		}
	}
	f := Finding{Requirement: name, Expected: encode(bounds(c)), Observed: encode(n)}
	switch {
	case most >= 0 && n > most:
		f.Verdict, f.Reason, f.rests = Contradicted, CountDiffers, true
		f.Calls = l.refs(counted[most:])
		f.Detail = fmt.Sprintf("%d are recorded, more than claimed", n)
		return f
	case len(hidden) > 0 && (n < least && n+len(hidden)+len(unclear) >= least || most >= 0 && n+len(hidden) > most):
		f.Verdict, f.Reason, f.Calls, f.rests = Unsupported, Redacted, l.refs(hidden), true
		f.Detail = "values that were redacted cannot be told apart"
		return f
	case n < least && n+len(unclear) >= least:
		f.Verdict, f.Reason, f.Calls, f.rests = Unsupported, NoOutcome, l.refs(unclear), true
		switch l.outcome(unclear[0]).Kind {
		case outcome.Suspect:
			f.Reason = Suspect
		case outcome.Error:
			f.Reason = MaskedExit
		}
		f.Detail = fmt.Sprintf("%d are known to have succeeded, and it cannot be told of %d more", n, len(unclear))
		return f
	case n < least:
		f.Verdict, f.Reason, f.Calls = Contradicted, CountDiffers, l.refs(counted)
		f.Detail = fmt.Sprintf("%d are recorded, fewer than claimed", n)
		return l.absent(f)
	}
	f.Verdict, f.Calls, f.rests = Pass, l.refs(counted), len(counted) > 0
	f.Expected, f.Observed = nil, nil
	if most >= 0 {
		return l.absent(f)
	}
	return f
}

func bounds(c *claims.Count) any {
	if c.Equals != nil {
		return *c.Equals
	}
	out := map[string]int{}
	if c.Min != nil {
		out["min"] = *c.Min
	}
	if c.Max != nil {
		out["max"] = *c.Max
	}
	return out
}

// valueAt follows a path that begins with args or result.
func (l *ledger) valueAt(i int, path []string) (any, bool) {
	if path[0] == "args" {
		return lookup(l.facts(i).args, path[1:])
	}
	payload, ok := l.payload(i)
	if !ok {
		return nil, false
	}
	return lookup(payload, path[1:])
}

// redacted tells whether a value is a mark that stands for what was taken out.
func (l *ledger) redacted(v any) bool {
	text, ok := v.(string)
	return ok && l.tables.IsMark(text)
}

// noDuplicates judges that no two calls with one key took effect.
func (l *ledger) noDuplicates(name string, d *claims.NoDuplicates) Finding {
	first := map[string]int{}
	var evidence, hidden, keyless []int
	for i := range l.run.Calls {
		how, commands := l.match(&d.Match, i)
		if how < veiled {
			continue
		}
		if k := l.became(i, commands).Kind; k != outcome.OK && k != outcome.Pending {
			continue
		}
		if how == veiled {
			hidden = append(hidden, i)
			continue
		}
		var key any
		ok := false
		if d.Key != nil {
			key, ok = l.valueAt(i, d.Key)
		} else if key = l.facts(i).args; key != nil {
			ok = true
		}
		switch {
		case !ok:
			keyless = append(keyless, i)
			continue
		case l.redacted(key):
			hidden = append(hidden, i)
			continue
		}
		id := l.run.Calls[i].Tool + "\x00" + string(encode(canonical(key)))
		if before, twice := first[id]; twice {
			return Finding{
				Requirement: name, Verdict: Contradicted, Reason: DuplicateWrite, Calls: l.refs([]int{i}), rests: true,
				Detail: fmt.Sprintf("the same call as on %s, and neither failed", l.place(before)),
			}
		}
		first[id] = i
		evidence = append(evidence, i)
	}
	// What a call without its key repeats, nobody can tell; a tool's only call
	// repeats nothing.
	calls := map[string]int{}
	for _, i := range slices.Concat(hidden, keyless, evidence) {
		calls[l.run.Calls[i].Tool]++
	}
	for _, c := range []struct {
		calls  []int
		reason Reason
		detail string
	}{{hidden, Redacted, "keys that were redacted cannot be told apart"}, {keyless, FieldAbsent, "calls without the key cannot be told apart"}} {
		c.calls = slices.DeleteFunc(c.calls, func(i int) bool { return calls[l.run.Calls[i].Tool] < 2 })
		if len(c.calls) > 0 {
			return Finding{Requirement: name, Verdict: Unsupported, Reason: c.reason, Calls: l.refs(c.calls), rests: true, Detail: c.detail}
		}
	}
	return l.absent(Finding{Requirement: name, Verdict: Pass, Calls: l.refs(evidence), rests: len(evidence) > 0})
}

// quote judges that a text occurs in some tool's result.
func (l *ledger) quote(name, text string) Finding {
	for i := range l.run.Calls {
		if l.returnedText(i, text) {
			return Finding{Requirement: name, Verdict: Pass, Calls: l.refs([]int{i}), rests: true}
		}
	}
	return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: QuoteMissing, Detail: "no tool returned the text that is quoted"})
}

// returnedText tells whether call i returned a text: as its output is written, in
// one of the texts of a structured result, or in an error that is recorded beside
// a result.
func (l *ledger) returnedText(i int, text string) bool {
	c := &l.run.Calls[i]
	out, err := outcome.Output(l.run, c)
	if err != nil {
		l.fail(i, err)
		return false
	}
	if strings.Contains(out, text) {
		return true
	}
	for _, body := range []trace.Body{c.Result, c.Structured, c.Error} {
		v, err := l.run.Value(body)
		if err != nil {
			l.fail(i, err)
			return false
		}
		if decoded, err := v.Decode(); err == nil && holdsText(decoded, text) {
			return true
		}
	}
	return false
}

// holdsText tells whether a text stands in one of the texts of a decoded value.
func holdsText(v any, text string) bool {
	switch t := v.(type) {
	case string:
		return strings.Contains(t, text)
	case []any:
		return slices.ContainsFunc(t, func(e any) bool { return holdsText(e, text) })
	case map[string]any:
		for _, e := range t {
			if holdsText(e, text) {
				return true
			}
		}
	}
	return false
}

// runEnd judges how the run ended.
func (l *ledger) runEnd(r *claims.RunEnd) []Finding {
	var out []Finding
	if r.End != nil {
		f := Finding{Requirement: "run.end", Verdict: Pass}
		switch {
		case !l.run.Ended && l.run.EndReason == "":
			f.Verdict, f.Reason, f.Detail = Unsupported, NoRunEnd, "no end of the run is recorded"
		case !slices.Contains(r.End, l.run.EndReason):
			f.Verdict, f.Reason, f.Detail = Contradicted, RunCutOff, "the run ended otherwise than claimed"
			f.Expected, f.Observed = encode(r.End), encode(l.run.EndReason)
		}
		out = append(out, f)
	}
	if r.NoPending {
		f := Finding{Requirement: "run.no_pending", Verdict: Pass}
		for i := range l.run.Calls {
			if !l.run.Calls[i].ResultOnly && l.outcome(i).Kind == outcome.Pending {
				f.Verdict, f.Reason, f.Calls, f.rests = Unsupported, Pending, l.refs([]int{i}), true
				f.Detail = "a call was started, and no end of it is recorded"
				break
			}
		}
		if f.Verdict == Pass {
			f = l.absent(f)
		}
		out = append(out, f)
	}
	return out
}
