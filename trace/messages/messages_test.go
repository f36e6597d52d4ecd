package messages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/tracetest"
)

var testdata = os.DirFS("testdata")

func readAll(t *testing.T, data []byte) []*trace.Run {
	t.Helper()
	return tracetest.Read(t, Read, data)
}

func readFile(t *testing.T, name string) []*trace.Run {
	t.Helper()
	return tracetest.File(t, Read, testdata, name)
}

func calls(t *testing.T, run *trace.Run) []string {
	t.Helper()
	return tracetest.Calls(t, run, func(run *trace.Run, c *trace.Call) (string, error) {
		o, err := outcome.Of(run, c)
		return string(o.Kind), err
	})
}

func TestRead_Calls(t *testing.T) {
	for _, tt := range []struct {
		file    string
		want    []string
		summary string
		task    string
		gaps    int
	}{
		{"anthropic.jsonl", []string{"bad bash error 1", "mute read_file ok 1", "good bash ok 2", "net web_search error 2", "open deploy pending"}, "All tests pass.", "Fix the tests", 0},
		{"responses.json", []string{
			"mute lookup suspect", "bad shell error", "good mcp__fs__read ok", "gone mcp__fs__read error", "found web_search ok", "patch apply_patch error", "open deploy pending",
		}, "Done.", "Search and fix", 0},
		{"chat.json", []string{
			"c1 get_order unknown 1", "c2 cancel suspect 1", "notify unknown", "c3 sh error", "nobody unknown alone",
		}, "It is cancelled.", "Cancel order 7", 1},
	} {
		t.Run(tt.file, func(t *testing.T) {
			runs := readFile(t, tt.file)
			if len(runs) != 1 {
				t.Fatalf("%d runs", len(runs))
			}
			run := runs[0]
			if got := calls(t, run); !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if run.Summary != tt.summary || run.Task != tt.task || len(run.Gaps) != tt.gaps || len(run.BadLines) > 0 || !run.NoEndRecords {
				t.Errorf("summary %q, task %q, gaps %v, bad lines %v", run.Summary, run.Task, run.Gaps, run.BadLines)
			}
		})
	}
}

