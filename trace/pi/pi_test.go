package pi

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
		file, task, summary, reason string
		want                        []string
		bad, gaps                   int
	}{
		{"session.jsonl", "Fix it", "All tests pass.", "stop", []string{
			"good read ok 1", "exit bash error 1", "bad edit error 2", "mute exec unknown 2", "open write pending 2",
		}, 0, 0},
		{"odd.jsonl", "Deploy", "Deployed.", "length", []string{
			"1 exec error 1", "2 exec ok 1", "3 exec pending 1", "4 bash error 1", "5 ask unknown 1", "9 lost error alone",
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
			if run.Task != tt.task || run.Summary != tt.summary || run.EndReason != tt.reason || len(run.BadLines) != tt.bad || len(run.Gaps) != tt.gaps || !run.NoEndRecords {
				t.Errorf("task %q, summary %q, end %q, bad lines %v, gaps %v", run.Task, run.Summary, run.EndReason, run.BadLines, run.Gaps)
			}
		})
	}
}

func TestRead_Details(t *testing.T) {
	run := tracetest.File(t, Read, testdata, "session.jsonl")[0]
	if want := []trace.Usage{{Model: "m-1", Prompt: 11, Cached: 5, Completion: 2, Total: 18}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if run.ID != "p-1" || run.Model != "m-1" || run.Cwd != "/w" || run.Started.IsZero() || run.Calls[0].Start.IsZero() {
		t.Errorf("%+v", run)
	}
	if c := run.Calls[1]; !c.HasExit || c.ExitCode != 2 {
		t.Errorf("exit code %v, %d", c.HasExit, c.ExitCode)
	}
}

func TestIsRecord(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"session","version":3,"id":"a","cwd":"/"}`:                     true,
		`{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}`: true,
		`{"type":"model_change","parentId":null,"modelId":"m"}`:                 true,
		`{"type":"session","id":"a"}`:                                           false,
		`{"type":"message","role":"user","content":[]}`:                         false,
		`{"type":"compaction"}`:                                                 false,
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
