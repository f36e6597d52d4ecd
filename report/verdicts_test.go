package report

import (
	"encoding/json"
	"strings"
	"testing"

	"nightaudit/audit"
)

const mixedTrace = `{"type":"tool_call","id":"g","tool":"get","ok":true,"result":{"n":1}}
{"type":"tool_call","id":"p","tool":"put","ok":false,"error":"boom","batch":"b"}
{"type":"tool_call","id":"q","tool":"put","ok":true,"batch":"b"}
{"type":"tool_call","tool":"drop","ok":false,"status":"denied"}
{"type":"claim","claim":"own","must_show":["get"]}
{"type":"gap","reason":"compacted"}
{"type":"summary","text":"Done. All fine."}
rubbish
`

const mixedClaims = `[{"claim":"put","must_show":["put"]},
{"claim":"n is 2","grounds":[{"from":"g","field":"n","equals":2}]},
{"claim":"z","must_show":["z"],"must_not_fail":["put"]}]`

func text(t *testing.T, f func(*strings.Builder) error) string {
	t.Helper()
	var b strings.Builder
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestText(t *testing.T) {
	retry, mixed := judged(t, retryTrace, retryClaims), judged(t, mixedTrace, mixedClaims)
	got := text(t, func(b *strings.Builder) error { return Text(b, []*audit.Report{retry}) })
	const one = `CONTRADICTED updated nginx retry policy
             failed (config.write line 1, config.write line 2): config.write failed: validation: unknown key
PASS         service restarted and healthy
`
	same(t, got, one)
	got = text(t, func(b *strings.Builder) error { return Text(b, []*audit.Report{mixed, retry}) })
	same(t, got, `run.jsonl
PASS         own  (own measure)
PASS         put  (recovered)
CONTRADICTED n is 2
             value_differs (get line 1): the field "n" of g is 1
               expected 2
               observed 1
CONTRADICTED z
             failed (put line 2): put failed: boom
             trace_gap: the trace has a gap, so that what is not in it cannot be told
2 of 6 statements not checked
gap on line 6: compacted
line 8 cannot be read: not JSON at byte 0: unexpected character

run.jsonl
`+one)
}

func TestText_NothingChecked(t *testing.T) {
	for name, c := range map[string]struct{ trace, claims, want string }{
		"empty":             {"", "", "nothing checked: the trace is empty\n"},
		"no claims":         {retryTrace, "", "nothing checked: no claims were given, and the trace makes none; write a claims file, or name one with --claims\n"},
		"only statements":   {`{"type":"summary","text":"Done."}`, "", "nothing checked: no claims were given, and nothing checks the statements of the summary; write a claims file, or name one with --claims\n1 of 1 statements not checked\n"},
		"only own measures": {mixedTrace[:strings.Index(mixedTrace, "{\"type\":\"gap")], "", "PASS         own  (own measure)\nnothing checked: the only claims are the agent's own, measured by its own requirements\n"},
	} {
		rep := judged(t, c.trace, c.claims)
		if got := text(t, func(b *strings.Builder) error { return Text(b, []*audit.Report{rep}) }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		if rep.Worst() != audit.Unsupported {
			t.Errorf("%s: %s", name, rep.Worst())
		}
	}
}

func TestText_ManyCallsAndBadLines(t *testing.T) {
	trace := strings.Repeat(`{"type":"tool_call","tool":"w","ok":false}`+"\n", 8) + strings.Repeat("x\n", 25)
	rep := judged(t, trace, `[{"claim":"c","must_not_fail":["w"]}]`)
	got := text(t, func(b *strings.Builder) error { return Text(b, []*audit.Report{rep}) })
	for _, want := range []string{"w line 5, and 3 more)", "line 28 cannot be read", "… and 5 more unreadable lines\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "line 29 cannot") || strings.Contains(got, "w line 6") {
		t.Errorf("too much is listed:\n%s", got)
	}
}

func TestCutText(t *testing.T) {
	retry, mixed := judged(t, retryTrace, retryClaims), judged(t, mixedTrace, mixedClaims+"")
	got := text(t, func(b *strings.Builder) error { return CutText(b, []*audit.Report{retry}) })
	same(t, got, `segment 1
  fails       CONTRADICTED c1: updated nginx retry policy (failed)
  checkpoint  the beginning (no claim passes before the fault)
  keep        nothing
  redo        line 1 config.write to line 2 config.write
  audit again c2: service restarted and healthy
`)
	missing := judged(t, mixedTrace, `[{"claim":"put","must_show":["put"]},{"claim":"z","must_show":["z"]}]`)
	got = text(t, func(b *strings.Builder) error { return CutText(b, []*audit.Report{mixed, missing}) })
	same(t, got, `run.jsonl
segment 1
  fails       CONTRADICTED c2: n is 2 (value_differs)
  checkpoint  the beginning (no claim passes before the fault)
  keep        nothing
  redo        line 1 get (g)
  audit again c1-2: own
  audit again c1: put
segment 2
  fails       CONTRADICTED c3: z (failed)
  checkpoint  line 1 get (g)
  keep        1 call up to line 1 get (g)
  redo        line 2 put (p)
  audit again c1: put

run.jsonl
segment 1
  fails       UNSUPPORTED c2: z (trace_gap): needs a person, no re-run mends it
  checkpoint  line 3 put (q)
  keep        3 calls up to line 3 put (q)
  redo        what is missing, behind the last call
`)
	pass := judged(t, retryTrace, `[{"claim":"c","must_show":["health.check"]}]`)
	same(t, text(t, func(b *strings.Builder) error { return CutText(b, []*audit.Report{pass}) }), "nothing to cut: every claim passes\n")
	none := judged(t, "", "")
	same(t, text(t, func(b *strings.Builder) error { return CutText(b, []*audit.Report{none}) }), "nothing to cut: nothing was checked: the trace is empty\n")
}

func TestCutText_SeveralCallsOnOneLine(t *testing.T) {
	rep := judged(t, strings.ReplaceAll(retryTrace, "\n", " "), retryClaims)
	got := text(t, func(b *strings.Builder) error { return CutText(b, []*audit.Report{rep}) })
	if !strings.Contains(got, "redo        line 1 config.write to line 1 config.write\n") {
		t.Errorf("the second call is not named:\n%s", got)
	}
}

// TestJSON_Fields compares with the documented example, field by field: fields may
// be added, never renamed.
func TestJSON_Fields(t *testing.T) {
	rep := judged(t, retryTrace, retryClaims)
	const documented = `{"version": 1, "runs": [{"trace": "run.jsonl", "run": null, "format": "native", "sha256": "a5ee71140edfdf05c46398a38ba03d49f07688c662f835f81d895d5075a9af00", "calls": 4, "bad_lines": [],
  "claims": [{"id": "c1", "claim": "updated nginx retry policy", "source": "file", "verdict": "CONTRADICTED", "reason": "failed", "strength": null, "recovered": false,
    "findings": [{"requirement": "must_not_fail[0]", "verdict": "CONTRADICTED", "reason": "failed",
      "calls": [{"id": null, "line": 1, "tool": "config.write"}, {"id": null, "line": 2, "tool": "config.write"}], "expected": null, "observed": null, "detail": "config.write failed: validation: unknown key"}]},
   {"id": "c2", "claim": "service restarted and healthy", "source": "file", "verdict": "PASS", "reason": null, "strength": "reported", "recovered": false}],
  "not_checked": [],
  "segments": [{"claims": ["c1"], "checkpoint": null, "cut": null, "start": {"id": null, "line": 1}, "end": {"id": null, "line": 2}, "downstream": ["c2"]}],
  "totals": {"pass": 1, "unsupported": 0, "contradicted": 1, "statements": 2, "checked": 2}}]}`
	var want, got any
	if err := json.Unmarshal([]byte(documented), &want); err != nil {
		t.Fatal(err)
	}
	out := text(t, func(b *strings.Builder) error { return JSON(b, []*audit.Report{rep}) })
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	contains(t, "", got, want)
}

// contains checks that have holds everything that want does.
func contains(t *testing.T, at string, have, want any) {
	t.Helper()
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		for k, v := range w {
			x, ok := h[k]
			if !ok {
				t.Errorf("%s.%s is missing", at, k)
			}
			contains(t, at+"."+k, x, v)
		}
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			t.Errorf("%s is %v, want %v", at, have, want)
			return
		}
		for i := range w {
			contains(t, at, h[i], w[i])
		}
	default:
		if have != want {
			t.Errorf("%s is %v, want %v", at, have, want)
		}
	}
}

