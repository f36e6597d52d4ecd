package audit

import (
	"testing"

	"nightaudit/audit/claims"
)

// Every explanation's example gives the reason that it explains.
func TestExplanations(t *testing.T) {
	seen := map[Reason]bool{}
	for _, e := range Explanations() {
		if seen[e.Reason] {
			t.Errorf("%s is explained twice", e.Reason)
		}
		seen[e.Reason] = true
		if e.Reason.Missing() != (e.Group == "missing") {
			t.Errorf("%s is in the group %s", e.Reason, e.Group)
		}
		if e.Trace == "" {
			continue
		}
		t.Run(string(e.Reason), func(t *testing.T) {
			var list []claims.Claim
			if e.Claims != "" {
				var err error
				if list, err = claims.Load("claims.json", []byte(e.Claims), claims.Options{Source: claims.SourceFile}); err != nil {
					t.Fatal(err)
				}
			}
			rep := check(t, readRun(t, []byte(e.Trace+"\n")), list)
			if got := rep.Claims[0]; got.Reason != e.Reason || got.Verdict != e.Verdict {
				t.Errorf("the example gives %s %s: %+v", got.Verdict, got.Reason, got.Findings)
			}
		})
	}
	if len(seen) != 41 {
		t.Errorf("%d reasons are explained", len(seen))
	}
}
