package codexexec

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightaudit/trace"
)

func source(data []byte) trace.Source {
	return trace.Source{Name: "out.jsonl", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

func readAll(t *testing.T, data []byte) []*trace.Run {
	t.Helper()
	var runs []*trace.Run
	for run, err := range Read(t.Context(), source(data)) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Calls {
			c := &run.Calls[i]
			for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record} {
				if raw, err := run.Body(b); err != nil || b.Present() && !json.Valid(raw) {
					t.Errorf("a body of call %s is %q, %v", c.ID, raw, err)
				}
			}
		}
		runs = append(runs, run)
	}
	return runs
}

// shown is the calls in short.
func shown(run *trace.Run) []string {
	var out []string
	for _, c := range run.Calls {
		s := c.ID.String() + " " + c.Tool
		switch c.IsError {
		case trace.FlagTrue:
			s += " error"
		case trace.FlagFalse:
			s += " fine"
		case trace.FlagAbsent, trace.FlagInvalid:
		}
		if c.HasExit {
			s += fmt.Sprint(" exit ", c.ExitCode)
		}
		if c.Status != "" {
			s += " " + c.Status
		}
		if !c.ResultPos.Set() {
			s += " open"
		}
		if c.Delegates {
			s += " delegates"
		}
		out = append(out, s)
	}
	return out
}

