package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

func itoa(n int) string { return strconv.Itoa(n) }

// grounds judges a list of comparisons. Before is the place of the action that
// they belong to: a result recorded behind it is no evidence. The zero Position
// sets no bound. Faults says which premises are malformed; it may be nil.
func (l *ledger) grounds(g claims.Grounds, faults []string, before trace.Position) group {
	out := group{}
	for i, ground := range g.List {
		name := fmt.Sprintf("grounds[%d]", i)
		if i < len(faults) && faults[i] != "" {
			out.findings = append(out.findings, Finding{Requirement: name, Verdict: Unsupported, Reason: MalformedGround, Detail: faults[i]})
			continue
		}
		f := l.ground(ground, before)
		f.Requirement = name
		out.findings = append(out.findings, f)
	}
	// all: the worst decides. any: a PASS does, else what could not be told.
	better := func(f Finding) bool { return f.Verdict.rank() > out.verdict.rank() }
	if g.Any {
		order := map[Verdict]int{Pass: 2, Unsupported: 1, Contradicted: 0}
		better = func(f Finding) bool { return order[f.Verdict] > order[out.verdict] }
	}
	for i, f := range out.findings {
		if i == 0 || better(f) {
			out.verdict, out.reason = f.Verdict, f.Reason
		}
	}
	return out
}

// ground judges one comparison.
func (l *ledger) ground(g claims.Ground, before trace.Position) Finding {
	if g.Match != nil {
		return l.groundByMatch(g)
	}
	i, early := l.source(g.From, before)
	if early != nil {
		return *early
	}
	return l.groundOn(g, i)
}

// groundByMatch judges a comparison whose call is picked by a matcher: the latest
// one, or any that passes.
func (l *ledger) groundByMatch(g claims.Ground) Finding {
	list, _, hidden := l.candidates(g.Match)
	if len(list) == 0 && len(hidden) > 0 {
		return Finding{Verdict: Unsupported, Reason: Redacted, Calls: l.refs(hidden), rests: true, Detail: "what such a call was about was redacted"}
	}
	if len(list) == 0 {
		return l.absent(Finding{Verdict: Unsupported, Reason: NoCall, Detail: "no call that the ground names is recorded"})
	}
	if g.Pick == claims.PickLatest {
		list = list[len(list)-1:]
	}
	var best Finding
	for k, c := range list {
		named := g
		named.From = trace.TextID(fmt.Sprintf("%s on %s", l.run.Calls[c.call].Tool, l.place(c.call)))
		if f := l.groundOn(named, c.call); k == 0 || best.Verdict.Worse(f.Verdict) {
			best = f
		}
	}
	return best
}

// groundOn judges a comparison with the result of call i.
func (l *ledger) groundOn(g claims.Ground, i int) Finding {
	at := Finding{Verdict: Unsupported, Calls: l.refs([]int{i}), rests: true}
	switch o := l.outcome(i); o.Kind {
	case outcome.OK:
	case outcome.Error:
		at.Reason, at.Detail = SourceFailed, fmt.Sprintf("the call %s failed%s", g.From, because(o))
		return at
	case outcome.Pending:
		at.Reason, at.Detail = Pending, fmt.Sprintf("no end of the call %s is recorded", g.From)
		return at
	case outcome.Suspect:
		at.Reason, at.Detail = Suspect, fmt.Sprintf("the call %s may have failed: %s", g.From, o.Detail)
		return at
	case outcome.Unknown:
		at.Reason, at.Detail = NoOutcome, fmt.Sprintf("the trace does not record how the call %s ended", g.From)
		return at
	default:
		at.Reason, at.Detail, at.rests = NotRun, fmt.Sprintf("the call %s never ran (%s)", g.From, o.Kind), false
		return at
	}
	return l.compareField(g, i, at)
}

// compareField compares the field of a call's payload.
func (l *ledger) compareField(g claims.Ground, i int, f Finding) Finding {
	payload, ok := l.payload(i)
	if !ok {
		f.Reason, f.Detail = NoPayload, fmt.Sprintf("the result of %s carries no structured data", g.From)
		return f
	}
	segments, err := claims.SplitPath(g.Field)
	if err != nil {
		return malformed(f, err.Error())
	}
	value, present := lookup(payload, segments)
	if g.Op == claims.Exists {
		want, _ := g.Value.(bool)
		f.Expected, f.Observed = encode(want), encode(present)
		return settle(f, present == want, existsDetail(g, present))
	}
	if !present {
		f.Reason, f.Detail = FieldAbsent, fmt.Sprintf("the field %q is not in the result of %s", g.Field, g.From)
		return f
	}
	if text, ok := value.(string); ok && l.tables.IsMark(text) {
		f.Reason, f.Detail = Redacted, fmt.Sprintf("the field %q of %s was redacted", g.Field, g.From)
		return f
	}
	if !claims.InRange(value) {
		return malformed(f, fmt.Sprintf("the field %q of %s holds a number that is out of range", g.Field, g.From))
	}
	f.Expected, f.Observed = hide(segments, expected(g)), hide(segments, encode(value))
	ok, fits := holds(g, value)
	if !fits {
		return malformed(f, fmt.Sprintf("min and max need a number, and the field %q of %s is none", g.Field, g.From))
	}
	return settle(f, ok, fmt.Sprintf("the field %q of %s is %s", g.Field, g.From, shorten(f.Observed)))
}

