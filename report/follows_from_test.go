package report

import (
	"strings"
	"testing"
)

// The four traces of the second article.
func articleTrace(result, field, equals string) string {
	return `{"steps":[` + result + `,{"type": "action", "decision": "quote_hcpcs_` + equals + `",
"grounds": [{"from": "c1", "field": "` + field + `", "equals": "` + equals + `"}]}]}`
}

const articleResult = `{"type": "tool_result", "call_id": "c1", "isError": false,
"structuredContent": {"results": [{"hcpcs_code": "99213"}], "total_count": 1}}`

func TestFollowsFrom_Documents(t *testing.T) {
	const failed = `{"type": "tool_result", "call_id": "c1", "isError": true, "content": [{"type": "text", "text": "HTTP 504"}]}`
	for _, c := range []struct{ name, trace, want string }{
		{"supported", articleTrace(articleResult, "results.0.hcpcs_code", "99213"), `{
  "verdict": "SUPPORTED",
  "decision": "quote_hcpcs_99213",
  "findings": [
    {
      "verdict": "SUPPORTED",
      "reason": "'results.0.hcpcs_code' == expected",
      "ref": "c1",
      "expected": "99213",
      "observed": "99213"
    }
  ]
}
`},
		{"contradicted", articleTrace(articleResult, "results.0.hcpcs_code", "99214"), `{
  "verdict": "CONTRADICTED",
  "decision": "quote_hcpcs_99214",
  "findings": [
    {
      "verdict": "CONTRADICTED",
      "reason": "'results.0.hcpcs_code' != expected",
      "ref": "c1",
      "expected": "99214",
      "observed": "99213"
    }
  ]
}
`},
		{"bare field", articleTrace(articleResult, "hcpcs_code", "99213"), `{
  "verdict": "INSUFFICIENT_EVIDENCE",
  "decision": "quote_hcpcs_99213",
  "findings": [
    {
      "verdict": "INSUFFICIENT_EVIDENCE",
      "reason": "field 'hcpcs_code' absent from 'c1' result",
      "ref": "c1"
    }
  ]
}
`},
		{"failed call", articleTrace(failed, "results.0.hcpcs_code", "99213"), `{
  "verdict": "INSUFFICIENT_EVIDENCE",
  "decision": "quote_hcpcs_99213",
  "findings": [
    {
      "verdict": "INSUFFICIENT_EVIDENCE",
      "reason": "tool call 'c1' failed",
      "ref": "c1"
    }
  ]
}
`},
		{"no action", `{"steps":[]}`, `{
  "verdict": "INSUFFICIENT_EVIDENCE",
  "decision": null,
  "findings": [
    {
      "verdict": "INSUFFICIENT_EVIDENCE",
      "reason": "no action to check"
    }
  ]
}
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			same(t, text(t, func(b *strings.Builder) error { return FollowsFrom(b, judged(t, c.trace, "")) }), c.want)
		})
	}
}

func TestFollowsFrom_Operators(t *testing.T) {
	for ground, want := range map[string]string{
		`"not_equals":2`:     "'total_count' != excluded value",
		`"not_equals":1`:     "'total_count' == excluded value",
		`"in":[1,2]`:         "'total_count' in expected",
		`"in":[2]`:           "'total_count' not in expected",
		`"exists":true`:      "'total_count' exists as expected",
		`"exists":false`:     "'total_count' does not exist as expected",
		`"min":1,"max":1.0`:  "'total_count' within the bounds",
		`"min":2`:            "'total_count' outside the bounds",
		`"equals":1.0`:       "'total_count' == expected",
		`"equals":true`:      "'total_count' != expected",
		`"equals":1,"min":1`: "exactly one operator is needed: equals, not_equals, exists, in, or min and max",
	} {
		trace := `{"steps":[` + articleResult + `,{"type":"action","decision":"d","grounds":[{"from":"c1","field":"total_count",` + ground + `}]}]}`
		got := text(t, func(b *strings.Builder) error { return FollowsFrom(b, judged(t, trace, "")) })
		if !strings.Contains(got, `"reason": "`+want+`"`) {
			t.Errorf("%s: want %q in\n%s", ground, want, got)
		}
	}
}

func TestFollowsFrom_WorstActionIsShown(t *testing.T) {
	action := func(name, equals string) string {
		return `{"type":"action","decision":"` + name + `","grounds":[{"from":"c1","field":"total_count","equals":` + equals + `}]}`
	}
	trace := `{"steps":[` + articleResult + "," + action("good", "1") + "," + action("bad", "2") + "," + action("also bad", "3") + `]}`
	got := text(t, func(b *strings.Builder) error {
		return FollowsFrom(b, judged(t, trace, `[{"claim":"other","must_show":["x"]}]`))
	})
	if !strings.Contains(got, `"decision": "bad"`) || !strings.HasPrefix(got, "{\n  \"verdict\": \"CONTRADICTED\"") {
		t.Error(got)
	}
}
