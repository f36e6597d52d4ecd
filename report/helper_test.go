package report

import (
	"strings"
	"testing"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

// noRuleFits are rules that know where a sentence ends, and nothing else.
var noRuleFits = audit.Rules{Statements: func(text string) ([]claims.Claim, []string) {
	var out []string
	for s := range strings.SplitAfterSeq(text, ". ") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return nil, out
}}

// judged audits a trace text against a claims text ("" for none).
func judged(t *testing.T, text, claimsText string) *audit.Report {
	t.Helper()
	var list []claims.Claim
	if claimsText != "" {
		var err error
		if list, err = claims.Load("claims.json", []byte(claimsText), claims.Options{Source: claims.SourceFile}); err != nil {
			t.Fatal(err)
		}
	}
	src := trace.Source{Name: "run.jsonl", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
	for run, err := range native.Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		rep, err := audit.Check(run, list, noRuleFits)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	return nil
}

// The trace and claims of the first article: a write fails, is repeated as it was,
// and the agent reports success.
const (
	retryTrace = `{"ts":1,"type":"tool_call","tool":"config.write","ok":false,"error":"validation: unknown key"}
{"ts":2,"type":"tool_call","tool":"config.write","ok":false,"error":"validation: unknown key"}
{"ts":3,"type":"tool_call","tool":"service.restart","ok":true}
{"ts":4,"type":"tool_call","tool":"health.check","ok":true}
`
	retryClaims = `[
{"claim":"updated nginx retry policy","must_not_fail":["config.write"]},
{"claim":"service restarted and healthy","must_show":["service.restart","health.check"]}]`
)

// same compares two texts and shows the first line that differs.
func same(t *testing.T, got, want string) {
	t.Helper()
	if got == want {
		return
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			t.Fatalf("line %d differs; got\n%s\nwant\n%s", i+1, got, want)
		}
	}
	t.Fatalf("got\n%s\nwant\n%s", got, want)
}
