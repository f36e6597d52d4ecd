package audit

import (
	"fmt"
	"strings"
	"testing"

	"nightaudit/audit/claims"
)

// BenchmarkCheck judges ten claims on a run of a thousand shell calls.
func BenchmarkCheck(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, `{"type":"tool_call","tool":"Bash","args":{"command":"cd /r/pkg%d && go vet ./... && pytest -q tests/%d 2>&1 | tail -5"},"exit_code":0,"result":"%d passed in 0.1s"}`+"\n", i, i, i+1)
	}
	var list []claims.Claim
	for i := range 10 {
		one, err := claims.Load("c.json", fmt.Appendf(nil, `[{"claim":"c%d","must_show":[{"class":"test","after":"last_edit","pick":"latest","tests":{"min_total":1}},{"class":"edit","path":"a%d.go"}],"must_not_fail":[{"class":"vcs"}]}]`, i, i), claims.Options{Source: claims.SourceFile})
		if err != nil {
			b.Fatal(err)
		}
		list = append(list, one...)
	}
	for b.Loop() {
		run := readRun(b, []byte(text.String()))
		if _, err := Check(run, list, Rules{}); err != nil {
			b.Fatal(err)
		}
	}
}
