package miniswe

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
		file, agent, reason string
		calls               []string
		command             string // of the first call
		usage               []trace.Usage
	}{
		{"new.traj.json", "mini-swe-agent 2.1.0", "Submitted", []string{
			"t-bad bash error 1", "t-ok bash ok 1", "t-late bash pending", "t-broken bash error", "t-end bash unknown",
		}, "python a.py", []trace.Usage{{Model: "m-x", Prompt: 500, Completion: 50, Total: 550}}},
		{"old.traj.json", "mini-swe-agent", "", []string{
			"1 bash error", "2 bash ok", "3 bash pending", "4 bash unknown",
		}, "python a.py", nil},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, Read, testdata, tt.file)[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Task != "Fix a.py" || run.Summary != "a.py is fixed." || run.EndReason != tt.reason || run.Ended != (tt.reason != "") || run.NoEndRecords == run.Ended || run.Agent != tt.agent {
				t.Errorf("task %q, summary %q, reason %q, ended %v, agent %q", run.Task, run.Summary, run.EndReason, run.Ended, run.Agent)
			}
			if args, err := run.Value(run.Calls[0].Args); err != nil || args.Get("command").Text() != tt.command {
				t.Errorf("arguments %s, %v", args.Raw(), err)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 || !slices.Equal(run.Usage, tt.usage) {
				t.Errorf("gaps %v, bad lines %v, usage %+v", run.Gaps, run.BadLines, run.Usage)
			}
		})
	}
}

func TestRead_Odd(t *testing.T) {
	const act = `{"role":"user","content":"Go"},{"role":"assistant","content":"","extra":{"actions":[{"command":"x"}]}}`
	for _, tt := range []struct {
		name, text string
		calls      []string
		bad        int
	}{
		{"no code", act + `,{"role":"tool","content":"","extra":{"raw_output":"x"}}`, []string{"1 bash unknown"}, 0},
		{"a code that is none", act + `,{"role":"tool","content":"","extra":{"returncode":"0"}}`, []string{"1 bash unknown"}, 0},
		{"the answer of another", act + `,{"role":"tool","tool_call_id":"z","content":"","extra":{"returncode":0}}`, []string{"1 bash pending"}, 0},
		{"a message that is none", act + `,7`, []string{"1 bash pending"}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := tracetest.Read(t, Read, []byte(`{"trajectory_format":"mini-swe-agent-1.1","messages":[`+tt.text+`]}`))[0]
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
