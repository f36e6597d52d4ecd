package audit

import (
	"strings"
	"testing"

	"nightaudit/trace"
)

// sees says that a look observes what was written before.
func sees(_ *trace.Run, write, read *trace.Call) bool {
	return write.Tool == "w" && read.Tool == "look"
}

func TestCheckMerged(t *testing.T) {
	for _, c := range []struct {
		name, first, second, claims string
		want                        string // verdicts and reasons
	}{
		{"the failing write is only repeated", "w!", "w", "nofail w", "CONTRADICTED failed"},
		{"written and looked at", "w!", "w look", "nofail w", "PASS"},
		{"looked at before it was written", "w!", "look w", "nofail w", "CONTRADICTED failed"},
		{"looked at, but not written", "w!", "look", "nofail w", "CONTRADICTED failed"},
		{"something else was looked at", "w!", "w other", "nofail w", "CONTRADICTED failed"},
		{"the look failed", "w!", "w look!", "nofail w", "CONTRADICTED failed"},
		{"the look never ended", "w!", "w look?", "nofail w", "CONTRADICTED failed"},
		{"written, looked at, and written again", "w!", "w look w", "nofail w", "PASS"},
		{"nothing was done", "w!", "", "nofail w", "CONTRADICTED failed"},
		{"a fresh failure", "w!", "w look w!", "nofail w", "CONTRADICTED failed"},
		{"a fresh failure, first run clean", "w", "w!", "nofail w", "CONTRADICTED failed"},
		{"first run clean", "w", "", "nofail w", "PASS"},
		{"two failing tools, one made good", "w! v!", "w look v", "nofail w v", "CONTRADICTED failed"},
		{"shown in the first run only", "h", "", "show h", "UNSUPPORTED no_call"},
		{"shown in the re-run", "h!", "h", "show h", "PASS"},
		{"failed in the re-run", "h", "h!", "show h", "UNSUPPORTED call_failed"},
		{"a gap in the first run", "h gap", "", "show h", "UNSUPPORTED trace_gap"},
		{"a gap and a pass that rests on absence", "w! gap", "w look", "nofail w", "UNSUPPORTED trace_gap"},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second := readRun(t, []byte(trc(c.first))), readRun(t, []byte(trc(c.second)))
			judged, err := CheckMerged(trace.Join(first, second), len(first.Calls), true, load(t, c.claims), sees, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimSpace(string(judged[0].Verdict) + " " + string(judged[0].Reason)); got != c.want {
				t.Errorf("%s, want %s: %+v", got, c.want, judged[0].Findings)
			}
		})
	}
}

func TestCheckMerged_EvidenceIsWriteAndLook(t *testing.T) {
	first, second := readRun(t, []byte(trc("w! w!"))), readRun(t, []byte(trc("x w look")))
	judged, err := CheckMerged(trace.Join(first, second), 2, true, load(t, "nofail w"), sees, nil)
	if err != nil {
		t.Fatal(err)
	}
	j := judged[0]
	if j.Verdict != Pass || !j.Recovered || len(j.Evidence) != 2 || j.Evidence[0].index != 3 || j.Evidence[1].index != 4 {
		t.Errorf("%+v", j)
	}
}

func TestCheckMerged_FirstUnknown(t *testing.T) {
	for calls, want := range map[string]Verdict{"": Contradicted, "w": Contradicted, "w look": Pass, "w! w look": Contradicted} {
		judged, err := CheckMerged(readRun(t, []byte(trc(calls))), 0, false, load(t, "nofail w"), sees, nil)
		if err != nil {
			t.Fatal(err)
		}
		if judged[0].Verdict != want {
			t.Errorf("%q: %s, want %s", calls, judged[0].Verdict, want)
		}
	}
}

func TestCheckMerged_Grounds(t *testing.T) {
	get := func(id, tool, args, result string) string {
		return `{"type":"tool_call","id":"` + id + `","tool":"` + tool + `","args":` + args + `,"ok":true,"result":{"n":` + result + `}}` + "\n"
	}
	first := get("g", "get", `{"x":1}`, "1")
	for _, c := range []struct{ name, second, want string }{
		{"redone under another id", get("n1", "get", `{"x":1}`, "2"), "PASS"},
		{"redone, and the value is still wrong", get("n1", "get", `{"x":1}`, "3"), "CONTRADICTED value_differs"},
		{"equal arguments, spelt differently", get("n1", "get", `{ "x" : 1.0 }`, "2"), "PASS"},
		{"other arguments", get("g", "get", `{"x":2}`, "2"), "UNSUPPORTED no_call"},
		{"the same id by chance, another tool", get("g", "put", `{"x":1}`, "2"), "UNSUPPORTED no_call"},
		{"not redone", "", "UNSUPPORTED no_call"},
		{"the latest counts", get("n1", "get", `{"x":1}`, "2") + get("n2", "get", `{"x":1}`, "5"), "CONTRADICTED value_differs"},
		{"redone and failed", strings.Replace(get("n1", "get", `{"x":1}`, "2"), "true", "false", 1), "UNSUPPORTED source_failed"},
	} {
		a, b := readRun(t, []byte(first)), readRun(t, []byte(c.second))
		list := loadJSON(t, `[{"claim":"c","grounds":[{"from":"g","field":"n","equals":2}]}]`)
		judged, err := CheckMerged(trace.Join(a, b), 1, true, list, sees, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(string(judged[0].Verdict) + " " + string(judged[0].Reason)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestCheckMerged_DelegatesInBothHalves(t *testing.T) {
	const delegated = `{"type":"tool_call","id":"p","tool":"Task","ok":true}` + "\n" + `{"type":"tool_call","id":"k","parent":"p","tool":"h","ok":true}` + "\n"
	const alone = `{"type":"tool_call","id":"p","tool":"Task","ok":true}` + "\n"
	for _, c := range []struct {
		first, second string
		want          Reason
	}{
		{delegated, delegated, NoCall},
		{delegated, alone, TraceGap}, // the first run's child is not the second's
		{alone, delegated, TraceGap},
	} {
		a, b := readRun(t, []byte(c.first)), readRun(t, []byte(c.second))
		judged, err := CheckMerged(trace.Join(a, b), len(a.Calls), true, load(t, "show z"), sees, nil)
		if err != nil || judged[0].Reason != c.want {
			t.Errorf("%s, %v, want %s", judged[0].Reason, err, c.want)
		}
	}
}
