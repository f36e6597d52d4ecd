package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nightaudit/trace"
)

// read reads text as one native run.
func read(t *testing.T, text string) *trace.Run {
	t.Helper()
	src := trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
	var runs []*trace.Run
	for run, err := range Read(t.Context(), src) {
		if err != nil {
			t.Fatalf("Read(%.80q): %v", text, err)
		}
		runs = append(runs, run)
	}
	if len(runs) != 1 {
		t.Fatalf("%d runs, want 1", len(runs))
	}
	return runs[0]
}

func body(t *testing.T, run *trace.Run, b trace.Body) string {
	t.Helper()
	raw, err := run.Body(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// show writes a call on one line, with what is set.
func show(t *testing.T, run *trace.Run, c trace.Call) string {
	t.Helper()
	flags := map[trace.Flag]string{trace.FlagTrue: "true", trace.FlagFalse: "false", trace.FlagInvalid: "invalid"}
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+"="+value)
		}
	}
	add("line", fmt.Sprint(c.Pos.Line))
	add("id", string(c.ID))
	add("tool", c.Tool)
	if c.ResultPos.Set() {
		add("ended", fmt.Sprint(c.ResultPos.Line))
	}
	add("ok", flags[c.OK])
	add("isError", flags[c.IsError])
	if c.HasExit {
		add("exit", fmt.Sprint(c.ExitCode))
	}
	add("status", c.Status)
	for name, b := range map[string]trace.Body{"args": c.Args, "result": c.Result, "structured": c.Structured, "error": c.Error, "child": c.Child} {
		add(name, body(t, run, b))
	}
	slices.Sort(parts[1:])
	if c.ResultOnly {
		add("alone", "yes")
	}
	return strings.Join(parts, " ")
}

func calls(t *testing.T, run *trace.Run) []string {
	t.Helper()
	out := []string{}
	for _, c := range run.Calls {
		out = append(out, show(t, run, c))
	}
	return out
}

func badLines(run *trace.Run) []int {
	var out []int
	for _, b := range run.BadLines {
		out = append(out, b.Line)
	}
	return out
}

