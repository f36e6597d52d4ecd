package claudecode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nightaudit/trace"
)

func readFile(t *testing.T, name string) *trace.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	run := readAll(t, data)
	checkRun(t, run)
	return run
}

// call finds a call by its id; there must be one.
func call(t *testing.T, run *trace.Run, id string) *trace.Call {
	t.Helper()
	for i := range run.Calls {
		if c := &run.Calls[i]; c.ID == trace.TextID(id) && !c.ResultOnly {
			return c
		}
	}
	t.Fatalf("no call %s", id)
	return nil
}

// end is what a call's record says of its end, in short.
func end(c *trace.Call) string {
	var parts []string
	switch c.IsError {
	case trace.FlagTrue:
		parts = append(parts, "error")
	case trace.FlagFalse:
		parts = append(parts, "no error")
	case trace.FlagInvalid:
		parts = append(parts, "bad flag")
	case trace.FlagAbsent:
	}
	if c.HasExit {
		parts = append(parts, "exit "+strconv.Itoa(int(c.ExitCode)))
	}
	if c.Status != "" {
		parts = append(parts, c.Status)
	}
	return strings.Join(parts, ", ")
}

func TestRead_Ends(t *testing.T) {
	run := readFile(t, "ends.jsonl")
	for id, want := range map[string]string{
		"exit1":     "error, exit 1",
		"ok":        "no error, exit 0",
		"timeout":   "error, exit 143",
		"grep":      "no error",
		"cut":       "error",
		"read":      "no error",
		"gone":      "error",
		"twin":      "error",
		"edit":      "error",
		"denied":    "error, denied",
		"approval":  "error, denied",
		"grant":     "error, denied",
		"hook":      "error, denied",
		"sibling":   "error, cancelled",
		"interrupt": "error, cancelled",
		"eacces":    "error, exit 1",
		"mcp":       "no error",
		"badflag":   "bad flag",
		"open":      "",
	} {
		if got := end(call(t, run, id)); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if c := call(t, run, "open"); c.Result.Present() || c.ResultPos.Line != 0 {
		t.Error("the open call has a result")
	}
	if c := call(t, run, "ok"); !c.Structured.Present() || c.Tool != "Bash" || c.Cwd != "/w" || c.Pos.Line != 4 || c.ResultPos.Line != 5 {
		t.Errorf("%+v", c)
	}
	if c := call(t, run, "mcp"); c.Structured.Present() {
		t.Error("a list is taken for a structured result")
	}
	if run.EndReason != "" || run.Ended || !run.NoEndRecords || run.Summary != "" {
		t.Errorf("end %q, ended %v, summary %q", run.EndReason, run.Ended, run.Summary)
	}
}

func TestRead_Background(t *testing.T) {
	run := readFile(t, "background.jsonl")
	for id, want := range map[string]string{
		"fails":  "no error, exit 4",
		"passes": "no error, exit 0",
		"killed": "error",
		"looked": "no error, exit 0",
		"runs":   "no error, running",
		"worded": "no error, completed",
		"moved":  "no error, running",
		"agent":  "no error, completed",
	} {
		if got := end(call(t, run, id)); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
	if c := call(t, run, "fails"); c.ResultPos.Line != 21 || !c.ResultPos.Before(trace.Position{Offset: 1 << 40}) || !run.SummaryPos.Before(c.ResultPos) {
		t.Errorf("the late end stands at %+v, the summary at %+v", c.ResultPos, run.SummaryPos)
	}
	if !strings.HasPrefix(run.Summary, "Deployed; the background deploy finished successfully.") || !strings.HasSuffix(run.Summary, "Noted.") {
		t.Errorf("summary %q", run.Summary)
	}
	if run.EndReason != "end_turn" || run.Task != "Deploy" {
		t.Errorf("end %q, task %q", run.EndReason, run.Task)
	}
}

func TestRead_Copies(t *testing.T) {
	run := readFile(t, "copies.jsonl")
	var got []string
	for i := range run.Calls {
		c := &run.Calls[i]
		raw, err := run.Body(c.Result)
		if err != nil {
			t.Fatal(err)
		}
		line := c.ID.String() + " " + c.Batch + " " + string(raw)
		if c.ResultOnly {
			line += " only"
		}
		got = append(got, line)
	}
	want := []string{`a m1 "A"`, `b m1 "B"`, `b  "B2"`, `b  "B3" only`, `c m1#2 `, `d m1#2 `}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	usage := []trace.Usage{
		{Model: "m-1", Prompt: 7, Cached: 50, Completion: 9, Total: 66},
		{Model: "m-2", Prompt: 7, Cached: 50, Completion: 2, Total: 59},
	}
	if !slices.Equal(run.Usage, usage) {
		t.Errorf("usage %+v\nwant %+v", run.Usage, usage)
	}
}

func TestRead_SubAgents(t *testing.T) {
	run := readFile(t, "subagents.jsonl")
	for id, want := range map[string]string{"x1": "t1", "x2": "t2", "x3": "", "t1": ""} {
		if got := call(t, run, id).Parent.String(); got != want {
			t.Errorf("parent of %s is %q, want %q", id, got, want)
		}
	}
	for id, want := range map[string]bool{"t1": false, "t2": false, "t3": true, "t4": false, "t5": false, "t6": false} {
		c := call(t, run, id)
		if c.Delegates != want {
			t.Errorf("%s delegates: %v, want %v", id, c.Delegates, want)
		}
	}
	if c := call(t, run, "t3"); !c.Child.Present() {
		t.Error("no record of the child")
	}
	if len(run.Calls) != 9 || run.Summary != "All done." || run.Task != "Delegate" {
		t.Errorf("%d calls, summary %q, task %q", len(run.Calls), run.Summary, run.Task)
	}
	child := readFile(t, "agent-a1.jsonl")
	if c := call(t, child, "x1"); c.Parent != "" || child.Summary != "Found." || child.Task != "find it" {
		t.Errorf("parent %q, summary %q, task %q", c.Parent, child.Summary, child.Task)
	}
}

func TestRead_Rewind(t *testing.T) {
	run := readFile(t, "rewind.jsonl")
	if run.Summary != "I wrote b." || len(run.Calls) != 2 {
		t.Errorf("summary %q, %d calls", run.Summary, len(run.Calls))
	}
}

func TestRead_Compaction(t *testing.T) {
	if run := readFile(t, "compacted.jsonl"); len(run.Gaps) != 0 || run.Summary != "Done for real." {
		t.Errorf("gaps %v, summary %q", run.Gaps, run.Summary)
	}
	if run := readFile(t, "compacted-cut.jsonl"); len(run.Gaps) != 1 || run.Gaps[0].Pos.Line != 1 || run.Summary != "Done for real." || run.Task != "" {
		t.Errorf("gaps %v, summary %q, task %q", run.Gaps, run.Summary, run.Task)
	}
}

func TestRead_OddRecords(t *testing.T) {
	run := readFile(t, "odd.jsonl")
	if want := "Done.\n\nTwo files changed.\n\nAlready committed."; run.Summary != want || run.SummaryPos.Line != 10 {
		t.Errorf("summary %q at %d", run.Summary, run.SummaryPos.Line)
	}
	if run.Task != "Do the \nwork" || run.EndReason != "api_error" || run.ID != "s1" || run.Agent != "claude-code 2.1.197" || run.Model != "m-1" || run.Cwd != "/w" {
		t.Errorf("%+v", run)
	}
	if want := time.Date(2026, 3, 1, 2, 0, 1, 0, time.UTC); !run.Started.Equal(want) {
		t.Errorf("started %v", run.Started)
	}
	if run.Ignored != 3 || run.Records != 13 {
		t.Errorf("%d records, %d ignored", run.Records, run.Ignored)
	}
}

func TestRead_Damage(t *testing.T) {
	const ask = `{"type":"user","uuid":"u1","sessionId":"s","message":{"role":"user","content":"` + "go on" + `"}}`
	const use = `{"type":"assistant","uuid":"u2","parentUuid":"u1","message":{"id":"m","content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}`
	const nameless = `{"type":"assistant","uuid":"u3","message":{"content":[{"type":"tool_use","id":"b","input":{}}]}}`
	const orphan = `{"type":"user","uuid":"u4","message":{"content":[{"type":"tool_result","tool_use_id":"zz","content":"x"}]}}`
	for _, tt := range []struct {
		name, text       string
		calls, bad, gaps int
		torn             bool
	}{
		{"crlf and a byte-order mark", "\xef\xbb\xbf" + ask + "\r\n" + use + "\r\n", 1, 0, 0, false},
		{"two on a line", ask + use + "\n", 1, 0, 0, false},
		{"torn", ask + "\n" + use[:60], 0, 1, 0, true},
		{"a bad line between", ask + "\nnonsense\n" + use + "\n", 1, 1, 0, false},
		{"a call without a name", nameless + "\n" + use + "\nx\n", 1, 2, 0, false},
		{"a result without a call", orphan + "\n" + use + "\n", 2, 0, 1, false},
		{"kinds of fields", `{"type":"user","uuid":7,"message":[1],"sessionId":{}}` + "\n" + `{"type":"assistant","message":{"content":{"a":1},"usage":[],"id":3}}`, 0, 0, 0, false},
		{"a circle of parents", `{"type":"user","uuid":"a","parentUuid":"b","message":{}}` + `{"type":"user","uuid":"b","parentUuid":"a","message":{}}`, 0, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := readAll(t, []byte(tt.text))
			checkRun(t, run)
			if len(run.Calls) != tt.calls || len(run.BadLines) != tt.bad || len(run.Gaps) != tt.gaps || run.Torn != tt.torn {
				t.Errorf("%d calls, bad lines %v, gaps %v, torn %v", len(run.Calls), run.BadLines, run.Gaps, run.Torn)
			}
		})
	}
}

func TestRead_Nothing(t *testing.T) {
	run := readAll(t, nil)
	if run == nil || len(run.Calls) != 0 || run.Format != Format {
		t.Errorf("an empty file gives %+v", run)
	}
	for _, text := range []string{"nonsense", "[1]\n", `{"type":"us`} {
		run := readAll(t, []byte(text))
		if run.Records+run.Ignored != 0 || len(run.BadLines) != 1 {
			t.Errorf("%q gives %d records, bad lines %v", text, run.Records+run.Ignored, run.BadLines)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for run, err := range Read(ctx, source([]byte("{}"))) {
		if run != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v, %v", run, err)
		}
	}
}

func TestRead_LongTask(t *testing.T) {
	text := `{"type":"user","uuid":"u","message":{"content":"` + strings.Repeat("aé", 3000) + `"}}`
	task := readAll(t, []byte(text)).Task
	if len(task) > maxTask || len(task) < maxTask-3 || strings.ContainsRune(task, '\uFFFD') {
		t.Errorf("%d bytes, ending in %q", len(task), task[len(task)-4:])
	}
}

// TestRead_CutAnywhere cuts a file at every byte: what is left is read, and no
// call is there that the whole file does not have.
func TestRead_CutAnywhere(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "copies.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	whole := len(readAll(t, data).Calls)
	for n := range data {
		for run, err := range Read(t.Context(), source(data[:n])) {
			if err != nil {
				t.Fatalf("cut at %d: %v", n, err)
			}
			if len(run.Calls) > whole {
				t.Errorf("cut at %d: %d calls", n, len(run.Calls))
			}
			checkRun(t, run)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, err := filepath.Glob(filepath.Join("testdata", "*.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for run, err := range Read(t.Context(), source(data)) {
			if err != nil {
				t.Fatal(err)
			}
			checkRun(t, run)
		}
	})
}