func TestRead_Details(t *testing.T) {
	run := readFile(t, "anthropic.jsonl")[0]
	if run.Model != "m-1" || run.EndReason != "end_turn" || run.Records != 6 {
		t.Errorf("%+v", run)
	}
	if want := []trace.Usage{{Model: "m-1", Prompt: 12, Cached: 5, Completion: 3, Total: 20}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if b := run.Calls[0].Batch; b == "" || b != run.Calls[1].Batch || b == run.Calls[2].Batch {
		t.Errorf("batches %q, %q, %q", b, run.Calls[1].Batch, run.Calls[2].Batch)
	}
	run = readFile(t, "responses.json")[0]
	if want := []trace.Usage{{Model: "m-2", Prompt: 5, Cached: 15, Completion: 4, Total: 24}}; !slices.Equal(run.Usage, want) || run.ID != "resp_1" {
		t.Errorf("usage %+v, id %q", run.Usage, run.ID)
	}
	for i, want := range []string{`{"key": "a"}`, `{"commands": ["make", "make test"]}`} {
		if raw, err := run.Body(run.Calls[i].Args); err != nil || string(raw) != want {
			t.Errorf("arguments %s, %v, want %s", raw, err, want)
		}
	}
	if c := run.Calls[0]; c.Pos.Line != 6 || c.ResultPos.Line != 7 {
		t.Errorf("the call stands at %+v, its result at %+v", c.Pos, c.ResultPos)
	}
}

func TestRead_Conversations(t *testing.T) {
	runs := readFile(t, "conversations.jsonl")
	var got []string
	for _, run := range runs {
		got = append(got, fmt.Sprintf("%s %s %q %q %v %d", run.ID, run.Model, run.Task, run.Summary, calls(t, run), len(run.BadLines)))
	}
	want := []string{`3#0  "one" "First." [c1 a unknown] 0`, ` m-3 "two" "Second." [] 1`, `r3 m-4 "three" "Third." [c1 b pending] 0`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if runs[0].Ignored != 1 || runs[0].SHA256 != runs[2].SHA256 {
		t.Errorf("%d ignored", runs[0].Ignored)
	}
	if run := readAll(t, []byte(`{"previous_response_id":"r2","input":"go on","output":[{"role":"assistant","content":"x"}]}`))[0]; run.Whole() {
		t.Error("a response that goes on from another is taken to be whole")
	}
	for text, want := range map[string]int{
		`[[{"role":"user","content":"a"}],[{"role":"user","content":"b"}],7]`: 2,
		`[{"id":1,"traj":[{"role":"user","content":"a"}]},{"other":1}]`:       1,
		`{"body":{"request":{"messages":[{"role":"user","content":"a"}]}}}`:   1,
		"{}": 1,
		"":   1,
	} {
		if got := readAll(t, []byte(text)); len(got) != want {
			t.Errorf("%s: %d runs, want %d", text, len(got), want)
		}
	}
}

// TestRead_Continued: a log of requests repeats a conversation, or goes on from the
// response before.
func TestRead_Continued(t *testing.T) {
	const (
		ask  = `{"role":"system","content":"s"},{"role":"user","content":"one"}`
		call = `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{}"}}]`
		told = `{"role":"tool","tool_call_id":"c1","content":"x"}`
	)
	for _, tt := range []struct {
		name, text string
		want       []string
		usage      int64
	}{
		{
			"repeated", `{"messages":[` + ask + `],"choices":[{"message":` + call + `,"refusal":null}}],"usage":{"prompt_tokens":1}}` + "\n" +
				`{"messages":[` + ask + "," + call + "}," + told + `],"choices":[{"message":{"role":"assistant","content":"Done."}}],"usage":{"prompt_tokens":2}}`,
			[]string{`[c1 a unknown] "Done."`},
			3,
		},
		{
			"another conversation", `{"messages":[` + ask + `],"choices":[{"message":` + call + `}}]}` + "\n" +
				`{"messages":[` + ask + `,{"role":"user","content":"two"}]}`,
			[]string{`[c1 a pending] ""`, `[] ""`},
			0,
		},
		{"the same twice", `{"id":1,"traj":[` + ask + `]}{"id":2,"traj":[` + ask + `]}`, []string{`[] ""`, `[] ""`}, 0},
		{
			"goes on", `{"request":{"input":"one"},"response":{"id":"r1","output":[{"type":"function_call","call_id":"c1","name":"a","arguments":"{}"}]}}` + "\n" +
				`{"request":{"previous_response_id":"r1","input":[{"type":"function_call_output","call_id":"c1","output":"x"}]},"response":{"id":"r2","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Done."}]}]}}`,
			[]string{`[c1 a unknown] "Done."`},
			0,
		},
	} {
		var got []string
		var usage int64
		for _, run := range readAll(t, []byte(tt.text)) {
			got = append(got, fmt.Sprintf("%v %q", calls(t, run), run.Summary))
			for _, u := range run.Usage {
				usage += u.Total
			}
			if len(run.Gaps) > 0 {
				t.Errorf("%s: gaps %v", tt.name, run.Gaps)
			}
		}
		if !slices.Equal(got, tt.want) || usage != tt.usage {
			t.Errorf("%s: got %q, usage %d, want %q, %d", tt.name, got, usage, tt.want, tt.usage)
		}
	}
}

// TestRead_Flags: where nobody ever sets the flag, its absence says nothing.
func TestRead_Flags(t *testing.T) {
	const use = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"x","input":{}},{"type":"tool_use","id":"b","name":"x","input":{}}]}`
	for _, tt := range []struct{ a, b, want string }{
		{``, ``, "unknown unknown"},
		{`,"is_error":true`, ``, "error ok"},
		{`,"is_error":false`, ``, "ok ok"},
		{`,"is_error":null`, ``, "unknown unknown"},
		{`,"is_error":"no"`, ``, "suspect unknown"},
	} {
		text := use + `{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"` + tt.a +
			`},{"type":"tool_result","tool_use_id":"b","content":"2"` + tt.b + `}]}`
		var kinds []string
		for _, c := range calls(t, readAll(t, []byte(text))[0]) {
			kinds = append(kinds, strings.Fields(c)[2])
		}
		if got := strings.Join(kinds, " "); got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

// TestRead_Items gives the outcome of each kind of item.
func TestRead_Items(t *testing.T) {
	for _, tt := range []struct{ items, want string }{
		{`{"type":"mcp_call","id":"a","name":"x","server_label":"s","status":"in_progress"}`, "a mcp__s__x pending"},
		{`{"type":"mcp_call","id":"a","name":"x","server_label":"s","status":"incomplete"}`, "a mcp__s__x error"},
		{`{"type":"mcp_call","id":"a","server_label":"s"}`, "bad"},
		{`{"type":"function_call","call_id":"a","arguments":"{}"}`, "bad"},
		{`{"type":"web_search_call","id":"a","status":"searching"}`, "a web_search pending"},
		{`{"type":"file_search_call","id":"a","status":"failed","queries":["q"],"results":null}`, "a file_search error"},
		{`{"type":"code_interpreter_call","id":"a","status":"completed","code":"1/0","outputs":[{"type":"logs","logs":"ZeroDivisionError"}]}`, "a code_interpreter unknown"},
		{`{"type":"custom_tool_call","call_id":"a","name":"x","input":"i"},{"type":"custom_tool_call_output","call_id":"a","output":"o"}`, "a x unknown"},
		{`{"type":"function_call","call_id":"a","name":"x","arguments":"{}"},{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"Error: no"}]}`, "a x suspect"},
		{`{"type":"shell_call","call_id":"a"},{"type":"shell_call_output","call_id":"a","output":[{"outcome":{"type":"exit","exit_code":0}}]}`, "a shell ok"},
		{`{"type":"shell_call","call_id":"a"},{"type":"shell_call_output","call_id":"a","output":[{"outcome":{"type":"exit","exit_code":0}},{"outcome":{"type":"timeout"}}]}`, "a shell error"},
		{`{"type":"shell_call","call_id":"a"},{"type":"shell_call_output","call_id":"a","output":[{"outcome":{"type":"exit","exit_code":0}},{}]}`, "a shell unknown"},
		{`{"type":"shell_call","call_id":"a"},{"type":"shell_call_output","call_id":"a","output":[]}`, "a shell unknown"},
		{`{"type":"apply_patch_call","call_id":"a"},{"type":"apply_patch_call_output","call_id":"a","status":"completed"}`, "a apply_patch ok"},
		{`{"type":"apply_patch_call","call_id":"a"},{"type":"apply_patch_call_output","call_id":"a","output":"?"}`, "a apply_patch unknown"},
		{`{"type":"computer_call","call_id":"a"},{"type":"computer_call_output","call_id":"a","output":{}}`, "a computer unknown"},
		{`{"type":"teleport_call","id":"a"}`, "gap"},
		{`{"role":"assistant","content":[{"type":"toolRequest"}]}`, "gap"},
		{`{"role":"user","content":[{"type":"tool-response"}]}`, "gap"},
		{`{"role":"assistant","content":[{"type":"tool_use","id":"a"}]}`, "bad"},
		{`{"role":"user","role":"user","content":"x"}`, "bad"},
		{`7`, "bad"},
		{`{"type":"item_reference","id":"a"}`, "gap"},
		{`{"type":"reasoning","summary":[]},{"type":"unheard"}`, ""},
		{`{"role":"tool","tool_call_id":"a","content":"x","status":"error"}`, "a error alone"},
	} {
		run := readAll(t, []byte(`[{"role":"user","content":"go"},`+tt.items+`]`))[0]
		got := strings.Join(calls(t, run), ", ")
		switch {
		case len(run.BadLines) > 0:
			got += "bad"
		case len(run.Gaps) > 0 && !strings.Contains(got, "alone"):
			got += "gap"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.items, got, tt.want)
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"role":"user","content":"x"}`:                                    true,
		`{"role":"user","content":null}`:                                   true,
		`{"role":"assistant","tool_calls":[]}`:                             true,
		`{"type":"message","role":"assistant","content":[]}`:               true,
		`{"type":"user","role":"user","content":"x"}`:                      false,
		`{"role":"user","parts":[]}`:                                       false,
		`{"role":"user"}`:                                                  false,
		`{"role":"tool","content":"x"}`:                                    true,
		`{"role":"function","name":"f","content":"x"}`:                     true,
		`{"type":"function_call","call_id":"a","name":"x","arguments":""}`: true,
		`{"type":"function_call_output","call_id":"a"}`:                    true,
		`{"type":"tool_call","tool":"x"}`:                                  false,
		`{"messages":[{"role":"user","content":"x"}]}`:                     true,
		`{"messages":[{"type":"user","content":"x"}]}`:                     false,
		`{"messages":[]}`:                                                  false,
		`{}`:                                                               false,
	} {
		v, err := trace.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := IsRecord(v); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if got := IsDocument(v); got != want {
			t.Errorf("document %s: %v", text, got)
		}
		list, err := trace.ParseValue([]byte("[{}," + text + "]"))
		if err != nil {
			t.Fatal(err)
		}
		if got := IsDocument(list); got != want {
			t.Errorf("list of %s: %v", text, got)
		}
	}
}

func TestRead_Cancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for run, err := range Read(ctx, tracetest.Source([]byte("{}"))) {
		if run != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", run, err)
		}
	}
}

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
