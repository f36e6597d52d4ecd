package geminicli

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
		file, task, summary string
		calls               []string
		usage               trace.Usage
		ignored             int
	}{
		{
			"session.jsonl", "Fix it and deploy", "All tests pass.", []string{
				"sh-bad run_shell_command error 1", "rd-bad read_file error 1", "ed-good replace ok", "sh-good run_shell_command ok",
				"cancel write_file cancelled", "mute run_shell_command unknown 2", "open web_fetch pending 2",
			}, trace.Usage{Model: "gemini-x", Prompt: 420, Cached: 280, Completion: 70, Total: 770}, 1,
		},
		{
			"session.json", "Build it", "Built.", []string{
				"c-127 run_shell_command error 1", "c-0 run_shell_command ok 1", "c-ro list_directory error",
			}, trace.Usage{Model: "gemini-x", Prompt: 180, Cached: 120, Completion: 30, Total: 330}, 0,
		},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, Read, testdata, tt.file)[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Task != tt.task || run.Summary != tt.summary || !slices.Equal(run.Usage, []trace.Usage{tt.usage}) || run.Ignored != tt.ignored {
				t.Errorf("task %q, summary %q, usage %+v, ignored %d", run.Task, run.Summary, run.Usage, run.Ignored)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 || !run.NoEndRecords || run.ID == "" || run.Model != "gemini-x" || run.Started.IsZero() {
				t.Errorf("gaps %v, bad lines %v, run %+v", run.Gaps, run.BadLines, run)
			}
		})
	}
}

func TestRead_Odd(t *testing.T) {
	const header = `{"sessionId":"s","projectHash":"p"}` + "\n"
	say := func(id, text string) string {
		return `{"id":"` + id + `","type":"gemini","content":"` + text + `"}` + "\n"
	}
	call := func(message, rest string) string {
		return `{"id":"` + message + `","type":"gemini","content":"","toolCalls":[{"id":"c","name":"read_file","args":{},` + rest + "}]}\n"
	}
	for _, tt := range []struct {
		name, text, summary string
		calls               []string
		gaps, bad           int
	}{
		{"a result without its call", header + `{"id":"u","type":"user","content":{"functionResponse":{"id":"c","name":"read_file","response":{"error":"no"}}}}`, "", []string{"c read_file error alone"}, 1, 0},
		{"the same id in a later message", header + call("1", `"status":"error"`) + call("2", `"status":"success"`), "", []string{"c read_file error", "c read_file ok"}, 0, 0},
		{"written again", header + call("1", `"status":"scheduled"`) + call("1", `"status":"error"`), "", []string{"c read_file error"}, 0, 0},
		{"a status that nobody knows", header + call("1", `"status":"new","result":[]`), "", []string{"c read_file unknown"}, 0, 0},
		{"success beside an error", header + call("1", `"status":"success","result":[{"functionResponse":{"response":{"error":"x"}}}]`), "", []string{"c read_file suspect"}, 0, 0},
		{"no status but an output", header + call("1", `"result":[{"functionResponse":{"response":{"output":"x"}}}]`), "", []string{"c read_file ok"}, 0, 0},
		{"no name", header + `{"id":"1","type":"gemini","content":"","toolCalls":[{"id":"c"}]}`, "", nil, 0, 1},
		{"a message that is none", header + `{"$set":{"messages":[7]}}`, "", nil, 0, 1},
		{"rewound", header + say("1", "one") + say("2", "two") + `{"$rewindTo":"2"}`, "one", nil, 0, 0},
		{"rewound to nothing known", header + say("1", "one") + `{"$rewindTo":"9"}`, "", nil, 0, 0},
		{"replaced, and what was called stays", header + call("0", `"status":"error"`) + say("1", "one") + `{"$set":{"messages":[{"id":"3","type":"gemini","content":"three"}]}}`, "three", []string{"c read_file error"}, 0, 0},
		{"two texts", header + say("1", "one") + say("2", "two"), "one\n\ntwo", nil, 0, 0},
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

func TestRead_Child(t *testing.T) {
	run := tracetest.Read(t, Read, []byte(`{"sessionId":"s","projectHash":"p","kind":"subagent"}`))[0]
	if !run.Child {
		t.Error("a sub-agent's session is a run of its own")
	}
}

func TestShellEnd(t *testing.T) {
	for _, tt := range []struct {
		name, output, display string
		want                  End
	}{
		{"new, failed", "Output: no\nExit Code: 2\nProcess Group PGID: 7", "no", End{Known: true, Code: 2}},
		{"new, fine", "Output: ok\nProcess Group PGID: 7", "ok", End{Known: true}},
		{"new, within its mark", "<untrusted_context>\nOutput: no\nExit Code: 2\nProcess Group PGID: 7\n</untrusted_context>", "", End{Known: true, Code: 2}},
		{"the command prints such a line", "Output: a\nExit Code: 1\nProcess Group PGID: 7", "a\nExit Code: 1", End{Known: true}},
		{"the command prints one before the tool's", "Output: Exit Code: 0\nExit Code: 3\nProcess Group PGID: 7", "", End{Known: true, Code: 3}},
		{"old, fine", "Output: (empty)\nError: (none)\nExit Code: 0\nSignal: (none)\nBackground PIDs: (none)\nProcess Group PGID: 7", "", End{Known: true}},
		{"old, failed", "Output: x\nError: (none)\nExit Code: 127\nSignal: 0\nProcess Group PGID: 7", "", End{Known: true, Code: 127}},
		{"old, killed", "Output: x\nError: (none)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 7", "", End{Signalled: true}},
		{"old, nothing known", "Output: x\nError: (none)\nExit Code: (none)\nSignal: (none)\nProcess Group PGID: (none)", "", End{}},
		{"new, killed", "Output: x\nSignal: SIGKILL\nProcess Group PGID: 7", "", End{Signalled: true}},
		{"new, an error of the tool", "Output: x\nError: spawn failed\nProcess Group PGID: 7", "", End{}},
		{"in the background", "Command moved to background (PID: 7). Output hidden.", "", End{Started: true}},
		{"stopped", "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes without output.", "", End{Started: true}},
		{"a summary of the output", "All is well", "", End{}},
		{"nothing", "", "", End{}},
		{"no number", "Output: x\nExit Code: many\nProcess Group PGID: 7", "", End{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ShellEnd(tt.output, tt.display); got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