func TestJSON_ListsAndPlaces(t *testing.T) {
	out := text(t, func(b *strings.Builder) error {
		return JSON(b, []*audit.Report{judged(t, "", ""), judged(t, mixedTrace, mixedClaims)})
	})
	if strings.Contains(out, `"bad_lines": null`) || strings.Contains(out, `"claims": null`) || strings.Contains(out, `"segments": null`) || strings.Contains(out, `"calls": null`) {
		t.Errorf("a list is null:\n%s", out)
	}
	var doc documentJSON
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	m := doc.Runs[1]
	if m.BadLines[0].Line != 8 || m.Gaps[0].Line != 6 || len(m.NotChecked) != 2 || m.Claims[0].Source != "trace" || !m.Claims[0].OwnMeasure || !m.Claims[1].Recovered {
		t.Errorf("%+v", m)
	}
	if s := m.Segments[1]; string(s.Cut.ID) != `"g"` || s.Cut.Line != 1 || s.Claims[0] != "c3" {
		t.Errorf("%+v", s)
	}
	if none := text(t, func(b *strings.Builder) error { return JSON(b, nil) }); strings.Join(strings.Fields(none), "") != `{"version":1,"runs":[]}` {
		t.Errorf("no report: %s", none)
	}
}

func TestReports_SameInputSameOutput(t *testing.T) {
	write := func() string {
		reps := []*audit.Report{judged(t, mixedTrace, mixedClaims), judged(t, retryTrace, retryClaims)}
		return text(t, func(b *strings.Builder) error { return JSON(b, reps) }) + text(t, func(b *strings.Builder) error { return Text(b, reps) })
	}
	same(t, write(), write())
}
