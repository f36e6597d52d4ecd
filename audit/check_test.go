package audit

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit/claims"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

func verdicts(rep *Report) string {
	var out []string
	for _, j := range rep.Claims {
		s := string(j.Verdict)
		if j.Verdict != Pass {
			s = string(j.Reason)
		}
		if j.Recovered {
			s += "(recovered)"
		}
		if j.OwnMeasure {
			s += "(own)"
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestCheck_Tools(t *testing.T) {
	for _, c := range []struct{ name, calls, claims, want string }{
		{"shown", "a", "show a", "PASS"},
		{"never called", "a", "show b", "no_call"},
		{"names are exact", "A a.b", "show a", "no_call"},
		{"failed", "a!", "show a", "call_failed"},
		{"failed, then done", "a! a", "show a", "PASS(recovered)"},
		{"done, then failed", "a a!", "show a", "PASS"},
		{"failed between two supporting calls", "a a! b", "show a b", "PASS(recovered)"},
		{"failed goes before pending", "a? a!", "show a", "call_failed"},
		{"pending", "a?", "show a", "pending"},
		{"one of two is missing", "a", "show a b", "no_call"},
		{"must not fail, did not", "a", "nofail a", "PASS"},
		{"must not fail, was not called", "b", "nofail a", "PASS"},
		{"must not fail, failed and was repeated", "a! a", "nofail a", "failed"},
		{"must not fail, pending", "a?", "nofail a", "PASS"},
		{"the worst decides", "a b!", `{"claim":"c","must_show":["z"],"must_not_fail":["b"]}`, "failed"},
		{"no requirement", "a", "none", "no_requirement"},
		{"an empty trace", "", "show a", "no_call"},
	} {
		if got := verdicts(check(t, readRun(t, []byte(trc(c.calls))), load(t, c.claims))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestCheck_AbsenceNeedsAWholeTrace judges the same claims on a whole trace and on
// one with a gap.
func TestCheck_AbsenceNeedsAWholeTrace(t *testing.T) {
	const calls = "a b! p?"
	const list = "show a\nshow z\nshow b\nshow p\nnofail a\nnofail b\nnone"
	whole := "PASS no_call call_failed pending PASS failed no_requirement"
	gapped := "PASS trace_gap trace_gap pending trace_gap failed no_requirement"
	for _, c := range []struct{ name, more, want string }{
		{"nothing more", "", whole},
		{"records that carry no evidence", `{"type":"mystery"}`, whole},
		{"a gap", `{"type":"gap","reason":"compacted"}`, gapped},
		{"an unreadable line", "rubbish\n{}", gapped},
		{"a torn line", `{"type":"tool_c`, gapped},
		{"a call without a tool", `{"type":"tool_call","ok":true}`, gapped},
		{"delegated, no record of the child", `{"type":"tool_call","tool":"Task","ok":true}`, gapped},
		{"delegated and running", `{"type":"tool_call","id":"t","tool":"Task"}`, gapped},
		{"delegated, but denied", `{"type":"tool_call","tool":"Task","ok":false,"status":"denied"}`, whole},
		{"delegated, with a summary of the child", `{"type":"tool_call","tool":"Task","ok":true,"child":{"tool_calls":0}}`, whole},
		{"delegated, the child's calls are here", `{"type":"tool_call","id":"t","tool":"Task","ok":true}` + "\n" + `{"type":"tool_call","parent":"t","tool":"x","ok":true}`, whole},
		{"delegated without an id", `{"type":"tool_call","tool":"Task","ok":true}` + "\n" + `{"type":"tool_call","tool":"x","ok":true}`, gapped},
	} {
		if got := verdicts(check(t, readRun(t, []byte(trc(calls)+c.more)), load(t, list))); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// changing is a file that is written over after it was scanned.
type changing struct{ data []byte }

func (c *changing) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(c.data).ReadAt(b, off)
}

// readChanging reads text, then changes the file to now.
func readChanging(t *testing.T, text, now string) *trace.Run {
	t.Helper()
	file := &changing{[]byte(text)}
	for run, err := range native.Read(t.Context(), trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: file}) {
		if err != nil {
			t.Fatal(err)
		}
		file.data = []byte(now)
		return run
	}
	return nil
}

func TestCheck_RewrittenTrace(t *testing.T) {
	text := trc("a#1 b!") + `{"type":"tool_call","id":"g","tool":"g","ok":true,"result":{"n":1}}` + "\n"
	ground := `{"claim":"c","grounds":[{"from":"g","field":"n","equals":1}]}`
	list := "show z\nshow g\nnofail a\nnofail g\n" + ground + "\nnone"
	for _, c := range []struct{ name, now, want string }{
		{"unchanged", text, "no_call PASS PASS PASS PASS no_requirement"},
		{"the result differs", strings.Replace(text, `"n":1`, `"n":2`, 1), "trace_gap trace_gap trace_gap trace_gap trace_gap no_requirement"},
		{"emptied", "", "trace_gap trace_gap trace_gap trace_gap trace_gap no_requirement"},
	} {
		rep := check(t, readChanging(t, text, c.now), load(t, list))
		if got := verdicts(rep); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for _, j := range rep.Claims {
			for _, f := range j.Findings {
				if f.Reason == TraceGap && !strings.Contains(f.Detail, "written over") {
					t.Errorf("%s: %s", c.name, f.Detail)
				}
			}
		}
	}
}

func TestCheck_ReadErrorIsAnError(t *testing.T) {
	text := `{"type":"tool_call","id":"g","tool":"g","ok":true,"result":{"n":1}}`
	file := &faulty{ReaderAt: strings.NewReader(text)}
	for run, err := range native.Read(t.Context(), trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: file}) {
		if err != nil {
			t.Fatal(err)
		}
		file.broken = true
		if _, err := Check(run, load(t, "show g"), Rules{}); err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("Check gave %v", err)
		}
	}
}

type faulty struct {
	*strings.Reader
	ReaderAt *strings.Reader
	broken   bool
}

func (f *faulty) ReadAt(b []byte, off int64) (int, error) {
	if f.broken {
		return 0, fmt.Errorf("broken")
	}
	return f.ReaderAt.ReadAt(b, off)
}

func TestCheck_OwnClaims(t *testing.T) {
	for _, c := range []struct {
		name, text, want, ids string
		checked               int
		worst                 Verdict
	}{
		{"a PASS is its own measure", `{"type":"claim","claim":"x","must_show":["a"]}`, "PASS(own)", "c1", 0, Unsupported},
		{"a fault counts", `{"type":"claim","claim":"x","must_not_fail":["b"]}`, "failed", "c1", 1, Contradicted},
		{"a list", `{"type":"claims","claims":[{"claim":"x","must_show":["a"]},{"id":"y","claim":"y","must_show":["z"]}]}`, "PASS(own) no_call", "c1 y", 1, Unsupported},
		{"a claim in an object", `{"type":"claim","claim":{"claim":"x","must_show":["a"]}}`, "PASS(own)", "c1", 0, Unsupported},
		{"unreadable stays visible", `{"type":"claim","claim":"x","must_shew":["a"]}`, "no_requirement", "c1", 1, Unsupported},
		{"too deep to be read", `{"type":"claim","claim":"x","must_show":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "no_requirement", "c1", 1, Unsupported},
		{"may not name a schema", `{"type":"claim","claim":"x","envelope":{"schema":"/etc/passwd"}}`, "no_requirement", "c1", 1, Unsupported},
		{"several records", `{"type":"claim","claim":"x","must_show":["a"]}` + "\n" + `{"type":"claim","claim":"y","must_show":["z"]}`, "PASS(own) no_call", "c1 c2", 1, Unsupported},
		{"one id twice", `{"type":"claim","id":"i","claim":"x"}` + "\n" + `{"type":"claim","id":"i","claim":"y"}`, "no_requirement no_requirement", "i i-2", 2, Unsupported},
		{"an empty list", `{"type":"claims","claims":[]}`, "", "", 0, Unsupported},
	} {
		rep := check(t, readRun(t, []byte(trc("a b!")+c.text)), nil)
		var ids []string
		for _, j := range rep.Claims {
			ids = append(ids, j.Claim.ID)
		}
		if got := verdicts(rep); got != c.want || rep.Totals.Checked != c.checked || rep.Worst() != c.worst || strings.Join(ids, " ") != c.ids {
			t.Errorf("%s: %s, ids %v, %d checked, %s; want %s, %s, %d, %s", c.name, got, ids, rep.Totals.Checked, rep.Worst(), c.want, c.ids, c.checked, c.worst)
		}
	}
}

func TestCheck_IdsAreDistinct(t *testing.T) {
	text := trc("a") + `{"type":"claim","claim":"own","must_show":["a"]}` + "\n" + `{"type":"action","decision":"d","grounds":[{"from":"x","field":"a","equals":1}]}`
	given := append(load(t, "show a\nshow z"), loadJSON(t, `[{"claim":"other file"},{"claim":"x","id":"a1"}]`)...)
	rep := check(t, readRun(t, []byte(text)), given)
	var got []string
	for _, j := range rep.Claims {
		got = append(got, j.Claim.ID)
	}
	want := []string{"a1-2", "c1-3", "c1", "c2", "c1-2", "a1"}
	if !slices.Equal(got, want) {
		t.Errorf("ids %v, want %v", got, want)
	}
}

func TestCheck_Actions(t *testing.T) {
	result := func(id, n string) string {
		return `{"type":"tool_result","call_id":"` + id + `","isError":false,"structuredContent":{"n":` + n + `}}` + "\n"
	}
	action := func(grounds string) string {
		return `{"type":"action","decision":"d","grounds":` + grounds + `}` + "\n"
	}
	equals := func(n string) string { return `{"from":"c1","field":"n","equals":` + n + `}` }
	for _, c := range []struct{ name, text, want string }{
		{"holds", result("c1", "1") + action("["+equals("1")+"]"), "PASS"},
		{"differs", result("c1", "1") + action("["+equals("2")+"]"), "value_differs"},
		{"recorded after the action", action("["+equals("1")+"]") + result("c1", "1"), "no_call"},
		{"recorded after the action, in a gapped trace", action("["+equals("1")+"]") + result("c1", "1") + "rubbish\n", "no_call"},
		{"nowhere, in a gapped trace", action("["+equals("1")+"]") + "rubbish\n", "trace_gap"},
		{"no grounds", `{"type":"action","decision":"d"}`, "no_requirement"},
		{"grounds are null", action("null"), "no_requirement"},
		{"grounds are empty", action("[]"), "malformed_ground"},
		{"any of", result("c1", "1") + action(`{"any_of":[`+equals("2")+","+equals("1")+"]}"), "PASS"},
		{"any of, none", result("c1", "1") + action(`{"any_of":[`+equals("2")+","+equals("3")+"]}"), "value_differs"},
		{"any of, one cannot be told", result("c1", "1") + action(`{"any_of":[`+equals("2")+`,{"from":"c9","field":"n","equals":1}]}`), "no_call"},
		{"all of, the worst decides", result("c1", "1") + action(`{"all_of":[{"from":"c9","field":"n","equals":1},`+equals("2")+"]}"), "value_differs"},
		{"two results that agree", result("c1", "1") + result("c1", "1.0") + action("["+equals("1")+"]"), "PASS"},
		{"two results that differ", result("c1", "1") + result("c1", "2") + action("["+equals("1")+"]"), "ambiguous_call"},
		{"the second is recorded later", result("c1", "1") + action("["+equals("1")+"]") + result("c1", "2"), "PASS"},
		{"redacted", result("c1", `"[REDACTED]"`) + action("["+equals(`"x"`)+"]"), "redacted"},
	} {
		if got := verdicts(check(t, readRun(t, []byte(c.text)), nil)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCheck_ValuesOfSecretFieldsAreNotShown(t *testing.T) {
	const secret = "correct-horse-battery"
	text := `{"type":"tool_call","id":"g","tool":"g","ok":true,"result":{"password":"` + secret + `","passwords":["x","` + secret + `"],"n":1,"deep":{"password":"` + secret + `"}}}` + "\n"
	list := loadJSON(t, `[{"claim":"c","grounds":[{"from":"g","field":"password","equals":"guess-`+secret+`"},{"from":"g","field":"deep","equals":1},{"from":"g","field":"n","equals":2}]}]`)
	rep := check(t, readRun(t, []byte(text)), list)
	j := rep.Claims[0]
	if got := verdicts(rep); got != "value_differs" || j.Findings[0].Reason != ValueDiffers {
		t.Errorf("%s: it is compared before it is hidden", got)
	}
	for _, f := range j.Findings {
		if shown := string(f.Expected) + string(f.Observed) + f.Detail; strings.Contains(shown, secret) {
			t.Errorf("shown: %s", shown)
		}
	}
	if f := j.Findings[2]; string(f.Expected) != "2" || string(f.Observed) != "1" {
		t.Errorf("an ordinary value is hidden: %+v", f)
	}
}

func TestCheck_SameInputSameReport(t *testing.T) {
	text := trc("a w! b v! gap p?") + `{"type":"claim","claim":"own","must_show":["a"]}` + "\n" + `{"type":"summary","text":"All done. Tests pass!"}` + "\n"
	list := func() []claims.Claim {
		return load(t, "show a\nnofail w v\nshow z\nnofail q\n"+`{"claim":"c","grounds":{"any_of":[{"from":"x","field":"a","equals":{"b":1,"a":2}}]}}`)
	}
	one, two := check(t, readRun(t, []byte(text)), list()), check(t, readRun(t, []byte(text)), list())
	one.Run, two.Run = nil, nil
	if !reflect.DeepEqual(one, two) {
		t.Errorf("two reports differ:\n%+v\n%+v", one, two)
	}
}

func TestCheck_Statements(t *testing.T) {
	text := trc("a") + `{"type":"summary","text":"Ran a. All is well."}`
	rules := Rules{Statements: func(string) ([]claims.Claim, []string) {
		return load(t, "show a"), []string{"All is well."}
	}}
	rep, err := Check(readRun(t, []byte(text)), nil, rules)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(rep.NotChecked, []string{"All is well."}) || rep.Totals.Statements != 2 || rep.Totals.Checked != 1 || rep.Claims[0].Verdict != Pass {
		t.Errorf("%q, totals %+v", rep.NotChecked, rep.Totals)
	}
}

// Where a rule fits the agent's own claim, it adds to its requirements.
func TestCheck_OwnClaimsAreAddedTo(t *testing.T) {
	text := trc("a") + `{"type":"claim","claim":"tests pass","must_show":["a"]}` + "\n"
	rules := Rules{Statements: func(s string) ([]claims.Claim, []string) {
		if s != "tests pass" {
			return nil, nil
		}
		return load(t, "show never"), nil
	}}
	rep, err := Check(readRun(t, []byte(text)), nil, rules)
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.Claims[0]; got.Verdict != Unsupported || got.OwnMeasure || len(got.Findings) != 2 {
		t.Errorf("%s, own measure %v: %+v", got.Verdict, got.OwnMeasure, got.Findings)
	}
}