func TestRead_Calls(t *testing.T) {
	for _, c := range []struct {
		name, text string
		calls      []string
		bad        []int
	}{
		{
			"call and result in one", `{"type":"tool_call","ts":1,"tool":"a","ok":true,"args":{"x":1},"result":"r"}`,
			[]string{`line=1 args={"x":1} ended=1 ok=true result="r" tool=a`},
			nil,
		},
		{
			"failed call", `{"type":"tool_call","tool":"a","ok":false,"error":"boom"}`,
			[]string{`line=1 ended=1 error="boom" ok=false tool=a`},
			nil,
		},
		{
			"exit code ends a call", `{"type":"tool_call","id":"c1","tool":"a","exit_code":2,"status":"completed"}`,
			[]string{`line=1 ended=1 exit=2 id="c1" status=completed tool=a`},
			nil,
		},
		{"nothing ends it", `{"type":"tool_call","id":"c1","tool":"a"}`, []string{`line=1 id="c1" tool=a`}, nil},
		{"a status alone does not end it", `{"type":"tool_call","tool":"a","status":"running"}`, []string{`line=1 status=running tool=a`}, nil},
		{"a flag that is no boolean does not end it", `{"type":"tool_call","tool":"a","ok":"yes"}`, []string{`line=1 ok=invalid tool=a`}, nil},
		{"null does not end it", `{"type":"tool_call","tool":"a","ok":null,"result":null,"error":null,"exit_code":null}`, []string{`line=1 tool=a`}, nil},
		{"an exit code that is no integer", `{"type":"tool_call","tool":"a","ok":true,"exit_code":"1"}`, []string{`line=1 ended=1 ok=true tool=a`}, nil},
		{"an exit code beyond 31 bits", `{"type":"tool_call","tool":"a","exit_code":3221225477}`, []string{`line=1 ended=1 exit=2147483647 tool=a`}, nil},
		{"an exit code that would wrap to 0", `{"type":"tool_call","tool":"a","exit_code":-4294967296}`, []string{`line=1 ended=1 exit=-2147483648 tool=a`}, nil},
		{"name and arguments", `{"type":"tool_call","name":"a","arguments":{"x":1}}`, []string{`line=1 args={"x":1} tool=a`}, nil},
		{"tool goes before name", `{"type":"tool_call","tool":"a","name":"b"}`, []string{`line=1 tool=a`}, nil},
		{"names are exact", `{"type":"tool_call","tool":"a","OK":true,"Result":"r"}`, []string{`line=1 tool=a`}, nil},
		{"child that is no object", `{"type":"tool_call","tool":"a","ok":true,"child":7}`, []string{`line=1 ended=1 ok=true tool=a`}, nil},
		{"child", `{"type":"tool_call","tool":"a","ok":true,"child":{"tool_calls":3}}`, []string{`line=1 child={"tool_calls":3} ended=1 ok=true tool=a`}, nil},
		{"no tool", "{\"type\":\"tool_call\",\"ok\":true}\n{\"type\":\"tool_call\",\"tool\":\"\"}", []string{}, []int{1, 2}},
		{"tool that is no string", `{"type":"tool_call","tool":7}`, []string{}, []int{1}},
		{
			"result of its own", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":false,\"content\":[]}",
			[]string{`line=1 ended=2 id="c1" isError=false result=[] tool=a`},
			nil,
		},
		{
			"is_error", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"is_error\":true}",
			[]string{`line=1 ended=2 id="c1" isError=true tool=a`},
			nil,
		},
		{
			"a result without anything ends its call", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\"}",
			[]string{`line=1 ended=2 id="c1" tool=a`},
			nil,
		},
		{
			"structured content", `{"type":"tool_result","call_id":"c1","structuredContent":{"a":1},"content":[{"type":"text","text":"x"}]}`,
			[]string{`line=1 ended=1 id="c1" result=[{"type":"text","text":"x"}] structured={"a":1} alone=yes`},
			nil,
		},
		{"result without an id", `{"type":"tool_result","isError":false}`, []string{`line=1 ended=1 isError=false alone=yes`}, nil},
		{
			"results behind the summary", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\"}\n{\"type\":\"summary\",\"text\":\"done\"}\n{\"type\":\"run_end\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":true}",
			[]string{`line=1 ended=4 id="c1" isError=true tool=a`},
			nil,
		},
		{
			"result before its call", "{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":true,\"error\":\"e\"}\n{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\",\"status\":\"running\"}",
			[]string{`line=2 ended=1 error="e" id="c1" isError=true tool=a`},
			nil,
		},
		{
			"result before a call that has its own", "{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":true}\n{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\",\"ok\":true}",
			[]string{`line=1 ended=1 id="c1" isError=true alone=yes`, `line=2 ended=2 id="c1" ok=true tool=a`},
			nil,
		},
		{
			"second result of a call", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\",\"ok\":true}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":true}",
			[]string{`line=1 ended=1 id="c1" ok=true tool=a`, `line=2 ended=2 id="c1" isError=true alone=yes`},
			nil,
		},
		{
			"the later call of an id gets the result", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\"}\n{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"b\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":false}",
			[]string{`line=1 id="c1" tool=a`, `line=2 ended=3 id="c1" isError=false tool=b`},
			nil,
		},
		{
			"text and number are two ids", "{\"type\":\"tool_call\",\"id\":1,\"tool\":\"a\"}\n{\"type\":\"tool_call\",\"id\":\"1\",\"tool\":\"b\"}\n{\"type\":\"tool_result\",\"call_id\":1,\"isError\":true}\n{\"type\":\"tool_result\",\"call_id\":\"1\",\"isError\":false}",
			[]string{`line=1 ended=3 id=1 isError=true tool=a`, `line=2 ended=4 id="1" isError=false tool=b`},
			nil,
		},
		{
			"1.0 is 1", "{\"type\":\"tool_call\",\"id\":1,\"tool\":\"a\"}\n{\"type\":\"tool_result\",\"call_id\":1.0,\"isError\":true}",
			[]string{`line=1 ended=2 id=1 isError=true tool=a`},
			nil,
		},
		{
			"an id that is none joins nothing", "{\"type\":\"tool_call\",\"id\":null,\"tool\":\"a\"}\n{\"type\":\"tool_result\",\"call_id\":null,\"isError\":true}",
			[]string{`line=1 tool=a`, `line=2 ended=2 isError=true alone=yes`},
			nil,
		},
		{
			"a late result outranks running", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\",\"status\":\"running\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":false}",
			[]string{`line=1 ended=2 id="c1" isError=false tool=a`},
			nil,
		},
		{
			"a late result keeps denied", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\",\"status\":\"denied\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"isError\":true}",
			[]string{`line=1 ended=2 id="c1" isError=true status=denied tool=a`},
			nil,
		},
		{
			"a result's status goes before", "{\"type\":\"tool_call\",\"id\":\"c1\",\"tool\":\"a\",\"status\":\"started\"}\n{\"type\":\"tool_result\",\"call_id\":\"c1\",\"status\":\"running\"}",
			[]string{`line=1 ended=2 id="c1" status=running tool=a`},
			nil,
		},
		{
			"envelope", `{"ts":1,"schema_sha256":"h","tool":"a","idempotency_key":"k","request":{"x":1},"response":{"status":200}}`,
			[]string{`line=1 args={"x":1} ended=1 result={"status":200} tool=a`},
			nil,
		},
		{"envelope without a response", `{"tool":"a","request":{}}`, []string{`line=1 args={} tool=a`}, nil},
		{"envelope without a tool", `{"response":{"status":200}}`, []string{`line=1 ended=1 result={"status":200}`}, nil},
		{"request and response of a typed call", `{"type":"tool_call","tool":"a","request":{"x":1},"response":{"status":500}}`, []string{`line=1 args={"x":1} ended=1 result={"status":500} tool=a`}, nil},
		{"several on a line", `{"type":"tool_call","tool":"a"}{"type":"tool_call","tool":"b"}`, []string{`line=1 tool=a`, `line=1 tool=b`}, nil},
		{"bad lines in order", "{\"type\":\"tool_call\",\"tool\":\"a\"}\nx\n{\"type\":\"tool_call\"}\ny\n", []string{`line=1 tool=a`}, []int{2, 3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := read(t, c.text)
			if got := calls(t, run); !slices.Equal(got, c.calls) || !slices.Equal(badLines(run), c.bad) {
				t.Errorf("calls %q, bad lines %v; want %q, %v", got, badLines(run), c.calls, c.bad)
			}
		})
	}
}

