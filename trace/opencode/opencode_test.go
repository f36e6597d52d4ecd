package opencode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightaudit/trace"
)

func source(data []byte) trace.Source {
	return trace.Source{Name: "session", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

func readAll(t *testing.T, data []byte) []*trace.Run {
	t.Helper()
	var runs []*trace.Run
	for run, err := range Read(t.Context(), source(data)) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Calls {
			c := &run.Calls[i]
			for _, b := range []trace.Body{c.Args, c.Result, c.Error, c.Record} {
				if raw, err := run.Body(b); err != nil || b.Present() && !json.Valid(raw) {
					t.Errorf("a body of call %s is %q, %v", c.ID, raw, err)
				}
			}
		}
		runs = append(runs, run)
	}
	return runs
}

func readFile(t *testing.T, name string) *trace.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	runs := readAll(t, data)
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

// shown is the calls in short.
func shown(run *trace.Run) []string {
	var out []string
	for _, c := range run.Calls {
		s := c.ID.String() + " " + c.Tool
		switch c.IsError {
		case trace.FlagTrue:
			s += " error"
		case trace.FlagFalse:
			s += " fine"
		case trace.FlagAbsent, trace.FlagInvalid:
		}
		if c.HasExit {
			s += fmt.Sprint(" exit ", c.ExitCode)
		}
		if c.Status != "" {
			s += " " + c.Status
		}
		if !c.ResultPos.Set() {
			s += " open"
		}
		if c.Batch != "" {
			s += " in " + c.Batch
		}
		if c.Delegates {
			s += " delegates"
		}
		out = append(out, s)
	}
	return out
}

func TestRead_Export(t *testing.T) {
	run := readFile(t, "export.json")
	want := []string{
		"bad bash exit 1 in m1", "read read fine in m1", "gone read error in m2", "good bash exit 0 in m2",
		"refused bash error in m3", "late bash error in m3", "odd nosuch error in m4", "open webfetch running open in m4",
	}
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "s1" || run.Agent != "opencode 1.18.33" || run.Model != "m-1" || run.Cwd != "/w" || run.Task != "Fix it" || run.Started.IsZero() || run.SHA256 == [32]byte{} {
		t.Errorf("%+v", run)
	}
	if run.Summary != "All tests pass." || !run.Ended || run.EndReason != "stop" || run.NoEndRecords || run.Child || !run.Whole() {
		t.Errorf("summary %q, end %v %q, gaps %v", run.Summary, run.Ended, run.EndReason, run.Gaps)
	}
	if want := []trace.Usage{{Model: "m-1", Prompt: 60, Cached: 20, Completion: 20, Total: 100}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if c := run.Calls[0]; c.Pos.Line != 5 || c.Cwd != "/w" || c.Start.IsZero() {
		t.Errorf("%+v", c)
	}
}

func TestRead_Log(t *testing.T) {
	run := readFile(t, "run.jsonl")
	want := []string{
		"bad bash exit 1 in m1", "read read fine in m1", "gone read error in m2", "good bash exit 0 in m2",
		"refused bash error in m3", "late bash error in m3", "odd nosuch error",
	}
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "s1" || run.Summary != "All tests pass." || !run.Ended || run.EndReason != "stop" || !run.Whole() || run.Started.IsZero() {
		t.Errorf("%+v", run)
	}
}

// export writes an export with one assistant message of these parts.
func export(info string, parts ...string) []byte {
	return []byte(`{"info":{"id":"s"},"messages":[{"info":{"role":"assistant"` + info + `},"parts":[` + strings.Join(parts, ",") + `]}]}`)
}

func tool(name, state string) string {
	return `{"type":"tool","id":"p","callID":"a","tool":"` + name + `","state":{` + state + `}}`
}

func TestRead_States(t *testing.T) {
	for _, tt := range []struct{ part, want string }{
		{tool("bash", `"status":"completed","metadata":{"exit":3}`), "a bash exit 3"},
		{tool("bash", `"status":"completed","metadata":{"exit":1e99}`), "a bash exit 2147483647"},
		{tool("bash", `"status":"completed","metadata":{"exit":null},"output":"x"`), "a bash unknown"},
		{tool("bash", `"status":"completed"`), "a bash unknown"},
		{tool("bash", `"status":"completed","output":"bash tool terminated command after exceeding timeout 10 ms"`), "a bash error"},
		{tool("bash", `"status":"completed","output":"terminated command after exceeding timeout`+strings.Repeat("x", 700)+`"`), "a bash unknown"},
		{tool("bash", `"status":"completed","output":"User aborted the command"`), "a bash error"},
		{tool("bash", `"status":"error","error":"Tool execution aborted"`), "a bash error"},
		{tool("edit", `"status":"completed","metadata":{"exit":1}`), "a edit fine"},
		{tool("edit", `"status":"pending"`), "a edit pending open"},
		{tool("edit", `"status":"odd"`), "a edit unknown"},
		{tool("edit", ``), "a edit unknown"},
		{tool("invalid", `"status":"completed","input":{"tool":"grep"}`), "a grep error"},
		{tool("invalid", `"status":"completed"`), "a invalid error"},
		{tool("task", `"status":"completed"`), "a task fine delegates"},
		{tool("task", `"status":"error","error":"x"`), "a task error"},
		{`{"type":"tool","callID":"a","state":{}}`, ""},
		{`{"type":"patch"}`, ""},
	} {
		if got := strings.Join(shown(readAll(t, export("", tt.part))[0]), "; "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.part, got, tt.want)
		}
	}
	if run := readAll(t, export("", `{"type":"tool"}`, "7"))[0]; len(run.BadLines) != 2 {
		t.Errorf("bad lines %v", run.BadLines)
	}
	if run := readAll(t, []byte(`{"info":{"id":"s","parentID":"r"},"messages":[7]}`))[0]; len(run.BadLines) != 1 || !run.Child {
		t.Errorf("%+v", run)
	}
}

// TestRead_StoredAgain: a part that is stored twice is one call, a part id that is
// used again is not.
func TestRead_StoredAgain(t *testing.T) {
	running, done, failed := tool("x", `"status":"running"`), tool("x", `"status":"completed","output":"o"`), tool("x", `"status":"error","error":"e"`)
	for _, tt := range []struct {
		parts []string
		want  []string
	}{
		{[]string{running, done}, []string{"a x fine"}},
		{[]string{done, done}, []string{"a x fine"}},
		{[]string{done, failed}, []string{"a x fine", "a x error"}},
		{[]string{done, tool("y", `"status":"completed","output":"o"`)}, []string{"a x fine", "a y fine"}},
		{[]string{strings.ReplaceAll(done, `"id":"p",`, ""), strings.ReplaceAll(done, `"id":"p",`, "")}, []string{"a x fine", "a x fine"}},
	} {
		if got := shown(readAll(t, export("", tt.parts...))[0]); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %q, want %q", tt.parts, got, tt.want)
		}
	}
}

