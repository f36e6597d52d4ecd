package qwen

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/tracetest"
)

var testdata = os.DirFS("testdata")

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		file, task, summary string
		want                []string
		bad, gaps           int
	}{
		{"session.jsonl", "Fix it", "All tests pass.", []string{
			"good read_file ok 1", "exit run_shell_command error 1", "bad edit error 2", "refused run_shell_command denied 2", "open write_file pending 2",
		}, 0, 0},
		{"odd.jsonl", "Before", "Said instead.", []string{
			"t task ok 1", "t2 task error 1", "m glob unknown 1", "s run_shell_command unknown 1", "s2 run_shell_command error 1",
			"s3 run_shell_command pending 1", "o glob cancelled 1", "nobody unknown alone",
		}, 1, 1},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, Read, testdata, tt.file)[0]
			got := tracetest.Calls(t, run, func(run *trace.Run, c *trace.Call) (string, error) {
				o, err := outcome.Of(run, c)
				return string(o.Kind), err
			})
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if run.Task != tt.task || run.Summary != tt.summary || len(run.BadLines) != tt.bad || len(run.Gaps) != tt.gaps || !run.NoEndRecords {
				t.Errorf("task %q, summary %q, bad lines %v, gaps %v", run.Task, run.Summary, run.BadLines, run.Gaps)
			}
		})
	}
}

func TestRead_Details(t *testing.T) {
	run := tracetest.File(t, Read, testdata, "session.jsonl")[0]
	if want := []trace.Usage{{Model: "m-1", Prompt: 6, Cached: 4, Completion: 3, Total: 13}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if run.ID != "q-1" || run.Agent != "qwen-code 0.15.10" || run.Model != "m-1" || run.Cwd != "/w" || run.Started.IsZero() {
		t.Errorf("%+v", run)
	}
	run = tracetest.File(t, Read, testdata, "odd.jsonl")[0]
	if !run.Calls[0].Delegates || run.Calls[2].Delegates {
		t.Error("the call that starts a sub-agent is not marked, or another is")
	}
}

func TestIsRecord(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"user","sessionId":"s","uuid":"u","message":{"parts":[]}}`:      true,
		`{"type":"system","sessionId":"s","uuid":"u","systemPayload":{}}`:        true,
		`{"type":"user","sessionId":"s","uuid":"u","message":{"content":"x"}}`:   false,
		`{"type":"system","sessionId":"s","uuid":"u","subtype":"turn_duration"}`: false,
		`{"type":"user","message":{"parts":[]}}`:                                 false,
		`{"type":"progress","sessionId":"s","uuid":"u"}`:                         false,
	} {
		v, err := trace.ParseValue([]byte(text))
		if err != nil || IsRecord(v) != want {
			t.Errorf("%s: %v, %v", text, IsRecord(v), err)
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