func TestRead_RunFields(t *testing.T) {
	run := read(t, `{"type":"run_start","ts":1785596400.5,"run":"r1","agent":"ag","model":"m","task":"t","cwd":"/w"}
{"type":"assistant_text","text":"first"}
{"type":"usage","prompt":10,"completion":5,"total":15,"model":"m"}
{"type":"usage","prompt_tokens":1,"completion_tokens":2,"total_tokens":3,"model":"m"}
{"type":"usage","prompt":-7,"total":1.5,"model":"n"}
{"type":"summary","text":"last"}
{"type":"summary","text":""}
{"type":"gap","reason":"compacted"}
{"type":"gap"}
{"type":"claim","claim":"c","must_show":["a"]}
{"type":"claims","claims":[]}
{"type":"action","decision":"d","grounds":[]}
{"type":"run_end","stop_reason":"end_turn"}
{"type":"assistant_text","text":"behind the end"}
{"type":"mystery"}
{"neither":1}
{"type":7}
`)
	if run.ID != "r1" || run.Agent != "ag" || run.Model != "m" || run.Task != "t" || run.Cwd != "/w" || !run.Started.Equal(time.Unix(1785596400, 500_000_000)) {
		t.Errorf("start: %+v", run)
	}
	if run.Summary != "last" || run.SummaryPos.Line != 6 || !run.Ended || run.EndReason != "end_turn" || run.NoEndRecords {
		t.Errorf("summary %q on line %d, ended %v %q", run.Summary, run.SummaryPos.Line, run.Ended, run.EndReason)
	}
	want := []trace.Usage{{Model: "m", Prompt: 11, Completion: 7, Total: 18}, {Model: "n"}}
	if !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v, want %+v", run.Usage, want)
	}
	if len(run.Gaps) != 2 || run.Gaps[0].Reason != "compacted" || run.Gaps[0].Pos.Line != 8 || run.Gaps[1].Reason == "" || run.Whole() {
		t.Errorf("gaps %+v", run.Gaps)
	}
	if len(run.Statements) != 3 || run.Statements[0].Action || run.Statements[1].Action || !run.Statements[2].Action || run.Statements[2].Pos.Line != 12 {
		t.Errorf("statements %+v", run.Statements)
	}
	if run.Records != 17 || run.Ignored != 3 || len(run.BadLines) > 0 {
		t.Errorf("%d records, %d ignored, bad lines %v", run.Records, run.Ignored, run.BadLines)
	}
}

