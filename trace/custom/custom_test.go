package custom

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"nightaudit/trace"
)

const filter = `
if .event == "start" then {type: "run_start", run: .id, task: .goal}
elif .event == "did" then
  {type: "tool_call", id: .n, tool: .what, args: .with, exit_code: .code, result: .said}
elif .event == "said" then {type: "summary", text}
elif .event == "end" then {type: "run_end"}
else empty end`

func source(text string) trace.Source {
	return trace.Source{Name: "run.log", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
}

func read(t *testing.T, filter, text string) *trace.Run {
	t.Helper()
	f, err := New("mine", filter)
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range f.Read(t.Context(), source(text)) {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return nil
}

func describe(t *testing.T, run *trace.Run) []string {
	t.Helper()
	var out []string
	for i := range run.Calls {
		c := &run.Calls[i]
		args, err := run.Body(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("line %d/%d %s %s %s exit %v %d", c.Pos.Line, c.ResultPos.Line, c.ID, c.Tool, args, c.HasExit, c.ExitCode))
	}
	return out
}

func TestRead(t *testing.T) {
	const text = `{"event":"start","id":"r1","goal":"tidy up"}
{"event":"noise"}

{"event":"did","n":1,"what":"sh","with":{"big":12345678901234567890,"dec":1.10},"code":0,"said":"ok"}
{"event":"did","n":2,"what":"sh","with":{"cmd":"x"},"code":2,"said":"no"}
{"event":"said","text":"All done."}
{"event":"end"}
`
	run := read(t, filter, text)
	want := []string{
		`line 4/4 1 sh {"big":12345678901234567890,"dec":1.10} exit true 0`,
		`line 5/5 2 sh {"cmd":"x"} exit true 2`,
	}
	if got := describe(t, run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.Format != "mine" || run.ID != "r1" || run.Task != "tidy up" || run.Summary != "All done." || run.SummaryPos.Line != 6 || !run.Ended || !run.Whole() {
		t.Errorf("%+v", run)
	}
	if run.SHA256 != sha256.Sum256([]byte(text)) {
		t.Error("the hash is not that of the file")
	}
}

func TestRead_Documents(t *testing.T) {
	for name, text := range map[string]string{
		"a list":         `[{"event":"did","what":"a"},{"event":"did","what":"b"}]`,
		"over lines":     "[\n{\"event\":\"did\",\"what\":\"a\"},\n{\"event\":\"did\",\"what\":\"b\"}\n]\n",
		"an object":      "{\n\"steps\": [{\"event\":\"did\",\"what\":\"a\"},{\"event\":\"did\",\"what\":\"b\"}]}",
		"one line, once": `{"steps": [{"event":"did","what":"a"},{"event":"did","what":"b"}]}`,
	} {
		run := read(t, `(.steps? // .)[] | {type: "tool_call", tool: .what}`, text)
		if len(run.Calls) != 2 || !run.Whole() || run.Calls[1].Tool != "b" {
			t.Errorf("%s: %q, bad lines %v", name, describe(t, run), run.BadLines)
		}
	}
}

// TestRead_Damage: what the filter cannot do with a value costs that value, and
// says so.
func TestRead_Damage(t *testing.T) {
	const good = `{"event":"did","what":"a"}`
	for _, c := range []struct{ name, filter, text, want string }{
		{"it fails", `if .x then error("no x please") else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, "2: the filter fails on it: error: no x please"},
		{"no object", `if .x then [1] else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, "2: the filter makes array of it, no object"},
		{"no JSON", `if .x then {a: nan} else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, ""},
		{"a bad record", `if .x then {type:"tool_call"} else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, "2: a tool_call without a tool"},
		{"a bad line", `{type:"tool_call",tool:"a"}`, good + "\nnonsense\n" + good, "2: "},
		{"for ever", `if .x then repeat({type:"note"}) else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, "2: the filter makes more than 100000 records of it"},
		{"the clock", `if .x then {type:"note",t:now} else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, "2: the filter fails on it: error: now is not available here"},
		{"the environment", `if .x then {type:"tool_call",tool:$ENV.HOME} else {type:"tool_call",tool:"a"} end`, good + "\n{\"x\":1}\n" + good, "2: a tool_call without a tool"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := read(t, c.filter, c.text)
			if len(run.Calls) != 2 || run.Calls[1].Pos.Line != 3 {
				t.Errorf("calls %q", describe(t, run))
			}
			if c.want == "" {
				return
			}
			if len(run.BadLines) != 1 || !strings.HasPrefix(fmt.Sprintf("%d: %s", run.BadLines[0].Line, run.BadLines[0].Reason), c.want) || run.Whole() {
				t.Errorf("bad lines %v, want %q", run.BadLines, c.want)
			}
		})
	}
}

// TestRead_Stops: a filter that never ends is ended with its context.
func TestRead_Stops(t *testing.T) {
	f, err := New("mine", `def f: f; f`)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for run, err := range f.Read(ctx, source(`{"a":1}`)) {
		if run != nil || err == nil {
			t.Errorf("%v, %v", run, err)
		}
	}
}

func TestNew_Faults(t *testing.T) {
	for filter, want := range map[string]string{
		`{type: "x"`:      "the jq filter of mine: unexpected EOF",
		`.a | nonsense`:   "the jq filter of mine: function not defined: nonsense/0",
		`input`:           "the jq filter of mine: input(s)/0 is not allowed",
		`include "x"; .`:  "the jq filter of mine: ",
		`$__loc__ | nope`: "the jq filter of mine: ",
	} {
		if _, err := New("mine", filter); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", filter, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"event":"did","what":"a"}`))
	f.Add([]byte("[{\"event\":\"did\"}\n]"))
	format, err := New("mine", filter)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		src := trace.Source{Name: "x", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
		for run, err := range format.Read(t.Context(), src) {
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.Count(data, []byte("\n")) + 1
			for i := range run.Calls {
				c := &run.Calls[i]
				if c.Pos.Line < 1 || c.Pos.Line > lines {
					t.Fatalf("line %d of %d", c.Pos.Line, lines)
				}
				if _, err := run.Body(c.Record); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}
