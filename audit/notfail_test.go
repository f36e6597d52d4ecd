package audit

import (
	"testing"

	"nightaudit/audit/claims"
)

// Claude Code refuses to edit a file that was not read; the same edit after a read
// is the right way on, and must not be taken for a swallowed error.
func TestNotFail_AnEditThatNeededALook(t *testing.T) {
	edit := func(result string) string {
		return `{"type":"tool_call","tool":"Edit","args":{"file_path":"a.go","old_string":"x","new_string":"y"},` + result + "}\n"
	}
	refused := edit(`"ok":false,"error":"File has not been read yet. Read it first before writing to it."`)
	read := `{"type":"tool_call","tool":"Read","args":{"file_path":"a.go"},"ok":true,"result":"x"}` + "\n"
	other := `{"type":"tool_call","tool":"Read","args":{"file_path":"b.go"},"ok":true,"result":"x"}` + "\n"
	done := edit(`"ok":true,"result":"updated"`)
	list, err := claims.Load("c.json", []byte(`[{"claim":"edited","must_not_fail":[{"class":"edit","path":"a.go","recovery":"retried"}]}]`), claims.Options{Source: claims.SourceFile})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, trace string
		want        Verdict
	}{
		{"read in between", refused + read + done, Pass},
		{"another file read", refused + other + done, Contradicted},
		{"nothing read", refused + done, Contradicted},
		{"read before", read + refused + done, Contradicted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := check(t, readRun(t, []byte(tt.trace)), list).Claims[0]; got.Verdict != tt.want {
				t.Errorf("%s %s, want %s: %+v", got.Verdict, got.Reason, tt.want, got.Findings)
			}
		})
	}
}