func TestRead_CallFields(t *testing.T) {
	run := read(t, `{"type":"tool_call","tool":"a","parent":"p","batch":7,"cwd":"/w","ts":"2026-08-01T12:00:00+02:00","ok":true}`)
	c := run.Calls[0]
	if c.Parent != `"p"` || c.Batch != "7" || c.Cwd != "/w" || !c.Start.Equal(time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", c)
	}
	if got := body(t, run, c.Record); !strings.HasPrefix(got, `{"type"`) || !strings.HasSuffix(got, `true}`) {
		t.Errorf("record %s", got)
	}
}

func TestRead_Timestamps(t *testing.T) {
	for text, want := range map[string]time.Time{
		`1785596400`:                       time.Unix(1785596400, 0),
		`1785596400.25`:                    time.Unix(1785596400, 250_000_000),
		`0`:                                time.Unix(0, 0),
		`-1.5`:                             time.Unix(-2, 500_000_000),
		`"2026-08-01T10:00:00Z"`:           time.Date(2026, 8, 1, 10, 0, 0, 0, time.UTC),
		`"2026-08-01T10:00:00.125-01:00"`:  time.Date(2026, 8, 1, 11, 0, 0, 125_000_000, time.UTC),
		`"2026-08-01"`:                     {},
		`"1785596400"`:                     {},
		`1785596400000`:                    {}, // milliseconds: no time of ours
		`1e300`:                            {},
		`null`:                             {},
		`true`:                             {},
		`{"seconds":1}`:                    {},
		`"2026-13-01T10:00:00Z"`:           {},
		`"2026-08-01T10:00:00"`:            {},
		`"2026-08-01T10:00:00Z and more…"`: {},
	} {
		run := read(t, `{"type":"tool_call","tool":"a","ts":`+text+`}`)
		if got := run.Calls[0].Start; !got.Equal(want) {
			t.Errorf("ts %s is %v, want %v", text, got, want)
		}
	}
}

func TestRead_Errors(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"{}\n", "{\n}\n"} {
		src := trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: bytes.NewReader([]byte(text))}
		for run, err := range Read(ctx, src) {
			if run != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%q: run %v, %v", text, run, err)
			}
		}
	}
}

// TestRead_NothingKnown: a file of other records is no run without calls.
func TestRead_NothingKnown(t *testing.T) {
	for text, whole := range map[string]bool{
		"{\"type\":\"a\"}\n{\"b\":1}\n":                       false,
		"{\"type\":\"a\"}\n{\"type\":\"run_end\"}\n":          true,
		"{\"type\":\"a\"}\n{\"type\":\"tool_call\"}\n":        false,
		"{\"type\":\"a\"}\n{\"type\":\"summary\",\"text\":1}": true,
		"": true,
	} {
		if run := read(t, text); run.Whole() != whole {
			t.Errorf("%q: whole %v, gaps %v", text, run.Whole(), run.Gaps)
		}
	}
}
