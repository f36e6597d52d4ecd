package openclaw

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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
		want [][]string
	}{
		{"ids.jsonl", [][]string{{"good read ok", "bad write error", "blind exec unknown", "open notify pending"}}},
		{"snapshots.jsonl", [][]string{
			{"early ok alone"},
			{"e1 exec ok", "e2 exec error", "read unknown", "read unknown", "p poll pending"},
			{"sessions_spawn ok", "sessions_spawn ok", "grep ok"},
		}},
	} {
		var got [][]string
		for _, run := range tracetest.File(t, Read, testdata, tt.file) {
			got = append(got, calls(t, run))
		}
		if !slices.EqualFunc(got, tt.want, slices.Equal) {
			t.Errorf("%s: got  %q\nwant %q", tt.file, got, tt.want)
		}
	}
}

func TestRead_Runs(t *testing.T) {
	var got []string
	for _, run := range tracetest.File(t, Read, testdata, "snapshots.jsonl") {
		got = append(got, fmt.Sprintf("%q %q %s %v %q gaps %d bad %d", run.Task, run.Summary, run.Model, run.Ended, run.EndReason, len(run.Gaps), len(run.BadLines)))
	}
	want := []string{
		`"" ""  false "" gaps 1 bad 0`,
		`"Test it" "Tests pass." m-1 true "completed" gaps 0 bad 0`,
		`"Look around" "Found it."  true "failed" gaps 0 bad 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	run := tracetest.File(t, Read, testdata, "snapshots.jsonl")[2]
	if run.Calls[0].Delegates || !run.Calls[1].Delegates || run.ID != "agent:main:main" {
		t.Errorf("%+v", run.Calls)
	}
	run = tracetest.File(t, Read, testdata, "ids.jsonl")[0]
	if run.Summary != "Deployed." || run.Started.IsZero() || run.Calls[0].Start.IsZero() || run.Ended || run.Records != 9 {
		t.Errorf("%+v", run)
	}
}

// TestRead_Parallel: ends without an id belong to starts in their order, where that
// can be told.
func TestRead_Parallel(t *testing.T) {
	start := `{"type":"tool.start","toolName":"x","sessionKey":"s","agentId":"a"}`
	end := func(success string) string {
		return `{"type":"tool.end","toolName":"x","success":` + success + `,"sessionKey":"s","agentId":"a"}`
	}
	for text, want := range map[string][]string{
		start + end("true") + start + end("false"):        {"x ok", "x error"},
		start + start + end("true") + end("true"):         {"x ok", "x ok"},
		start + start + end("false") + end("false"):       {"x error", "x error"},
		start + start + end("true") + end("false"):        {"x unknown", "x unknown"},
		start + start + end("true"):                       {"x unknown", "x pending"},
		start + start + end("true") + start + end("true"): {"x unknown", "x unknown", "x pending"},
		start + end("true") + end("true"):                 {"x ok", "ok alone"},
		start + end("null"):                               {"x unknown"},
		start + end(`"yes"`):                              {"x suspect"},
	} {
		got := calls(t, tracetest.Read(t, Read, []byte(text))[0])
		for i := range got {
			got[i] = noTool(got[i])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func noTool(s string) string {
	if s == "x ok alone" {
		return "ok alone"
	}
	return s
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"tool.start","toolName":"x"}`:                true,
		`{"type":"agent.end","sessionKey":"s","agentId":"a"}`: true,
		`{"type":"message.out","channel":"c","content":"x"}`:  true,
		`{"type":"tool.start"}`:                               false,
		`{"type":"message","channel":"c","content":"x"}`:      false,
		`{}`: false,
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
