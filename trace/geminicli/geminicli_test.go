package geminicli

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
		file, id, task, summary string
		want                    []string
		bad, gaps               int
	}{
		{"session.jsonl", "g-1", "Fix it", "Fixed.", []string{
			"good read_file ok 1", "bad read_file error 1", "exit run_shell_command error 2", "refused run_shell_command denied 2", "open write_file pending 2",
		}, 0, 0},
		{"session.json", "g-2", "Build", "Built.", []string{
			"good run_shell_command ok 1", "exit run_shell_command error 1", "mute run_shell_command unknown 1", "late run_shell_command error 1",
			"off run_shell_command cancelled 1", "back run_shell_command pending 1",
		}, 0, 0},
		{"rewound.jsonl", "g-3", "[summary]", "Done three.", []string{"c1 write_file ok 1", "c2 write_file error", "x pending 1"}, 2, 0},
		{"checkpoint.json", "", "Look", "Seen.", []string{"read_file unknown 1", "read_file error 1", "s run_shell_command error 1", "zz glob unknown alone"}, 0, 1},
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
			if run.ID != tt.id || run.Task != tt.task || run.Summary != tt.summary || len(run.BadLines) != tt.bad || len(run.Gaps) != tt.gaps || !run.NoEndRecords {
				t.Errorf("id %q, task %q, summary %q, bad lines %v, gaps %v", run.ID, run.Task, run.Summary, run.BadLines, run.Gaps)
			}
		})
	}
}

func TestRead_Details(t *testing.T) {
	run := tracetest.File(t, Read, testdata, "session.jsonl")[0]
	if want := []trace.Usage{{Model: "m-1", Prompt: 11, Cached: 4, Completion: 4, Total: 19}}; !slices.Equal(run.Usage, want) || run.Model != "m-1" || run.Started.IsZero() {
		t.Errorf("usage %+v, model %q", run.Usage, run.Model)
	}
	c := run.Calls[0]
	if c.Pos.Line != 5 || c.ResultPos.Line != 6 || c.Start.IsZero() {
		t.Errorf("the call stands at %+v, its end at %+v", c.Pos, c.ResultPos)
	}
	if out, err := outcome.Output(run, &c); err != nil || out != "text" {
		t.Errorf("output %q, %v", out, err)
	}
	if out, err := outcome.Output(run, &run.Calls[1]); err != nil || out != "File not found" {
		t.Errorf("output %q, %v", out, err)
	}
	if !tracetest.File(t, Read, testdata, "rewound.jsonl")[0].Child {
		t.Error("the session of a sub-agent is no child")
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string][2]bool{ // as a record, as a document
		`{"sessionId":"s","projectHash":"h"}`:               {true, false},
		`{"sessionId":"s","messages":[{"type":"gemini"}]}`:  {false, true},
		`{"sessionId":"s","projectHash":"h","messages":[]}`: {true, true},
		`{"sessionId":"s","messages":[{"type":"user"}]}`:    {false, false},
		`{"$set":{}}`:                               {true, false},
		`{"$rewindTo":"a"}`:                         {true, false},
		`{"type":"gemini","id":"a"}`:                {true, false},
		`{"type":"user","id":"a"}`:                  {false, false},
		`[{"role":"user","parts":[]}]`:              {false, true},
		`{"history":[{"role":"model","parts":[]}]}`: {false, true},
		`[{"role":"user","content":""}]`:            {false, false},
		`[]`:                                        {false, false},
	} {
		v, err := trace.ParseValue([]byte(text))
		if err != nil || IsRecord(v) != want[0] || IsDocument(v) != want[1] {
			t.Errorf("%s: %v, %v, %v", text, IsRecord(v), IsDocument(v), err)
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