func TestRead_Talk(t *testing.T) {
	say := func(text string) string { return `{"type":"text","text":"` + text + `"}` }
	act, stop, goOn := tool("x", `"status":"completed"`), `{"type":"step-finish","reason":"stop"}`, `{"type":"step-finish","reason":"tool-calls"}`
	message := func(info string, parts ...string) string {
		return `{"info":{` + info + `},"parts":[` + strings.Join(parts, ",") + `]}`
	}
	agent, person := `"role":"assistant"`, `"role":"user"`
	for _, tt := range []struct {
		name          string
		messages      []string
		summary, end  string
		noEnd, noTask bool
	}{
		{"done", []string{message(person, say("Go")), message(agent, act, say("One."), say("Two."), stop)}, "One.\n\nTwo.", "stop", false, false},
		{"at work", []string{message(person, say("Go")), message(agent, say("One."), act, goOn)}, "", "", false, false},
		{"finish of the message", []string{message(person, say("Go")), message(agent+`,"finish":"length"`, say("One."))}, "One.", "length", false, false},
		{"aborted", []string{message(person, say("Go")), message(agent+`,"error":{"name":"MessageAbortedError"}`, say("One."))}, "One.", "MessageAbortedError", true, false},
		{"an old version", []string{message(person, say("Go")), message(agent, say("One."))}, "One.", "", true, false},
		{"asked again", []string{message(person, say("Go")), message(agent, say("One."), stop), message(person, say("More"))}, "One.", "", false, false},
		{"answered again", []string{message(person, say("Go")), message(agent, say("One."), stop), message(person, say("More")), message(agent, say("Two."), stop)}, "Two.", "stop", false, false},
		{"compacted", []string{message(person, say("Go")), message(agent, say("One."), stop), message(agent+`,"summary":true`, say("All is well."), stop)}, "One.", "stop", false, false},
		{"synthetic", []string{message(person, `{"type":"text","text":"Go","synthetic":true}`), message(agent, `{"type":"text","text":"x","ignored":true}`)}, "", "", true, true},
	} {
		run := readAll(t, []byte(`{"info":{"id":"s"},"messages":[`+strings.Join(tt.messages, ",")+"]}"))[0]
		if run.Summary != tt.summary || run.EndReason != tt.end || run.Ended != (tt.end != "") || run.NoEndRecords != tt.noEnd || (run.Task == "") != tt.noTask {
			t.Errorf("%s: summary %q, end %v %q, no ends %v, task %q", tt.name, run.Summary, run.Ended, run.EndReason, run.NoEndRecords, run.Task)
		}
	}
}

