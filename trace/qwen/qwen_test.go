package qwen

import (
	"os"
	"slices"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/tracetest"
)

var testdata = os.DirFS("testdata")

func kind(run *trace.Run, c *trace.Call) (string, error) {
	o, err := outcome.Of(run, c)
	return string(o.Kind), err
}

func TestRead_Samples(t *testing.T) {
	for _, tt := range []struct {
		file                             string
		read                             trace.Reader
		id, agent, task, summary, folder string
		calls                            []string
		usage                            trace.Usage
	}{
		{
			"qwen.jsonl", Read, "5e55", "qwen-code 0.15.10", "Fix it and deploy", "All tests pass.", "/w", []string{
				"sh-bad run_shell_command error 1", "rd-bad read_file error 1", "ed-good edit ok",
				"sh-good run_shell_command ok 2", "refused write_file denied 2", "open web_fetch pending",
			}, trace.Usage{Model: "qwen-x", Prompt: 360, Cached: 240, Completion: 60, Total: 660},
		},
		{
			"iflow.jsonl", ReadIFlow, "session-5e56", "iflow 1.0.0", "Set the variable", "It is set.", `C:\w`, []string{
				"rd-good read_file ok", "sh-bad run_shell_command error", "ed-bad replace error",
			}, trace.Usage{Model: "glm-x", Prompt: 20, Completion: 8, Total: 28},
		},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, tt.read, testdata, tt.file)[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.ID != tt.id || run.Agent != tt.agent || run.Task != tt.task || run.Summary != tt.summary || run.Cwd != tt.folder {
				t.Errorf("id %q, agent %q, task %q, summary %q, cwd %q", run.ID, run.Agent, run.Task, run.Summary, run.Cwd)
			}
			if !slices.Equal(run.Usage, []trace.Usage{tt.usage}) {
				t.Errorf("usage %+v", run.Usage)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 || !run.NoEndRecords || run.Started.IsZero() {
				t.Errorf("gaps %v, bad lines %v, run %+v", run.Gaps, run.BadLines, run)
			}
		})
	}
}

func TestRead_Odd(t *testing.T) {
	const call = `{"uuid":"a","sessionId":"s","type":"assistant","message":{"parts":[{"functionCall":{"id":"c","name":"read_file"}}]}}` + "\n"
	say := func(uuid, parent, text string) string {
		return `{"uuid":"` + uuid + `","parentUuid":"` + parent + `","type":"assistant","message":{"parts":[{"text":"` + text + `"}]}}` + "\n"
	}
	result := func(uuid, response, rest string) string {
		return `{"uuid":"` + uuid + `","type":"tool_result","message":{"parts":[{"functionResponse":{"id":"c","name":"read_file","response":` + response + `}}]}` + rest + "}\n"
	}
	for _, tt := range []struct {
		name, text, summary string
		calls               []string
		gaps, bad           int
	}{
		{"a result alone", result("t", `{"error":"no"}`, ""), "", []string{"c read_file error alone"}, 1, 0},
		{"a result twice", call + result("t", `{"output":"x"}`, "") + result("t2", `{"output":"x"}`, ""), "", []string{"c read_file ok"}, 0, 0},
		{"a record twice", call + call + result("t", `{"output":"x"}`, ""), "", []string{"c read_file ok"}, 0, 0},
		{"what is said of another call", call + result("t", `{"output":"x"}`, `,"toolCallResult":{"callId":"d","status":"error"}`), "", []string{"c read_file ok"}, 0, 0},
		{"cancelled", call + result("t", `{"error":"x"}`, `,"toolCallResult":{"callId":"c","status":"cancelled"}`), "", []string{"c read_file cancelled"}, 0, 0},
		{"no name", `{"uuid":"a","type":"assistant","message":{"parts":[{"functionCall":{"id":"c"}}]}}`, "", nil, 0, 1},
		{"a branch that was left", say("1", "", "one") + say("2", "1", "two") + say("3", "1", "three"), "one\n\nthree", nil, 0, 0},
		{"a beginning that is missing", say("1", "0", "one") + say("2", "lost", "two"), "one\n\ntwo", nil, 0, 0},
		{"a ring", say("1", "2", "one") + say("2", "1", "two"), "one\n\ntwo", nil, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := tracetest.Read(t, Read, []byte(tt.text))[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Summary != tt.summary || len(run.Gaps) != tt.gaps || len(run.BadLines) != tt.bad {
				t.Errorf("summary %q, gaps %v, bad lines %v", run.Summary, run.Gaps, run.BadLines)
			}
		})
	}
}

func TestRead_CutAnywhere(t *testing.T) {
	for _, read := range []trace.Reader{Read, ReadIFlow} {
		tracetest.CutAnywhere(t, read, testdata)
	}
}

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }

func FuzzReadIFlow(f *testing.F) { tracetest.Fuzz(f, ReadIFlow, testdata) }
