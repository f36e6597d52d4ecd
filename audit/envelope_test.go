package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit/claims"
)

// envelopes writes envelope lines: "tool key status".
func envelopeLines(lines ...string) string {
	var b strings.Builder
	for _, l := range lines {
		f := strings.Fields(l)
		fmt.Fprintf(&b, `{"ts":1,"schema_sha256":"h","tool":%q,"idempotency_key":%q,"request":{},"response":{"status":%s,"body":{"id":"x"}}}`+"\n", f[0], f[1], f[2])
	}
	return b.String()
}

func envelopeClaim(limit int) []claims.Claim {
	return []claims.Claim{{ID: "c1", Text: "c", Source: claims.SourceFile, Envelope: &claims.Envelope{Cap: limit}}}
}

func TestCheck_Envelopes(t *testing.T) {
	whole := envelopeLines("put k1 200")
	without := func(field, instead string) string { return strings.Replace(whole, field, instead, 1) }
	for _, c := range []struct {
		name, text string
		cap        int
		want       string // of the claim, then the findings' lines
		lines      []int
	}{
		{"whole", whole, 0, "PASS", []int{1}},
		{"none", "", 0, "no_call", nil},
		{"none, and a gap", "rubbish\n", 0, "trace_gap", nil},
		{"whole, and a gap", whole + "rubbish\n", 0, "trace_gap", []int{1}},
		{"ts missing", without(`"ts":1,`, ``), 0, "envelope_incomplete", []int{1}},
		{"ts null", without(`"ts":1`, `"ts":null`), 0, "envelope_incomplete", []int{1}},
		{"ts is any text", without(`"ts":1`, `"ts":"noon"`), 0, "PASS", []int{1}},
		{"request is text", without(`"request":{}`, `"request":"{}"`), 0, "envelope_incomplete", []int{1}},
		{"key is a number", without(`"k1"`, `1`), 0, "envelope_incomplete", []int{1}},
		{"a plain tool_call is an incomplete envelope", whole + trc("x"), 0, "envelope_incomplete", []int{2}},
		{"a stand-alone result is none", whole + `{"type":"tool_result","call_id":"q","response":{"status":500}}`, 0, "PASS", []int{1}},
		{"two writes", envelopeLines("put k1 200", "put k1 200"), 0, "duplicate_write", []int{2}},
		{"two reads", envelopeLines("get_x k1 200", "get_x k1 200"), 0, "PASS", []int{1, 2}},
		{"two writes, another tool", envelopeLines("put k1 200", "set k1 200"), 0, "PASS", []int{1, 2}},
		{"failed, then done", envelopeLines("put k1 500", "put k1 200"), 0, "PASS(recovered)", []int{2}},
		{"failed twice, then done", envelopeLines("put k1 500", "put k1 503", "put k1 200"), 0, "PASS(recovered)", []int{3}},
		{"failed, done with another key", envelopeLines("put k1 500", "put k2 200"), 0, "bad_status", []int{1}},
		{"done, then failed", envelopeLines("put k1 200", "put k1 500"), 0, "bad_status", []int{2}},
		{"failed, done, and done again", envelopeLines("put k1 500", "put k1 200", "put k1 200"), 0, "duplicate_write", []int{3}},
		{"201.0 is no status", envelopeLines("put k1 201.0"), 0, "bad_status", []int{1}},
		{"create and 204", envelopeLines("create_x k1 204"), 0, "bad_status", []int{1}},
		{"create without an id", strings.Replace(envelopeLines("create_x k1 201"), `"id":"x"`, `"id":7`, 1), 0, "no_id", []int{1}},
		{"created is no create", strings.Replace(envelopeLines("created_x k1 204"), `"id":"x"`, ``, 1), 0, "PASS", []int{1}},
		{"at the cap", envelopeLines("put k1 200", "put k2 200"), 2, "PASS", []int{1, 2}},
		{"over the cap", envelopeLines("put k1 200", "put k2 200", "put k3 200"), 2, "run_cut_off", nil},
		{"an incomplete line registers its key", without(`"ts":1,`, ``) + whole, 0, "duplicate_write", []int{1, 2}},
	} {
		rep := check(t, readRun(t, []byte(c.text)), envelopeClaim(c.cap))
		var lines []int
		for _, f := range rep.Claims[0].Findings {
			for _, r := range f.Calls {
				lines = append(lines, r.Line)
			}
		}
		if got := verdicts(rep); got != c.want || !slices.Equal(lines, c.lines) {
			t.Errorf("%s: %s on lines %v, want %s on %v", c.name, got, lines, c.want, c.lines)
		}
	}
}

func TestCheck_SecretsOfEnvelopes(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	text := envelopeLines("put k1 200") + strings.Replace(envelopeLines("put k2 200"), `"request":{}`, `"request":{"auth":"`+secret+`"}`, 1)
	list := append(envelopeClaim(0), envelopeClaim(5)...)
	rep := check(t, readRun(t, []byte(text)), list)
	if len(rep.Secrets) != 1 || rep.Secrets[0].Line != 2 || rep.Secrets[0].Place != "request.auth" {
		t.Errorf("secrets %+v, want the one on line 2, once", rep.Secrets)
	}
	if s := fmt.Sprintf("%+v", rep.Secrets); strings.Contains(s, secret) {
		t.Errorf("the value is reported: %s", s)
	}
	if got := verdicts(rep); got != "PASS PASS" {
		t.Errorf("%s: a secret changes no verdict", got)
	}
}