func TestRead_LogGaps(t *testing.T) {
	event := func(kind, part string) string {
		return `{"type":"` + kind + `","sessionID":"s","part":` + part + "}\n"
	}
	start, end := event("step_start", `{"type":"step-start"}`), event("step_finish", `{"type":"step-finish","reason":"tool-calls"}`)
	for _, tt := range []struct {
		name, text, end string
		gaps            int
	}{
		{"between steps", start + end, "", 0},
		{"within a step", start + end + start, "", 1},
		{"failed", start + `{"type":"error","sessionID":"s","error":{"name":"APIError"}}`, "APIError", 1},
		{"an unknown error", `{"type":"error","sessionID":"s","error":"x"}`, "error", 0},
	} {
		run := readAll(t, []byte(tt.text))[0]
		if len(run.Gaps) != tt.gaps || run.EndReason != tt.end {
			t.Errorf("%s: gaps %v, end %q", tt.name, run.Gaps, run.EndReason)
		}
	}
}

func TestRead_Sessions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.ReplaceAll(data, []byte(`"sessionID":"s1"`), []byte(`"sessionID":"s2"`))
	runs := readAll(t, slices.Concat(data, []byte("noise\n"), other, []byte(`{"type":"zzz"}`)))
	if len(runs) != 2 || runs[0].ID != "s1" || runs[1].ID != "s2" || len(runs[0].Calls) != 7 || len(runs[1].Calls) != 7 ||
		len(runs[0].BadLines) != 1 || len(runs[1].BadLines) != 0 || runs[1].Ignored != 1 {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
	for range Read(t.Context(), source(slices.Concat(data, other))) {
		break
	}
}

// TestRead_Damaged: an export that is no JSON text is no empty run.
func TestRead_Damaged(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "export.json"))
	if err != nil {
		t.Fatal(err)
	}
	run := readAll(t, data[:len(data)-4])[0]
	if len(run.Calls) != 0 || len(run.BadLines) == 0 || run.Whole() {
		t.Errorf("%+v", run)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("broken") }

func TestRead_UnreadableFile(t *testing.T) {
	for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: 10, ReaderAt: broken{}}) {
		if run != nil || err == nil {
			t.Errorf("got %v, %v", run, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"{}\n", "{\n}"} {
		for run, err := range Read(ctx, source([]byte(text))) {
			if run != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, %v", run, err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"export.json", "run.jsonl"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(-1)
		for _, run := range readAll(t, data) {
			for _, c := range run.Calls {
				if c.Pos.Offset <= last {
					t.Errorf("call %s does not stand behind the one before it", c.ID)
				}
				last = c.Pos.Offset
			}
		}
	})
}
