package audit

import (
	"encoding/json"
	"slices"
	"testing"

	"nightaudit/audit/claims"
	"nightaudit/trace"
)

// TestStatements_Own: the agent states claims in records, in a call, or in a block
// of its summary; what cannot be read stays visible.
func TestStatements_Own(t *testing.T) {
	const call = `{"type":"tool_call","id":"t","tool":"deploy","ok":true}` + "\n"
	summary := func(text string) string {
		raw, err := json.Marshal(map[string]string{"type": "summary", "text": text})
		if err != nil {
			t.Fatal(err)
		}
		return call + string(raw) + "\n"
	}
	unreadable := "(a claim that cannot be read) UNSUPPORTED"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a block", summary("Done.\n\n```nightaudit\n- claim: deployed\n  must_show: [deploy]\n- claim: tested\n  must_show: [test]\n```\nBye."), []string{"deployed PASS", "tested UNSUPPORTED"}},
		{"an object of claims", summary("~~~ nightaudit\r\n{\"claims\": [{\"claim\": \"deployed\", \"must_show\": [\"deploy\"]}]}\r\n~~~"), []string{"deployed PASS"}},
		{"one claim", summary("````nightaudit\nclaim: deployed\nmust_show: [deploy]\n````"), []string{"deployed PASS"}},
		{"two blocks", summary("```nightaudit\n- {claim: a, must_show: [deploy]}\n```\nand\n```nightaudit\n- {claim: b, must_show: [deploy]}\n```"), []string{"a PASS", "b PASS"}},
		{"a block without its end", summary("```nightaudit\n- {claim: a, must_show: [deploy]}"), []string{"a PASS"}},
		{"one claim is wrong", summary("```nightaudit\n- {claim: a, must_shw: [deploy]}\n- {claim: b, must_show: [deploy]}\n```"), []string{"a UNSUPPORTED", "b PASS"}},
		{"no YAML", summary("```nightaudit\n{{{\n```"), []string{unreadable}},
		{"empty", summary("```nightaudit\n```"), []string{unreadable}},
		{"other blocks", summary("```yaml\n- {claim: a, must_show: [deploy]}\n```\n```nightaudit-log\nx\n```"), nil},
		{"a call", call + `{"type":"tool_call","tool":"mcp__nightaudit__claims","args":{"claims":[{"claim":"deployed","must_show":["deploy"]}]},"ok":true}` + "\n", []string{"deployed PASS"}},
		{"a call of one claim", call + `{"type":"tool_call","tool":"nightaudit_claims","args":{"claim":"deployed","must_show":["deploy"]},"ok":true}` + "\n", []string{"deployed PASS"}},
		{"a sub-agent's call", call + `{"type":"tool_call","tool":"nightaudit_claims","parent":"t","args":{"claim":"deployed","must_show":["deploy"]},"ok":true}` + "\n", nil},
		{"a call without arguments", call + `{"type":"tool_call","tool":"nightaudit.claims","ok":true}` + "\n", []string{unreadable}},
		{"another tool", call + `{"type":"tool_call","tool":"claims","args":{"claim":"x","must_show":["deploy"]},"ok":true}` + "\n", nil},
		{"a file is not read", summary("```nightaudit\n- {claim: a, envelope: {schema: /etc/passwd}}\n```"), []string{"a UNSUPPORTED"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			rep, err := Check(readRun(t, []byte(c.text)), nil, Rules{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, j := range rep.Claims {
				got = append(got, j.Claim.Text+" "+string(j.Verdict))
				if j.Claim.Source != claims.SourceTrace || j.Verdict == Pass && !j.OwnMeasure || j.Claim.Line < 1 {
					t.Errorf("%+v", j)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func FuzzClaimBlocks(f *testing.F) {
	f.Add("a\n```nightaudit\n- claim: x\n```\nb")
	f.Add("~~~nightaudit\n~~~~\n```nightaudit\n")
	f.Fuzz(func(t *testing.T, summary string) {
		for _, block := range claimBlocks(summary) {
			for _, raw := range claimsIn(block) {
				if _, err := trace.ParseValue(raw); raw != nil && err != nil {
					t.Fatalf("%q: %v", raw, err)
				}
			}
		}
	})
}
