package atif

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"nightaudit/trace"
)

func source(text string) trace.Source {
	return trace.Source{Name: "t.json", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
}

func readAll(t *testing.T, src trace.Source) []*trace.Run {
	t.Helper()
	var runs []*trace.Run
	for run, err := range Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
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
		line := fmt.Sprintf("line %d %s %s %s error %d status %q batch %v", c.Pos.Line, c.ID, c.Tool, args, c.IsError, c.Status, c.Batch != "")
		if c.HasExit {
			line += fmt.Sprintf(" exit %d", c.ExitCode)
		}
		out = append(out, line)
	}
	return out
}

func TestRead(t *testing.T) {
	data, err := os.ReadFile("testdata/trajectory.json")
	if err != nil {
		t.Fatal(err)
	}
	run := readAll(t, source(string(data)))[0]
	want := []string{
		`line 10 a bash {"command": "pytest"} error 1 status "" batch false`,
		`line 13 b write {"path":"a.go"} error 0 status "unknown" batch true`,
		`line 13 c bash {"command": "ls"} error 0 status "" batch true exit 0`,
		`line 15 d deploy {} error 2 status "" batch false`,
		`line 17 e wait {} error 0 status "" batch false`,
	}
	if got := describe(t, run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "s1" || run.Agent != "harbor 1.2" || run.Model != "m-1" || run.Task != "Fix it" || run.Summary != "All done." || !run.NoEndRecords || !run.Whole() {
		t.Errorf("%+v", run)
	}
	if want := []trace.Usage{{Model: "m-1", Prompt: 60, Cached: 40, Completion: 7, Total: 107}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
}

const head = `{"schema_version":"ATIF-v1.5","session_id":"s","agent":{"name":"a"},"steps":[`

// TestRead_Gaps: what the format cannot show is said.
func TestRead_Gaps(t *testing.T) {
	for _, c := range []struct {
		name, text string
		calls, bad int
		gap        string
	}{
		{"commands in messages", head + `{"source":"agent","message":"ls","observation":{"results":[{"content":"a"}]}},{"source":"agent","message":"ls","observation":{"results":[{"content":"a"}]}}]}`, 0, 0, "commands stand in the text of messages"},
		{"goes on elsewhere", head + `],"continued_trajectory_ref":"b.json"}`, 0, 0, "the run goes on in another trajectory"},
		{"a sub-agent of no call", head + `{"source":"system","message":"x","observation":{"results":[{"subagent_trajectory_ref":[{"session_id":"x"}]}]}}]}`, 0, 0, "delegated work of no recorded call"},
		{"a call without a name", head + `{"source":"agent","message":"","tool_calls":[{"tool_call_id":"a"}]}]}`, 0, 1, ""},
		{"a step that is none", head + `7,{"source":"agent","source":"user"}]}`, 0, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := readAll(t, source(c.text))[0]
			if len(run.Calls) != c.calls || len(run.BadLines) != c.bad || run.Whole() {
				t.Errorf("%d calls, bad lines %v", len(run.Calls), run.BadLines)
			}
			if c.gap != "" && (len(run.Gaps) != 1 || !strings.HasPrefix(run.Gaps[0].Reason, c.gap)) {
				t.Errorf("gaps %v", run.Gaps)
			}
		})
	}
}

func TestRead_Lines(t *testing.T) {
	one := head + `{"source":"agent","message":"hi","tool_calls":[{"tool_call_id":"a","function_name":"x","arguments":{}}]}]}`
	runs := readAll(t, source(one+"\n"+one+"\nnonsense\n"))
	if len(runs) != 2 || runs[1].Calls[0].Pos.Line != 2 || len(runs[0].BadLines) != 1 {
		t.Errorf("%d runs", len(runs))
	}
	if runs := readAll(t, source("nonsense")); len(runs) != 1 || len(runs[0].BadLines) != 1 {
		t.Errorf("%d runs of nonsense", len(runs))
	}
}

// TestRead_SubAgent follows the trajectory of a sub-agent, and leaves the call marked
// where it is not there or refers to itself.
func TestRead_SubAgent(t *testing.T) {
	parent := head + `{"source":"agent","message":"","tool_calls":[{"tool_call_id":"a","function_name":"delegate","arguments":{}}],"observation":{"results":[{"source_call_id":"a","content":"ok","subagent_trajectory_ref":[{"trajectory_path":"child.json"}]}]},"extra":{"is_error":false}}]}`
	child := head + `{"source":"agent","message":"","tool_calls":[{"tool_call_id":"x","function_name":"bash","arguments":{"command":"ls"}}]}]}`
	for name, c := range map[string]struct {
		files     fstest.MapFS
		calls     int
		delegates bool
	}{
		"there":       {fstest.MapFS{"child.json": {Data: []byte(child)}}, 2, false},
		"not there":   {fstest.MapFS{}, 1, true},
		"no document": {fstest.MapFS{"child.json": {Data: []byte("x\n")}}, 1, false},
		"a circle":    {fstest.MapFS{"child.json": {Data: []byte(parent)}}, maxDepth + 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			src := source(parent)
			src.Sibling = func(name string) (trace.Source, io.Closer, error) {
				data, err := fs.ReadFile(c.files, name)
				return trace.Source{Name: name, Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}, io.NopCloser(nil), err
			}
			run := readAll(t, src)[0]
			if len(run.Calls) != c.calls || run.Calls[0].Delegates != c.delegates {
				t.Errorf("%d calls, delegates %v", len(run.Calls), run.Calls[0].Delegates)
			}
			if name == "there" && (run.Calls[1].Parent != run.Calls[0].ID || run.Calls[1].File != "child.json") {
				t.Errorf("%+v", run.Calls[1])
			}
			for i := range run.Calls {
				if _, err := run.Body(run.Calls[i].Args); err != nil {
					t.Error(err)
				}
			}
			if (name == "no document" || name == "a circle") && run.Whole() {
				t.Error("whole, although something is missing")
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile("testdata/trajectory.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(head + `{"source":"agent","observation":{"results":[{"content":"a"}]},"extra":{"result_only":true,"envelope":{}}}],"extra":{"gaps":["x"],"statements":[{"record":{}}],"end":{}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range run.Calls {
				c := &run.Calls[i]
				for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record, c.Child} {
					if _, err := run.Value(b); err != nil {
						t.Fatal(err)
					}
				}
			}
			var out bytes.Buffer
			if err := Write(&out, run, func(*trace.Call) (string, error) { return "", nil }, nil); err != nil {
				t.Fatal(err)
			}
		}
	})
}