// malformed makes the finding one about the ground, which rests on no call.
func malformed(f Finding, detail string) Finding {
	f.Reason, f.Detail, f.rests = MalformedGround, detail, false
	return f
}

// hide takes out of a value what must not be shown, by its own shape or by the
// name of the field that it was found under. It is compared before.
func hide(path []string, raw json.RawMessage) json.RawMessage {
	name := path[len(path)-1]
	for i := len(path) - 1; i > 0; i-- {
		if _, isIndex := index(name); !isIndex {
			break
		}
		name = path[i-1]
	}
	around := append([]byte("{"), encode(name)...)
	around = append(append(append(around, ':'), raw...), '}')
	v, err := trace.ParseValue(trace.RedactJSON(around))
	if err != nil {
		return nil
	}
	for _, inner := range v.Members() {
		return inner.Raw()
	}
	return nil
}

func settle(f Finding, ok bool, detail string) Finding {
	if ok {
		f.Verdict, f.Reason = Pass, ""
		return f
	}
	f.Verdict, f.Reason, f.Detail = Contradicted, ValueDiffers, detail
	return f
}

func existsDetail(g claims.Ground, present bool) string {
	if present {
		return fmt.Sprintf("the field %q is in the result of %s", g.Field, g.From)
	}
	return fmt.Sprintf("the field %q is not in the result of %s", g.Field, g.From)
}

func expected(g claims.Ground) json.RawMessage {
	if g.Op != claims.Between {
		return encode(g.Value)
	}
	bounds := map[string]any{}
	if g.Min != nil {
		bounds["min"] = *g.Min
	}
	if g.Max != nil {
		bounds["max"] = *g.Max
	}
	return encode(bounds)
}

// source finds the call that an id names. Early is the finding where there is no
// single one to compare with.
func (l *ledger) source(id trace.ID, before trace.Position) (i int, early *Finding) {
	if l.from > 0 {
		return l.redone(id)
	}
	var found, unfinished, late []int
	for i := range l.run.Calls {
		c := &l.run.Calls[i]
		switch {
		case c.ID != id:
		case before.Set() && c.ResultPos.Set() && before.Before(c.ResultPos):
			late = append(late, i)
		case !c.ResultPos.Set():
			unfinished = append(unfinished, i)
		default:
			found = append(found, i)
		}
	}
	if len(found) == 0 && len(unfinished) > 0 {
		return unfinished[0], nil
	}
	if len(found) == 0 {
		f := Finding{Verdict: Unsupported, Reason: NoCall, Calls: l.refs(late), Detail: fmt.Sprintf("no call with the id %s is recorded", id)}
		if len(late) > 0 {
			f.Detail = fmt.Sprintf("the result of %s was recorded after the action, so that it is no evidence for it", id)
			return 0, &f
		}
		f = l.absent(f)
		return 0, &f
	}
	for _, k := range found[1:] {
		if !l.agree(found[0], k) {
			return 0, &Finding{
				Verdict: Unsupported, Reason: AmbiguousCall, Calls: l.refs(found), rests: true,
				Detail: fmt.Sprintf("several results stand under the id %s, and they differ", id),
			}
		}
	}
	return found[0], nil
}

// redone finds the re-run's own call for an id of the first run: the latest call
// of the same tool in the re-run, which must have the same arguments where both
// recorded any.
func (l *ledger) redone(id trace.ID) (i int, early *Finding) {
	for first := range l.from {
		if l.run.Calls[first].ID != id || l.run.Calls[first].Tool == "" {
			continue
		}
		for k := len(l.run.Calls) - 1; k >= l.from; k-- {
			if !l.run.Calls[k].ResultOnly && l.run.Calls[k].Tool == l.run.Calls[first].Tool && l.sameArgs(first, k) {
				return k, nil
			}
		}
	}
	return 0, &Finding{Verdict: Unsupported, Reason: NoCall, Detail: fmt.Sprintf("the re-run did not repeat the call %s", id)}
}

func (l *ledger) sameArgs(a, b int) bool {
	x, okX := l.args(a)
	y, okY := l.args(b)
	return !okX || !okY || equal(x, y)
}

// args decodes a call's arguments; false where none are recorded.
func (l *ledger) args(i int) (any, bool) {
	v, err := l.run.Value(l.run.Calls[i].Args)
	if err != nil {
		l.fail(i, err)
		return nil, false
	}
	if v.Kind() == trace.KindAbsent {
		return nil, false
	}
	x, err := v.Decode()
	return x, err == nil
}

// agree tells whether two results under one id say the same.
func (l *ledger) agree(a, b int) bool {
	if l.outcome(a).Kind != l.outcome(b).Kind {
		return false
	}
	x, okX := l.payload(a)
	y, okY := l.payload(b)
	return okX == okY && equal(x, y)
}

// payload decodes the data that a call's result carries; false where there is
// none.
func (l *ledger) payload(i int) (map[string]any, bool) {
	v, err := outcome.Payload(l.run, &l.run.Calls[i])
	if err != nil {
		l.fail(i, err)
		return nil, false
	}
	if v.Kind() != trace.KindObject {
		return nil, false
	}
	decoded, err := v.Decode()
	if err != nil {
		return nil, false
	}
	m, ok := decoded.(map[string]any)
	return m, ok
}

// encode writes a decoded value as JSON, sorted and without HTML escapes.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

func shorten(raw json.RawMessage) string {
	runes := []rune(string(raw))
	if len(runes) <= 80 {
		return string(raw)
	}
	return string(runes[:80]) + "…"
}
