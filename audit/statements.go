package audit

import (
	"encoding/json"
	"errors"

	"nightaudit/audit/claims"
	"nightaudit/trace"
)

func isRewritten(err error) bool { return errors.Is(err, trace.ErrRewritten) }

// statements reads the claims and actions that stand in the trace.
func (l *ledger) statements() (own []claims.Claim, actions []Judged) {
	for _, st := range l.run.Statements {
		v, err := l.run.Value(st.Body)
		switch {
		case err != nil:
			l.fail(-1, err)
		case st.Action:
			actions = append(actions, l.action(v, st.Pos, len(actions)+1))
		default:
			own = append(own, l.ownClaims(v, st.Pos, len(own))...)
		}
	}
	return own, actions
}

// ownClaims reads a claim record: the claim itself, or a list of claims. One that
// cannot be read becomes a claim without requirement, so that it stays visible.
func (l *ledger) ownClaims(v trace.Value, pos trace.Position, have int) []claims.Claim {
	list := []trace.Value{v}
	if all := v.Get("claims"); all.Kind() == trace.KindArray {
		list = nil
		for e := range all.Elements() {
			list = append(list, e)
		}
	} else if one := v.Get("claim"); one.Kind() == trace.KindObject {
		list = []trace.Value{one}
	}
	var out []claims.Claim
	for _, e := range list {
		c, err := claims.LoadOne(l.run.Source, e.Raw(), have+len(out)+1, claims.Options{Source: claims.SourceTrace, Kinds: l.rules.Kinds})
		if err != nil {
			c = claims.Claim{ID: c.ID, Source: claims.SourceTrace, Text: e.Get("claim").Text(), Requirement: json.RawMessage("{}")}
			if c.Text == "" {
				c.Text = "(a claim that cannot be read)"
			}
		}
		c.Line = pos.Line
		c.Ruled = c.Kind != ""
		if l.rules.Statements != nil {
			fit, _ := l.rules.Statements(c.Text)
			for _, rule := range fit {
				if l.excepted(&rule) {
					continue
				}
				c.Add(rule)
				c.Ruled = true
			}
		}
		out = append(out, c)
	}
	return out
}

// action judges an action of the trace by its grounds.
func (l *ledger) action(v trace.Value, pos trace.Position, number int) Judged {
	c := claims.Claim{
		ID: "a" + itoa(number), Text: v.Get("decision").Text(), Source: claims.SourceAction, Line: pos.Line,
		Requirement: json.RawMessage("{}"),
	}
	if c.Text == "" {
		c.Text = "(an action without a decision)"
	}
	raw := v.Get("grounds")
	if !raw.Given() {
		return l.sum(c, []group{single(Finding{
			Requirement: "grounds", Verdict: Unsupported, Reason: NoRequirement, Detail: "the action declares no grounds",
		})})
	}
	decoded, err := raw.Decode()
	if err != nil {
		return l.sum(c, []group{single(Finding{Requirement: "grounds", Verdict: Unsupported, Reason: MalformedGround, Detail: "the grounds cannot be read"})})
	}
	if req, err := json.Marshal(map[string]any{"grounds": decoded}); err == nil {
		c.Requirement = req
	}
	g, faults := claims.ParseGrounds(decoded)
	c.Grounds = &g
	return l.sum(c, []group{l.grounds(g, faults, pos)})
}