func TestRead(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "thread.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	runs := readAll(t, data)
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	run := runs[0]
	want := []string{
		"bad command_execution exit 1", "good command_execution exit 0", "patch file_change fine", "fetch mcp__web__get error",
		"refused command_execution denied", "open command_execution open",
	}
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "t1" || run.Summary != "All tests pass." || !run.Ended || run.EndReason != "turn.completed" || len(run.Gaps) != 1 || run.SHA256 == [32]byte{} {
		t.Errorf("%+v", run)
	}
	if want := []trace.Usage{{Prompt: 20, Cached: 10, Completion: 5, Total: 35}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if c := run.Calls[0]; c.Pos.Line != 4 || c.ResultPos.Line != 5 {
		t.Errorf("it stands on lines %d and %d", c.Pos.Line, c.ResultPos.Line)
	}
}

func item(event, fields string) string {
	return `{"type":"item.` + event + `","item":{"id":"a",` + fields + "}}\n"
}

func TestRead_Ends(t *testing.T) {
	for fields, want := range map[string]string{
		`"type":"command_execution","exit_code":2,"status":"failed"`:                                           "a command_execution exit 2",
		`"type":"command_execution","exit_code":0,"status":"odd"`:                                              "a command_execution exit 0",
		`"type":"command_execution","exit_code":1e999,"status":"completed"`:                                    "a command_execution exit 2147483647",
		`"type":"command_execution","exit_code":null,"status":"failed"`:                                        "a command_execution error",
		`"type":"command_execution","status":"in_progress"`:                                                    "a command_execution running",
		`"type":"command_execution"`:                                                                           "a command_execution unknown",
		`"type":"file_change","status":"failed"`:                                                               "a file_change error",
		`"type":"file_change","status":"odd"`:                                                                  "a file_change unknown",
		`"type":"mcp_tool_call","server":"s","tool":"t","status":"completed","result":{"content":[]}`:          "a mcp__s__t fine",
		`"type":"mcp_tool_call","server":"s","tool":"t","status":"completed","error":{"message":"x"}`:          "a mcp__s__t error",
		`"type":"mcp_tool_call","server":"s","tool":"t","status":"failed","error":"x"`:                         "a mcp__s__t error",
		`"type":"collab_tool_call","tool":"spawn_agent","status":"completed"`:                                  "a spawn_agent fine delegates",
		`"type":"collab_tool_call","tool":"spawn_agent","status":"failed"`:                                     "a spawn_agent error",
		`"type":"collab_tool_call","tool":"wait","status":"completed","agents_states":{"x":{"status":"done"}}`: "a wait fine",
		`"type":"web_search","query":"x"`:                                                                      "a web_search",
		`"type":"todo_list","items":[]`:                                                                        "",
		`"type":"reasoning","text":"x"`:                                                                        "",
		`"type":"collab_tool_call","status":"completed"`:                                                       "",
	} {
		for how, text := range map[string]string{
			"at once":            item("completed", fields),
			"started before":     item("started", strings.ReplaceAll(fields, `"completed"`, `"in_progress"`)) + item("updated", fields) + item("completed", fields),
			"completed twice":    item("completed", fields) + item("completed", fields),
			"behind a bad start": "{\"type\":\"item.started\",\n" + item("completed", fields),
		} {
			if got := strings.Join(shown(readAll(t, []byte(text))[0]), "; "); got != want {
				t.Errorf("%s, %s: %q, want %q", fields, how, got, want)
			}
		}
	}
}

func TestRead_IdsAgain(t *testing.T) {
	ran := func(code string) string {
		return item("completed", `"type":"command_execution","exit_code":`+code+`,"status":"x"`)
	}
	start := item("started", `"type":"command_execution"`)
	want := []string{"a command_execution exit 0", "a command_execution exit 1"}
	for name, text := range map[string]string{
		"a thread that is gone on with":  `{"type":"thread.started","thread_id":"t"}` + "\n" + ran("0") + `{"type":"thread.started","thread_id":"t"}` + "\n" + ran("1"),
		"the start of a thread is lost":  start + ran("0") + "garbage\n" + ran("1"),
		"it starts again behind its end": start + ran("0") + start + ran("1"),
	} {
		runs := readAll(t, []byte(text))
		if got := shown(runs[0]); len(runs) != 1 || !slices.Equal(got, want) {
			t.Errorf("%s: %d runs, got %q, want %q", name, len(runs), got, want)
		}
	}
	if got := shown(readAll(t, []byte(strings.ReplaceAll(ran("0"), `"id":"a",`, "")+strings.ReplaceAll(ran("1"), `"id":"a",`, "")))[0]); len(got) != 2 {
		t.Errorf("without ids: %q", got)
	}
}

// TestRead_Threads: each thread of an appended log is judged by its own calls.
func TestRead_Threads(t *testing.T) {
	thread := func(id, said string) string {
		return `{"type":"thread.started","thread_id":"` + id + `"}` + "\n" + `{"type":"turn.started"}` + "\n" +
			item("completed", `"type":"command_execution","exit_code":0`) + item("completed", `"type":"agent_message","text":"`+said+`"`) + `{"type":"turn.completed"}` + "\n"
	}
	runs := readAll(t, []byte("noise\n"+thread("one", "First.")+"more noise\n"+thread("two", "Second.")+`{"type":"turn.sta`))
	if len(runs) != 2 {
		t.Fatalf("%d runs", len(runs))
	}
	for i, want := range []struct {
		id, summary string
		bad         []int
		torn        bool
	}{{"one", "First.", []int{1, 7}, false}, {"two", "Second.", []int{13}, true}} {
		run := runs[i]
		var bad []int
		for _, b := range run.BadLines {
			bad = append(bad, b.Line)
		}
		if run.ID != want.id || run.Summary != want.summary || len(run.Calls) != 1 || !slices.Equal(bad, want.bad) || run.Torn != want.torn {
			t.Errorf("run %d: id %q, summary %q, %d calls, bad lines %v, torn %v", i, run.ID, run.Summary, len(run.Calls), bad, run.Torn)
		}
	}
}

func TestRead_Turns(t *testing.T) {
	said := func(text string) string { return item("completed", `"type":"agent_message","text":"`+text+`"`) }
	started, act := `{"type":"turn.started"}`+"\n", item("started", `"type":"command_execution"`)
	for _, tt := range []struct{ name, text, summary, end string }{
		{"completed", started + said("One.") + said("Two.") + `{"type":"turn.completed"}`, "One.\n\nTwo.", "turn.completed"},
		{"failed", started + said("One.") + `{"type":"error","message":"x"}` + "\n" + `{"type":"turn.failed","error":{"message":"x"}}`, "One.", "turn.failed"},
		{"ends with a call", started + said("One.") + act, "", ""},
		{"two turns", started + said("One.") + `{"type":"turn.completed"}` + "\n" + started + said("Two."), "Two.", ""},
		{"the second turn is not answered", started + said("One.") + `{"type":"turn.completed"}` + "\n" + started, "One.", ""},
	} {
		run := readAll(t, []byte(tt.text))[0]
		if run.Summary != tt.summary || run.EndReason != tt.end || run.Ended != (tt.end != "") {
			t.Errorf("%s: summary %q, end %v %q", tt.name, run.Summary, run.Ended, run.EndReason)
		}
	}
	run := readAll(t, []byte(strings.Repeat(`{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":9,"output_tokens":-1}}`+"\n", 2)))[0]
	if want := []trace.Usage{{Cached: 10, Total: 10}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v, want %+v", run.Usage, want)
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("broken") }

func TestRead_UnreadableFile(t *testing.T) {
	for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: 10, ReaderAt: broken{}}) {
		if run != nil || err == nil {
			t.Errorf("got %v, %v", run, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for run, err := range Read(ctx, source([]byte("{}\n"))) {
		if run != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", run, err)
		}
	}
	for range Read(t.Context(), source([]byte(`{"type":"thread.started","thread_id":"a"}`+"\n"+`{"type":"thread.started","thread_id":"b"}`))) {
		break
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "thread.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(-1)
		for _, run := range readAll(t, data) {
			for _, c := range run.Calls {
				if c.Pos.Offset < last {
					t.Errorf("call %s stands before the one before it", c.ID)
				}
				last = c.Pos.Offset
			}
		}
	})
}
