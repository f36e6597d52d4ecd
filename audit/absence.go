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
	var ran []int
	for i := range l.run.Calls {
		if how, _ := l.match(m, i); how == fits && l.outcome(i).Ran() {
			ran = append(ran, i)
		}
	}
	if len(ran) > 0 {
		return Finding{Requirement: name, Verdict: Contradicted, Reason: ForbiddenCall, Calls: l.refs(ran), rests: true, Detail: "a call that the claim rules out has run"}
	}
	return l.absent(Finding{Requirement: name, Verdict: Pass})
}

// count judges a requirement of count: how many ok calls fit, or how many
// different values they had.
func (l *ledger) count(name string, c *claims.Count) Finding {
	var counted, unclear, hidden []int
	seen := map[string]bool{}
	for i := range l.run.Calls {
		if how, _ := l.match(&c.Of, i); how != fits {
			continue
		}
		switch l.outcome(i).Kind {
		case outcome.OK:
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
		case outcome.Suspect, outcome.Unknown:
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
		if l.outcome(unclear[0]).Kind == outcome.Suspect {
			f.Reason = Suspect
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
		if how, _ := l.match(&d.Match, i); how != fits {
			continue
		}
		if k := l.outcome(i).Kind; k != outcome.OK && k != outcome.Pending {
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
		out, err := outcome.Output(l.run, &l.run.Calls[i])
		if err != nil {
			l.fail(i, err)
			continue
		}
		// An error that is recorded beside an empty result was returned as well.
		if e, err := l.run.Value(l.run.Calls[i].Error); err == nil && e.Kind() == trace.KindString {
			out += "\n" + e.Text()
		}
		if strings.Contains(out, text) {
			return Finding{Requirement: name, Verdict: Pass, Calls: l.refs([]int{i}), rests: true}
		}
	}
	return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: QuoteMissing, Detail: "no tool returned the text that is quoted"})
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

// coverage judges that every line of a file was read.
func (l *ledger) coverage(name string, c *claims.Coverage) Finding {
	var spans []span
	var read []int
	for i := range l.run.Calls {
		f := l.facts(i)
		if !f.classes[outcome.ClassRead] || l.outcome(i).Kind != outcome.OK ||
			!slices.ContainsFunc(f.paths.Read, func(p string) bool { return pathFits(c.Path, p, l.run.Cwd) }) {
			continue
		}
		read = append(read, i)
		if s, ok := l.spanOf(i, c.Lines); ok {
			spans = append(spans, s)
		}
	}
	if len(read) == 0 {
		return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: NoCall, Detail: "it was never read"})
	}
	if got := covered(spans, c.Lines); got < c.Lines {
		return l.absent(Finding{
			Requirement: name, Verdict: Unsupported, Reason: PartialRead, Calls: l.refs(read), rests: l.whole,
			Detail: fmt.Sprintf("%d of %d lines were read", got, c.Lines), Expected: encode(c.Lines), Observed: encode(got),
		})
	}
	return Finding{Requirement: name, Verdict: Pass, Calls: l.refs(read), rests: true}
}

// span is a range of lines, both ends included.
type span struct{ from, to int }

// truncationMarks show, at either end of what a read returned, that it was cut.
var truncationMarks = []string{"<persisted-output>", "[truncated", "… truncated", "... truncated", "(truncated)"}

// spanOf returns the lines that a read covers; false for one that was cut.
func (l *ledger) spanOf(i, lines int) (span, bool) {
	text, err := outcome.Output(l.run, &l.run.Calls[i])
	if err != nil {
		l.fail(i, err)
		return span{}, false
	}
	// 200 characters are at most 800 bytes.
	head, tail := []rune(text[:min(len(text), 800)]), []rune(text[max(0, len(text)-800):])
	ends := [2]string{string(head[:min(len(head), 200)]), string(tail[max(0, len(tail)-200):])}
	for _, m := range truncationMarks {
		if strings.Contains(ends[0], m) || strings.Contains(ends[1], m) {
			return span{}, false
		}
	}
	if f := l.facts(i); f.shell.Text != "" {
		return shellSpan(f.shell, lines)
	}
	args, err := l.run.Value(l.run.Calls[i].Args)
	if err != nil {
		l.fail(i, err)
		return span{}, false
	}
	s := span{1, lines}
	if from, ok := number(args, "offset", "start_line", "line_start"); ok {
		s.from = max(from, 1)
	}
	if limit, ok := number(args, "limit"); ok {
		s.to = s.from + limit - 1
	} else if to, ok := number(args, "end_line", "line_end"); ok {
		s.to = to
	}
	return s, s.to >= s.from
}

// shellSpan returns the lines that a shell command shows whole: cat, head -n N,
// sed -n 'A,Bp'. What goes into a pipe, or through anything else, may be cut.
func shellSpan(sh outcome.Shell, lines int) (span, bool) {
	if len(sh.Commands) == 0 || !sh.Commands[len(sh.Commands)-1].Trusted {
		return span{}, false
	}
	cmd := sh.Commands[len(sh.Commands)-1]
	for _, other := range sh.Commands[:len(sh.Commands)-1] {
		if !harmless(other) {
			return span{}, false
		}
	}
	words := strings.Join(cmd.Argv, " ")
	var from, to int
	switch {
	case len(cmd.Argv) == 2 && cmd.Argv[0] == "cat":
		return span{1, lines}, true
	case scan(words, "head -n %d", &to) || scan(words, "head -%d", &to):
		return span{1, to}, true
	case scan(words, "sed -n %d,%dp", &from, &to):
		return span{max(from, 1), to}, true
	}
	return span{}, false
}

func scan(s, format string, values ...any) bool {
	n, _ := fmt.Sscanf(s, format, values...)
	return n == len(values)
}

func number(v trace.Value, names ...string) (int, bool) {
	for _, n := range names {
		if i, ok := v.Get(n).Int(); ok && i >= 0 && i < 1<<31 {
			return int(i), true
		}
	}
	return 0, false
}

// covered counts the lines from 1 to lines that the spans cover.
func covered(spans []span, lines int) int {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	n, at := 0, 0
	for _, s := range spans {
		from, to := max(s.from, at+1), min(s.to, lines)
		if to >= from {
			n += to - from + 1
			at = to
		}
	}
	return n
}
