package claudestream

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

func readAll(t *testing.T, read trace.Reader, data []byte) *trace.Run {
	t.Helper()
	var run *trace.Run
	for r, err := range read(t.Context(), source(data)) {
		if err != nil {
			t.Fatal(err)
		}
		run = r
	}
	for i := range run.Calls {
		c := &run.Calls[i]
		for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record, c.Child} {
			if raw, err := run.Body(b); err != nil || b.Present() && !json.Valid(raw) {
				t.Errorf("a body of call %s is %q, %v", c.ID, raw, err)
			}
		}
	}
	return run
}

func readFile(t *testing.T, read trace.Reader, name string) *trace.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, read, data)
}

// shown is the calls in short.
func shown(run *trace.Run) []string {
	var out []string
	for _, c := range run.Calls {
		s := c.ID.String() + " " + c.Tool
		if c.IsError == trace.FlagTrue {
			s += " error"
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
		if c.Parent != "" {
			s += " of " + c.Parent.String()
		}
		if c.Delegates {
			s += " delegates"
		}
		out = append(out, s)
	}
	return out
}

func TestRead_Claude(t *testing.T) {
	run := readFile(t, Read, "claude.jsonl")
	want := []string{
		"bad Bash error exit 1", "good Bash exit 0", "refused Bash error denied", "late Bash exit 4", "agent Agent", "inner Bash error exit 3 of agent", "open Read open",
	}
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "s1" || run.Agent != "claude-code 2.1.197" || run.Model != "m-1" || run.Cwd != "/w" || run.Child || !run.Whole() || run.Format != Format {
		t.Errorf("%+v", run)
	}
	if run.Summary != "All tests pass." || !run.Ended || run.EndReason != "success" || run.NoEndRecords {
		t.Errorf("summary %q, end %v %q", run.Summary, run.Ended, run.EndReason)
	}
	if want := []trace.Usage{{Model: "m-1", Prompt: 11, Cached: 1, Completion: 3, Total: 15}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if late := run.Calls[3]; !run.SummaryPos.Before(late.ResultPos) {
		t.Errorf("the late end stands at %v, the summary at %v", late.ResultPos, run.SummaryPos)
	}
}

func TestRead_Qwen(t *testing.T) {
	run := readFile(t, ReadQwen, "qwen.jsonl")
	want := []string{"mute run_shell_command unknown", "read read_file", "gone read_file error", "refused run_shell_command error", "open web_fetch open"}
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.Agent != "qwen-code 0.15.10" || run.Format != QwenFormat || run.Summary != "All tests pass." {
		t.Errorf("%+v", run)
	}
	// Without its head nothing tells it from Claude Code's, and its commands still
	// tell nothing.
	run = readFile(t, Read, "qwen.jsonl")
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("as Claude Code's: got %q, want %q", got, want)
	}
	orphan := `{"type":"user","session_id":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","is_error":false,"content":"ok"}]}}`
	if run := readAll(t, ReadQwen, []byte(orphan)); run.Calls[0].Status != "unknown" || len(run.Gaps) != 1 {
		t.Errorf("a result without its call: %q, gaps %v", run.Calls[0].Status, run.Gaps)
	}
}

func TestRead_Document(t *testing.T) {
	run := readFile(t, Read, "verbose.json")
	if got, want := shown(run), []string{"bad Bash error exit 1", "good Bash exit 0", "refused Bash error denied"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if run.Summary != "All tests pass." || !run.Ended || !run.Whole() || run.SHA256 == [32]byte{} {
		t.Errorf("%+v", run)
	}
	if c := run.Calls[1]; c.Pos.Line != 4 || c.ResultPos.Line != 5 {
		t.Errorf("it stands on lines %d and %d", c.Pos.Line, c.ResultPos.Line)
	}
	run = readAll(t, Read, []byte("[1,\n{\"type\":\"a\",\"type\":\"b\"},\n[]]"))
	if len(run.BadLines) != 3 || run.BadLines[1].Line != 2 || run.Ended {
		t.Errorf("bad lines %v", run.BadLines)
	}
}

// TestRead_ResultAlone: no call is known, but for those that were refused.
func TestRead_ResultAlone(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"on one line": data, "over lines": pretty.Bytes()} {
		run := readAll(t, Read, data)
		if got, want := shown(run), []string{"refused Bash denied"}; !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
		if run.Summary != "All tests pass." || !run.Ended || run.EndReason != "success" || len(run.Gaps) != 1 || run.ID != "s1" || len(run.BadLines) > 0 {
			t.Errorf("%s: %+v", name, run)
		}
		if raw, err := run.Body(run.Calls[0].Args); err != nil || !strings.Contains(string(raw), "rm x") {
			t.Errorf("%s: arguments %s, %v", name, raw, err)
		}
	}
	run := readAll(t, Read, []byte(`{"type":"result","subtype":"success","session_id":"s","usage":{"input_tokens":3,"cache_read_input_tokens":2,"output_tokens":1},"permission_denials":[{"tool_use_id":"x"},7]}`))
	if want := []trace.Usage{{Prompt: 3, Cached: 2, Completion: 1, Total: 6}}; !slices.Equal(run.Usage, want) || len(run.Calls) != 0 {
		t.Errorf("usage %+v, calls %v", run.Usage, run.Calls)
	}
}

func TestRead_End(t *testing.T) {
	said := func(text string) string {
		return `{"type":"assistant","session_id":"s","message":{"role":"assistant","content":[{"type":"text","text":"` + text + `"}]}}` + "\n"
	}
	asked := `{"type":"user","session_id":"s","message":{"role":"user","content":"go on"}}` + "\n"
	result := func(fields string) string { return `{"type":"result","session_id":"s",` + fields + "}\n" }
	for _, tt := range []struct {
		name, text, summary, end string
		ended                    bool
	}{
		{"success", said("One.") + result(`"subtype":"success","result":"One."`), "One.", "success", true},
		{"cut off", said("One."), "One.", "", false},
		{"too many turns", said("One.") + result(`"subtype":"error_max_turns","is_error":true`), "One.", "error_max_turns", true},
		{"the server failed", said("One.") + result(`"subtype":"success","is_error":true,"result":"API Error: 500"`), "One.", "error", true},
		{"only an error", result(`"is_error":true,"result":"API Error: 500"`), "", "error", true},
		{"two turns", said("One.") + result(`"subtype":"success","result":"One."`) + asked + said("Two.") + result(`"subtype":"success","result":"Two."`), "Two.", "success", true},
		{"the second turn is cut off", said("One.") + result(`"subtype":"success","result":"One."`) + asked + said("Two."), "Two.", "", false},
		{"what is said is not printed", asked + result(`"subtype":"success","result":"One."`), "One.", "success", true},
	} {
		run := readAll(t, Read, []byte(tt.text))
		if run.Summary != tt.summary || run.EndReason != tt.end || run.Ended != tt.ended {
			t.Errorf("%s: summary %q, end %v %q", tt.name, run.Summary, run.Ended, run.EndReason)
		}
	}
}

func TestRead_Denials(t *testing.T) {
	use := `{"type":"assistant","session_id":"s","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}` + "\n"
	told := func(fields string) string {
		return `{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"a",` + fields + `}]}}` + "\n"
	}
	refused := `{"type":"result","session_id":"s","subtype":"success","permission_denials":[{"tool_name":"Bash","tool_use_id":"a"}]}` + "\n"
	for _, tt := range []struct{ name, text, want string }{
		{"in any words", use + told(`"is_error":true,"content":"no way"`) + refused, "a Bash error denied"},
		{"not told of", use + refused, "a Bash denied"},
		{"it ran all the same", use + told(`"is_error":false,"content":"ok"`) + refused, "a Bash"},
		{"it ran and failed", use + told(`"is_error":true,"content":"Exit code 1"`) + refused, "a Bash error exit 1"},
	} {
		if got := shown(readAll(t, Read, []byte(tt.text))); !slices.Equal(got, []string{tt.want}) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRead_Notifications(t *testing.T) {
	start := `{"type":"assistant","session_id":"s","message":{"content":[{"type":"tool_use","id":"a","name":"Bash","input":{}}]}}` + "\n" +
		`{"type":"user","session_id":"s","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"x"}]},"tool_use_result":{"stdout":"","backgroundTaskId":"b1"}}` + "\n"
	for fields, want := range map[string]string{
		`"task_id":"b1","status":"completed","summary":"done with exit code 0"`: "a Bash exit 0",
		`"task_id":"b1","status":"failed"`:                                      "a Bash error",
		`"tool_use_id":"a","status":"killed"`:                                   "a Bash error",
		`"task_id":"b2","status":"completed"`:                                   "a Bash running",
		`"task_id":"b1","status":"running"`:                                     "a Bash running",
	} {
		text := start + `{"type":"system","session_id":"s","subtype":"task_notification",` + fields + "}\n"
		if got := shown(readAll(t, Read, []byte(text))); !slices.Equal(got, []string{want}) {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
}

// TestRead_Sessions: each session of an appended log is judged by its own calls.
func TestRead_Sessions(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "claude.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.ReplaceAll(data, []byte(`"session_id":"s1"`), []byte(`"session_id":"s2"`))
	var got []string
	for run, err := range Read(t.Context(), source(slices.Concat(data, []byte("noise\n"), other, data[:100]))) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprint(run.ID, " ", len(run.Calls), " ", run.Ended, " ", run.Torn, " ", len(run.BadLines)))
	}
	if want := []string{"s1 7 true false 1", "s2 7 true true 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range Read(t.Context(), source(slices.Concat(data, other))) {
		break
	}
	resumed := 0
	for run := range Read(t.Context(), source(slices.Concat(data, data))) {
		resumed += len(run.Calls)
	}
	if resumed != 7 {
		t.Errorf("a session that is printed twice has %d calls", resumed)
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
	for run, err := range ReadQwen(ctx, source([]byte("[]"))) {
		if run != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", run, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"claude.jsonl", "qwen.jsonl", "verbose.json", "result.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []trace.Reader{Read, ReadQwen} {
			run := readAll(t, read, data)
			for i := 1; i < len(run.Calls); i++ {
				if run.Calls[i].Pos.Before(run.Calls[i-1].Pos) {
					t.Errorf("call %d stands before call %d", i, i-1)
				}
			}
		}
	})
}
