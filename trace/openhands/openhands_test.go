package openhands

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
		file              string
		run               int
		id, task, summary string
		ended             bool
		reason            string
		calls             []string
	}{
		{"events.json", 0, "", "Fix it and deploy", "All is deployed.", true, "finish", []string{
			"11 execute_bash error", "13 str_replace_editor ok", "15 edit error", "17 edit ok", "19 execute_bash error", "21 execute_bash error",
			"23 execute_bash denied", "25 browse unknown", "27 lookup error", "29 execute_bash pending",
		}},
		{"output.jsonl", 0, "one", "Fix one", "One is fixed.", true, "finish", []string{"101 execute_bash error", "103 execute_bash ok"}},
		{"output.jsonl", 1, "two", "Fix two", "", false, "error", []string{"201 execute_bash ok", "203 think ok", "205 write error"}},
		{"v1.jsonl", 0, "", "Fix it", "It is fixed.", true, "finish", []string{
			"bad terminal error 1", "seen file_editor ok 1", "late terminal pending", "shut terminal denied", "odd lookup error",
			"good terminal ok", "open terminal pending",
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, Read, testdata, tt.file)[tt.run]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.ID != tt.id || run.Task != tt.task || run.Summary != tt.summary || run.Ended != tt.ended || run.EndReason != tt.reason {
				t.Errorf("id %q, task %q, summary %q, ended %v, reason %q", run.ID, run.Task, run.Summary, run.Ended, run.EndReason)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 || !run.NoEndRecords || run.Started.IsZero() {
				t.Errorf("gaps %v, bad lines %v, run %+v", run.Gaps, run.BadLines, run)
			}
		})
	}
}

func TestRead_Details(t *testing.T) {
	run := tracetest.File(t, Read, testdata, "events.json")[0]
	if u := (trace.Usage{Model: "m-x", Prompt: 120, Cached: 80, Completion: 20, Total: 220}); !slices.Equal(run.Usage, []trace.Usage{u}) {
		t.Errorf("usage %+v", run.Usage)
	}
	args, err := run.Value(run.Calls[1].Args)
	if err != nil || args.Get("command").Text() != "view" {
		t.Errorf("arguments %s, %v", args.Raw(), err)
	}
	if c := run.Calls[4]; !c.HasExit || c.ExitCode != 130 || c.Cwd != "/w" {
		t.Errorf("the command that was interrupted: %+v", c)
	}
	out := tracetest.File(t, Read, testdata, "output.jsonl")
	if len(out) != 2 || out[0].Agent != "openhands CodeActAgent" || out[0].Model != "m-x" {
		t.Errorf("%d runs, %+v", len(out), out[0])
	}
}

func TestRead_Odd(t *testing.T) {
	const run = `{"id":1,"source":"agent","action":"run","args":{"command":"make"}}` + "\n"
	end := func(rest string) string {
		return `{"id":2,"cause":1,"observation":"run","content":"x",` + rest + "}\n"
	}
	for _, tt := range []struct {
		name, text, summary string
		calls               []string
		gaps, bad           int
	}{
		{"an exit code of old", run + end(`"extras":{"command_id":7,"exit_code":3}`), "", []string{"1 execute_bash error"}, 0, 0},
		{"an exit code of older", run + end(`"exit_code":3`), "", []string{"1 execute_bash error"}, 0, 0},
		{"nothing tells", run + end(`"extras":{}`), "", []string{"1 execute_bash unknown"}, 0, 0},
		{"a code beats success", run + end(`"success":true,"extras":{"exit_code":1}`), "", []string{"1 execute_bash error"}, 0, 0},
		{"a result alone", end(`"extras":{"exit_code":0}`), "", []string{"1 execute_bash ok alone"}, 1, 0},
		{"an error of the model", `{"id":2,"observation":"error","content":"x","extras":{}}`, "", nil, 0, 0},
		{"a list with what is no event", `[7,{"id":1,"id":2}]`, "", nil, 0, 2},
		{"no tool", `{"kind":"ActionEvent","tool_call_id":"c"}`, "", nil, 0, 1},
		{"a message after the end", `{"source":"agent","action":"finish","args":{"thought":"Done."}}` + "\n" + `{"source":"user","action":"message","args":{"content":"More"}}`, "Done.", nil, 0, 0},
		{"a flag that is none", run + end(`"success":"yes","extras":{}`), "", []string{"1 execute_bash unknown"}, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := tracetest.Read(t, Read, []byte(tt.text))[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Summary != tt.summary || len(run.Gaps) != tt.gaps || len(run.BadLines) != tt.bad {
				t.Errorf("summary %q, gaps %v, bad lines %v", run.Summary, run.Gaps, run.BadLines)
			}
			if run.Ended {
				t.Error("it has ended")
			}
		})
	}
}

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
