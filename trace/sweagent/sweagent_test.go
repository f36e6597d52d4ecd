package sweagent

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
		file, summary, reason string
		calls                 []string
	}{
		{"trajectory.traj", "The bug is fixed.", "submitted", []string{
			"1 find_file unknown", "2 bash unknown", "3 edit unknown", "4 bash pending", "5 bash denied", "6 bash error", "7 submit unknown",
		}},
		{"history.traj", "", "", []string{"1 bash unknown", "2 bash pending"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, Read, testdata, tt.file)[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Task != "Fix a.py" || run.Summary != tt.summary || run.EndReason != tt.reason || run.Ended != (tt.reason != "") || run.NoEndRecords == run.Ended {
				t.Errorf("task %q, summary %q, reason %q, ended %v", run.Task, run.Summary, run.EndReason, run.Ended)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 {
				t.Errorf("gaps %v, bad lines %v", run.Gaps, run.BadLines)
			}
		})
	}
	run := tracetest.File(t, Read, testdata, "trajectory.traj")[0]
	if u := (trace.Usage{Prompt: 100, Completion: 10, Total: 110}); !slices.Equal(run.Usage, []trace.Usage{u}) {
		t.Errorf("usage %+v", run.Usage)
	}
	if run.Calls[0].Cwd != "" || run.Calls[1].Cwd != "/repo" || run.Calls[2].Cwd != "/repo" {
		t.Errorf("folders %q, %q, %q", run.Calls[0].Cwd, run.Calls[1].Cwd, run.Calls[2].Cwd)
	}
}

func TestRead_Odd(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		calls      []string
		bad        int
	}{
		{"a step that is none", `{"trajectory":[{"action":"ls","observation":"","thought":""},7],"history":[],"info":{}}`, []string{"1 bash unknown"}, 1},
		{"no steps", `{"trajectory":[],"history":[],"info":{}}`, nil, 0},
		{"something else", `{"a":1}`, nil, 0},
		{"its time was up", `{"trajectory":[{"action":"x","observation":"The command 'x' was cancelled because it took more than 30 seconds.","thought":""}]}`, []string{"1 bash pending"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := tracetest.Read(t, Read, []byte(tt.text))[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if len(run.BadLines) != tt.bad {
				t.Errorf("bad lines %v", run.BadLines)
			}
		})
	}
}

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
