package otlp

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/tracetest"
)

var testdata = os.DirFS("testdata")

func calls(t *testing.T, run *trace.Run) []string {
	t.Helper()
	return tracetest.Calls(t, run, func(run *trace.Run, c *trace.Call) (string, error) {
		o, err := outcome.Of(run, c)
		return string(o.Kind), err
	})
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		file string
		want [][]string // the id of each run, and its calls
	}{
		{"spans.jsonl", [][]string{{"conv-1", "good read ok 1", "mute lookup unknown 1", "bad bash error", "open deploy pending"}}},
		{"claude-spans.json", [][]string{{
			"s-1", "bad Bash error", "good Read ok", "refused Bash denied", "inner Bash error", "agent Agent ok", "lost Edit unknown",
		}}},
		{"gemini-spans.jsonl", [][]string{
			{
				"gem", "g-g1 run_shell_command error", "g-g2 run_shell_command ok", "g-g3 read_file error", "g-g4 read_file ok",
				"g-g5 read_file cancelled", "g-g6 run_shell_command unknown", "g-g7 nosuch error",
			},
			{"gem2"},
		}},
		{"events.jsonl", [][]string{
			{"cl", "c1 Bash error", "c2 Edit denied", "c3 Bash ok", "c4 Bash pending", "c5 Bash pending"},
			{
				"cx", "x1 exec_command error", "x2 exec_command error", "x3 write_stdin error", "x4 update_plan ok", "x5 exec_command error",
				"x6 exec_command unknown", "x7 mcp__fs__read ok", "x8 exec_command denied",
			},
			{"gm", "run_shell_command error", "read_file ok", "read_file error", "write_file denied"},
		}},
		{"conventions.jsonl", [][]string{
			{"", "calc ok", "calc error", "calc unknown", "calc error", "o-c calc2 suspect"},
			{"", "p-c find ok", "list error"},
			{"", "q x ok"},
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			var got [][]string
			for _, run := range tracetest.File(t, Read, testdata, tt.file) {
				got = append(got, append([]string{run.ID}, calls(t, run)...))
				if len(run.BadLines) > 0 || !run.NoEndRecords {
					t.Errorf("bad lines %v", run.BadLines)
				}
			}
			if !slices.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestRead_Talk(t *testing.T) {
	for _, tt := range []struct {
		file                         string
		run                          int
		task, summary, agent, reason string
		usage                        trace.Usage
	}{
		{"spans.jsonl", 0, "Do it", "All done.", "bot", "", trace.Usage{Model: "m-1", Prompt: 10, Completion: 2, Total: 12}},
		{"claude-spans.json", 0, "", "", "claude-code", "validation", trace.Usage{Model: "m-1", Prompt: 12, Cached: 7, Completion: 5, Total: 24}},
		{"gemini-spans.jsonl", 0, "Go", "Fixed.", "bot", "", trace.Usage{}},
		{"gemini-spans.jsonl", 1, "", "", "bot", "cannot be read", trace.Usage{}},
		{"events.jsonl", 0, "Fix", "", "claude-code 1", "validation", trace.Usage{Model: "m-c", Prompt: 3, Completion: 4, Total: 7}},
		{"events.jsonl", 1, "Run", "", "bot 1", "", trace.Usage{Prompt: 6, Cached: 4, Completion: 2, Total: 12}},
		{"events.jsonl", 2, "Go", "", "bot 1", "", trace.Usage{Model: "m-g", Prompt: 4, Cached: 1, Completion: 1, Total: 6}},
		{"conventions.jsonl", 0, "Calc", "It is 2.", "bot", "", trace.Usage{}},
		{"conventions.jsonl", 2, "", "Logged.", "", "", trace.Usage{}},
	} {
		run := tracetest.File(t, Read, testdata, tt.file)[tt.run]
		if run.Task != tt.task || run.Summary != tt.summary || run.Agent != tt.agent {
			t.Errorf("%s %d: task %q, summary %q, agent %q", tt.file, tt.run, run.Task, run.Summary, run.Agent)
		}
		if whole := len(run.Gaps) == 0; whole != (tt.reason == "") || !whole && !strings.Contains(run.Gaps[0].Reason, tt.reason) {
			t.Errorf("%s %d: gaps %v", tt.file, tt.run, run.Gaps)
		}
		var usage trace.Usage
		if len(run.Usage) > 0 {
			usage = run.Usage[0]
		}
		if usage != tt.usage {
			t.Errorf("%s %d: usage %+v", tt.file, tt.run, usage)
		}
	}
}

// TestRead_Bodies reads what is spilled, and what stands in the file itself.
func TestRead_Bodies(t *testing.T) {
	for _, tt := range []struct {
		file      string
		run, call int
		args, out string
	}{
		{"spans.jsonl", 0, 0, `{"path":"\u00e9"}`, "text"},
		{"spans.jsonl", 0, 1, `{"key":1}`, "42"},
		{"claude-spans.json", 0, 0, `{"command":"make"}`, "Shell command failed"},
		{"claude-spans.json", 0, 1, `{"file_path":"/w/a"}`, "text"},
		{"events.jsonl", 0, 2, `{"command":"ls"}`, ""},
		{"events.jsonl", 1, 0, `{"cmd":"make"}`, "Wall time: 1 seconds\nProcess exited with code 2\nOutput:\nno"},
		{"conventions.jsonl", 1, 1, `{"path":"a","n":[1,true]}`, "tool_error"},
		{"conventions.jsonl", 0, 3, "", "boom"},
		{"gemini-spans.jsonl", 0, 2, `{"command":"make"}`, "File not found"},
	} {
		run := tracetest.File(t, Read, testdata, tt.file)[tt.run]
		c := &run.Calls[tt.call]
		args, err := run.Body(c.Args)
		if err != nil || string(args) != tt.args {
			t.Errorf("%s: arguments %s, %v, want %s", tt.file, args, err, tt.args)
		}
		if out, err := outcome.Output(run, c); err != nil || out != tt.out {
			t.Errorf("%s: output %q, %v, want %q", tt.file, out, err, tt.out)
		}
	}
	run := tracetest.File(t, Read, testdata, "claude-spans.json")[0]
	if run.Calls[3].Parent.String() != "agent" || run.Calls[4].Delegates || run.Calls[0].Start.IsZero() || run.Started.IsZero() {
		t.Errorf("%+v", run.Calls[3])
	}
}

// TestRead_Calls tries what a single record says.
func TestRead_Calls(t *testing.T) {
	span := func(rest string) string {
		return `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","endTimeUnixNano":"1796000001000000000",` + rest + `}]}]}]}`
	}
	tool := func(rest string) string {
		return span(`"name":"execute_tool x","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}}]` + rest)
	}
	for text, want := range map[string]string{
		tool(``):                       "x ok",
		tool(`,"status":{}`):           "x ok",
		tool(`,"status":{"code":"2"}`): "x error",
		tool(`,"status":{"code":"STATUS_CODE_ERROR"}`):                                                                         "x error",
		tool(`,"events":[{"name":"exception","attributes":[]}],"status":{"code":2}`):                                           "x error",
		tool(`,"endTimeUnixNano":"0"`):                                                                                         "x pending",
		span(`"name":"execute_tool y"`):                                                                                        "y ok",
		span(`"name":"tools/call z","attributes":[{"key":"mcp.method.name","value":{"stringValue":"tools/call"}}]`):            "z ok",
		span(`"name":"ai.toolCall","attributes":[{"key":"ai.toolCall.name","value":{"stringValue":"v"}}],"status":{"code":2}`): "v error",
		span(`"name":"t.tool","attributes":[{"key":"traceloop.span.kind","value":{"stringValue":"tool"}},{"key":"traceloop.entity.name","value":{"stringValue":"w"}}]`): "w ok",
		span(`"name":"running tool","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"u"}}]`):                                                             "u ok",
		span(`"name":"GET /"`): "",
		span(`"name":"a","attributes":[{"key":"span.type"},{"key":7},{"value":{}}]`): "",
		span(`"name":7,"attributes":{"a":1},"events":7,"status":7`):                  "",
		`{"resourceSpans":[7,{"scopeSpans":7},{"scopeSpans":[{"spans":[7,null]}]}]}`: "",
		`{"resourceLogs":[{"scopeLogs":[{"logRecords":[7,{"attributes":[]}]}]}]}`:    "",
		`[{"resourceSpans":[]},{"other":1}]`:                                         "",
		"":                                                                           "",
	} {
		text = strings.ReplaceAll(text, `"endTimeUnixNano":"1796000001000000000","name":"execute_tool x","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"execute_tool"}}],"endTimeUnixNano":"0"`,
			`"endTimeUnixNano":"0","name":"execute_tool x"`)
		runs := tracetest.Read(t, Read, []byte(text))
		if got := strings.Join(calls(t, runs[0]), ", "); got != want || len(runs) > 1 {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestRead_Nesting: values that nest deeper than anybody's cost no more than their
// bytes.
func TestRead_Nesting(t *testing.T) {
	deep := strings.Repeat(`{"kvlistValue":{"values":[{"key":"k","value":`, 200) + `{"stringValue":"x"}` + strings.Repeat(`}]}}`, 200)
	text := `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","name":"execute_tool x","attributes":[{"key":"gen_ai.tool.call.arguments","value":` + deep + `}]}]}]}]}`
	run := tracetest.Read(t, Read, []byte(text))[0]
	if len(run.Calls) != 1 || !run.Calls[0].Args.Present() {
		t.Errorf("%+v", run)
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"resourceSpans":[]}`: true, `{"resource_logs":[]}`: true, `{"resourceMetrics":[]}`: true, `[{"resourceSpans":[]}]`: true,
		`{"batches":[{"resource":{},"scopeSpans":[]}]}`: true, `{"batches":[1]}`: false, `{"resourceSpans":1}`: false, `[]`: false, `{}`: false,
	} {
		v, err := trace.ParseValue([]byte(text))
		if err != nil || IsDocument(v) != want {
			t.Errorf("%s: %v, %v", text, IsDocument(v), err)
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
