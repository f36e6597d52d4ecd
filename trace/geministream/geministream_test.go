package geministream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
			for _, b := range []trace.Body{c.Args, c.Result, c.Error, c.Record} {
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
		if c.Status != "" {
			s += " " + c.Status
		}
		if !c.ResultPos.Set() {
			s += " open"
		}
		if c.Batch != "" {
			s += " in " + c.Batch
		}
		if c.ResultOnly {
			s += " alone"
		}
		out = append(out, s)
	}
	return out
}

func TestRead(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	run := readAll(t, data)[0]
	want := []string{
		"mute run_shell_command fine unknown in batch 1", "gone read_file error in batch 1", "good replace fine",
		"refused run_shell_command error", "open web_fetch open",
	}
	if got := shown(run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "s1" || run.Model != "m-1" || run.Task != "Fix it" || run.Started.IsZero() || !run.Whole() || run.SHA256 == [32]byte{} {
		t.Errorf("%+v", run)
	}
	if run.Summary != "All tests pass." || run.SummaryPos.Line != 13 || !run.Ended || run.EndReason != "success" || run.NoEndRecords {
		t.Errorf("summary %q at %v, end %v %q", run.Summary, run.SummaryPos, run.Ended, run.EndReason)
	}
	if want := []trace.Usage{{Model: "m-1", Prompt: 6, Cached: 4, Completion: 5, Total: 15}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
	if c := run.Calls[0]; c.Pos.Line != 4 || c.ResultPos.Line != 7 || c.Start.IsZero() {
		t.Errorf("%+v", c)
	}
}

func use(id, tool string) string {
	return `{"type":"tool_use","tool_name":"` + tool + `","tool_id":"` + id + `","parameters":{}}` + "\n"
}

func told(id, fields string) string {
	return `{"type":"tool_result","tool_id":"` + id + `",` + fields + "}\n"
}

func TestRead_Pairs(t *testing.T) {
	ok, bad := told("a", `"status":"success","output":"x"`), told("a", `"status":"error","output":"y"`)
	for _, tt := range []struct {
		name, text string
		want       []string
		gaps       int
	}{
		{"used again", use("a", "x") + ok + use("a", "x") + bad, []string{"a x fine", "a x error"}, 0},
		{"repeated while open", use("a", "x") + use("a", "x") + ok, []string{"a x fine"}, 0},
		{"result repeated", use("a", "x") + ok + ok, []string{"a x fine"}, 0},
		{"two results", use("a", "x") + ok + bad, []string{"a x fine", "a  error alone"}, 0},
		{"result first", ok + use("a", "x"), []string{"a  fine unknown alone", "a x open"}, 1},
		{"no id", use("", "x") + told("", `"status":"success"`), []string{" x open", "  fine unknown alone"}, 1},
		{"no name", use("a", ""), nil, 0},
		{"another status", use("a", "x") + told("a", `"status":"odd"`), []string{"a x unknown"}, 0},
		{"no status", use("a", "x") + told("a", `"output":"x"`), []string{"a x unknown"}, 0},
		{"an error that is text", use("a", "x") + told("a", `"status":"error","error":"x"`), []string{"a x error"}, 0},
	} {
		run := readAll(t, []byte(tt.text))[0]
		if got := shown(run); !slices.Equal(got, tt.want) || len(run.Gaps) != tt.gaps {
			t.Errorf("%s: got %q, gaps %v, want %q", tt.name, got, run.Gaps, tt.want)
		}
	}
	if run := readAll(t, []byte(use("a", "")))[0]; len(run.BadLines) != 1 || run.Records != 0 {
		t.Errorf("bad lines %v", run.BadLines)
	}
}

func TestRead_Talk(t *testing.T) {
	said := func(text string) string {
		return `{"type":"message","role":"assistant","content":"` + text + `","delta":true}` + "\n"
	}
	whole := `{"type":"message","role":"assistant","content":"Whole."}` + "\n"
	asked := `{"type":"message","role":"user","content":"Go"}` + "\n"
	done := `{"type":"result","status":"success"}` + "\n"
	for _, tt := range []struct{ name, text, summary, end string }{
		{"pieces", asked + said("One") + said(".") + done, "One.", "success"},
		{"a piece and a whole", asked + said("One.") + whole, "One.\n\nWhole.", ""},
		{"before a call", asked + said("One.") + use("a", "x"), "", ""},
		{"behind a call", said("One.") + use("a", "x") + said("Two."), "Two.", ""},
		{"only blanks", said(" "), "", ""},
		{"two turns", asked + said("One.") + done + asked + said("Two."), "Two.", "success"},
		{"not answered", asked + said("One.") + asked, "One.", ""},
		{"failed", said("One.") + `{"type":"result","status":"error","error":{"type":"FatalTurnLimitedError"}}`, "One.", "error"},
	} {
		run := readAll(t, []byte(tt.text))[0]
		if run.Summary != tt.summary || run.EndReason != tt.end {
			t.Errorf("%s: summary %q, end %q", tt.name, run.Summary, run.EndReason)
		}
	}
	if run := readAll(t, []byte(`{"type":"message","role":"user","content":"`+strings.Repeat("é", maxTask)+`"}`))[0]; run.Task != strings.Repeat("é", maxTask/2) {
		t.Errorf("task of %d bytes", len(run.Task))
	}
}

func TestRead_Sessions(t *testing.T) {
	one := `{"type":"init","session_id":"one","model":"m"}` + "\n" + use("a", "x") + `{"type":"result","status":"success","stats":{"total_tokens":3,"input_tokens":-1,"output_tokens":1e9}}` + "\n"
	two := strings.ReplaceAll(one, `"one"`, `"two"`)
	runs := readAll(t, []byte(one+"noise\n"+two+`{"type":"zzz"}`))
	if len(runs) != 2 || runs[0].ID != "one" || runs[1].ID != "two" || len(runs[0].BadLines) != 1 || len(runs[1].BadLines) != 0 || len(runs[1].Calls) != 1 || runs[1].Ignored != 1 {
		t.Errorf("%d runs: %+v", len(runs), runs)
	}
	if want := []trace.Usage{{Model: "m", Total: 3}}; !slices.Equal(runs[0].Usage, want) {
		t.Errorf("usage %+v", runs[0].Usage)
	}
	if runs := readAll(t, []byte(one+one)); len(runs) != 1 || runs[0].Ended != true {
		t.Errorf("a session that is gone on with: %d runs", len(runs))
	}
	for range Read(t.Context(), source([]byte(one+two))) {
		break
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
}

func FuzzRead(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "session.jsonl"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		last := int64(-1)
		for _, run := range readAll(t, data) {
			for _, c := range run.Calls {
				if c.Pos.Offset <= last {
					t.Errorf("call %s does not stand behind the one before it", c.ID)
				}
				last = c.Pos.Offset
			}
		}
	})
}
