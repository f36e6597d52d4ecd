package pi

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

func TestRead_Sample(t *testing.T) {
	run := tracetest.File(t, Read, testdata, "session.jsonl")[0]
	want := []string{"sh-bad bash error 1", "rd-bad read error 1", "ed-good edit ok", "sh-good bash ok 2", "late bash error 2", "open bash pending"}
	if got := tracetest.Calls(t, run, kind); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c := run.Calls[0]; !c.HasExit || c.ExitCode != 1 {
		t.Errorf("exit code %v %d", c.HasExit, c.ExitCode)
	}
	if run.Task != "Fix it and deploy" || run.Summary != "All tests pass." || run.ID != "5e55" || run.Cwd != "/w" || run.EndReason != "stop" {
		t.Errorf("%+v", run)
	}
	if u := (trace.Usage{Model: "m-x", Prompt: 390, Cached: 240, Completion: 60, Total: 690}); !slices.Equal(run.Usage, []trace.Usage{u}) {
		t.Errorf("usage %+v", run.Usage)
	}
	if len(run.Gaps)+len(run.BadLines) > 0 || !run.NoEndRecords || run.Started.IsZero() || run.Ignored != 2 {
		t.Errorf("gaps %v, bad lines %v, run %+v", run.Gaps, run.BadLines, run)
	}
}

func TestRead_Odd(t *testing.T) {
	const call = `{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash"}]}}` + "\n"
	result := func(rest string) string {
		return `{"type":"message","message":{"role":"toolResult","toolCallId":"c","toolName":"bash"` + rest + "}}\n"
	}
	for _, tt := range []struct {
		name, text, summary string
		calls               []string
		gaps, bad           int
	}{
		{"a result alone", result(`,"isError":true`), "", []string{"c bash error alone"}, 1, 0},
		{"no flag", call + result(`,"content":[]`), "", []string{"c bash unknown"}, 0, 0},
		{"a flag that is none", call + result(`,"isError":"no"`), "", []string{"c bash suspect"}, 0, 0},
		{"a flag beats a code of 0", call + result(`,"isError":true,"content":[{"type":"text","text":"Command exited with code 0"}]`), "", []string{"c bash error"}, 0, 0},
		{"a code that the command printed", call + result(`,"isError":false,"content":[{"type":"text","text":"Command exited with code 1"}]`), "", []string{"c bash ok"}, 0, 0},
		{"no name", `{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","id":"c"}]}}`, "", nil, 0, 1},
		{"a line of the first version", `{"type":"message","message":{"role":"assistant","content":"Done."}}`, "Done.", nil, 0, 0},
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

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
