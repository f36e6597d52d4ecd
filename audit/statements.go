package audit

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/trace"
)

func isRewritten(err error) bool { return errors.Is(err, trace.ErrRewritten) }

// statements reads the claims and actions that stand in the trace: in records of
// their own, in calls of a tool that takes claims, and in blocks of the summary.
func (l *ledger) statements() (own []claims.Claim, actions []Judged) {
	for _, st := range l.run.Statements {
		v, err := l.run.Value(st.Body)
		switch {
		case err != nil:
			l.fail(-1, err)
		case st.Action:
			actions = append(actions, l.action(v, st.Pos, len(actions)+1))
		default:
			own = append(own, l.ownClaims(claimsOf(v), st.Pos.Line, len(own))...)
		}
	}
	for i := range l.run.Calls {
		if c := &l.run.Calls[i]; takesClaims(c.Tool) && c.Parent == "" && !c.ResultOnly {
			args, err := l.run.Value(c.Args)
			if err != nil {
				l.fail(i, err)
				continue
			}
			own = append(own, l.ownClaims(claimsOf(args), c.Pos.Line, len(own))...)
		}
	}
	for _, block := range claimBlocks(l.run.Summary) {
		own = append(own, l.ownClaims(claimsIn(block), l.run.SummaryPos.Line, len(own))...)
	}
	return own, actions
}

// takesClaims tells whether a tool is the one by which agents state their claims:
// nightaudit_claims, by itself or as a tool of an MCP server (mcp__nightaudit__claims).
func takesClaims(tool string) bool {
	words := strings.FieldsFunc(strings.ToLower(tool), func(r rune) bool { return strings.ContainsRune("_-./:", r) })
	n := len(words)
	return n >= 2 && words[n-2] == "nightaudit" && words[n-1] == "claims"
}

// claimBlocks returns the fenced blocks of a summary that hold claims: those whose
// fence is followed by the word nightaudit.
func claimBlocks(summary string) []string {
	var out []string
	for rest := summary; ; {
		at := claimFence.FindStringSubmatchIndex(rest)
		if at == nil {
			return out
		}
		fence := rest[at[2]:at[3]]
		body := rest[at[1]:]
		end := regexp.MustCompile("(?m)^[ \\t]*" + fence + fence[:1] + "*[ \\t]*\\r?$").FindStringIndex(body)
		if end == nil {
			return append(out, body) // cut off: what is there is tried
		}
		out = append(out, body[:end[0]])
		rest = body[end[1]:]
	}
}

var claimFence = regexp.MustCompile("(?m)^[ \\t]*(`{3,}|~{3,})[ \\t]*nightaudit[ \\t]*\\r?\\n")

// claimsOf returns the claims of a record: of a list under claims, of an object
// under claim, else the record is the claim.
func claimsOf(v trace.Value) [][]byte {
	if all := v.Get("claims"); all.Kind() == trace.KindArray {
		var out [][]byte
		for e := range all.Elements() {
			out = append(out, e.Raw())
		}
		return out
	}
	if one := v.Get("claim"); one.Kind() == trace.KindObject {
		return [][]byte{one.Raw()}
	}
	return [][]byte{v.Raw()}
}

// claimsIn reads a block that a summary holds: JSON or YAML, a list of claims or
// what a record may be. One that cannot be read is a claim that says so.
func claimsIn(block string) [][]byte {
	v, err := claims.Read("claims", []byte(block))
	if err != nil {
		return [][]byte{nil}
	}
	raw, err := json.Marshal(v.Any())
	if err != nil {
		return [][]byte{nil}
	}
	parsed, err := trace.ParseValue(raw)
	if err != nil {
		return [][]byte{nil}
	}
	if parsed.Kind() != trace.KindArray {
		return claimsOf(parsed)
	}
	var out [][]byte
	for e := range parsed.Elements() {
		out = append(out, e.Raw())
	}
	return out
}

// ownClaims reads claims of the agent's own. One that cannot be read becomes a
// claim without requirement, so that it stays visible.
func (l *ledger) ownClaims(list [][]byte, line, have int) []claims.Claim {
	var out []claims.Claim
	for _, raw := range list {
		c, err := claims.LoadOne(l.run.Source, raw, have+len(out)+1, claims.Options{Source: claims.SourceTrace, Kinds: l.rules.Kinds})
		if err != nil {
			c = claims.Claim{ID: c.ID, Source: claims.SourceTrace, Requirement: json.RawMessage("{}")}
			if v, err := trace.ParseValue(raw); err == nil {
				c.Text = v.Get("claim").Text()
			}
			if c.Text == "" {
				c.Text = "(a claim that cannot be read)"
			}
		}
		c.Line = line
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
