package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// oneWrite fails the test where a line comes in pieces.
type oneWrite struct {
	bytes.Buffer
	t     *testing.T
	syncs int
}

func (w *oneWrite) Write(p []byte) (int, error) {
	if bytes.Count(p, []byte("\n")) != 1 || p[len(p)-1] != '\n' || !json.Valid(p) {
		w.t.Errorf("written at once: %q", p)
	}
	return w.Buffer.Write(p)
}

func (w *oneWrite) Sync() error { w.syncs++; return nil }

func TestRecorder_Lines(t *testing.T) {
	w := &oneWrite{t: t}
	r := NewRecorder(w)
	at := time.Date(2026, 11, 30, 2, 0, 0, 5e6, time.FixedZone("", 3600))
	end := Result{Started: true, OK: true, HasExit: true, Output: "fine\n\x1b", Start: at, Duration: 1500 * time.Millisecond}
	for _, err := range []error{
		r.Start(RunStart{Time: at, Run: "r1", Agent: "nightaudit", Model: "m", Task: "mend\nit"}),
		r.Usage(Usage{Time: at, Prompt: 120, Completion: 8, Total: 128, Model: "m"}),
		r.Call(Call{Time: at, ID: "c1", Tool: "config.write", Args: json.RawMessage("{\"n\": 1.0,\n\"path\":\"/a\"}"), IdempotencyKey: "k1"}),
		r.Result("c1", end),
		r.Result("c2", Result{Error: "there is no tool", Start: at}),
		r.Result("c3", Result{Started: true, HasExit: true, ExitCode: 3, Error: "exit code 3", Start: at}),
		r.Result("c4", Result{Started: true, TimedOut: true, Error: "ended", Start: at}),
		r.Call(Call{Time: at, ID: "c5", Tool: "x", Args: json.RawMessage("{'a'")}),
		r.Text(at, "done"),
		r.End(at, "stop"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := `{"type":"run_start","ts":"2026-11-30T01:00:00.005Z","run":"r1","agent":"nightaudit","model":"m","task":"mend\nit"}
{"type":"usage","ts":"2026-11-30T01:00:00.005Z","model":"m","prompt":120,"completion":8,"total":128}
{"type":"tool_call","ts":"2026-11-30T01:00:00.005Z","id":"c1","tool":"config.write","args":{"n":1.0,"path":"/a"},"idempotency_key":"k1"}
{"type":"tool_result","ts":"2026-11-30T01:00:01.505Z","call_id":"c1","ok":true,"isError":false,"exit_code":0,"content":"fine\n\u001b","duration_ms":1500}
{"type":"tool_result","ts":"2026-11-30T01:00:00.005Z","call_id":"c2","ok":false,"isError":true,"status":"denied","content":"","error":"there is no tool","duration_ms":0}
{"type":"tool_result","ts":"2026-11-30T01:00:00.005Z","call_id":"c3","ok":false,"isError":true,"exit_code":3,"content":"","error":"exit code 3","duration_ms":0}
{"type":"tool_result","ts":"2026-11-30T01:00:00.005Z","call_id":"c4","ok":false,"isError":true,"status":"timed_out","content":"","error":"ended","duration_ms":0}
{"type":"tool_call","ts":"2026-11-30T01:00:00.005Z","id":"c5","tool":"x","args":"{'a'"}
{"type":"assistant_text","ts":"2026-11-30T01:00:00.005Z","text":"done"}
{"type":"run_end","ts":"2026-11-30T01:00:00.005Z","stop_reason":"stop"}
`
	if got := w.String(); got != want {
		t.Errorf("recorded\n%s\nwant\n%s", got, want)
	}
	if lines := strings.Count(want, "\n"); w.syncs != lines {
		t.Errorf("%d syncs for %d lines", w.syncs, lines)
	}
}

func TestRecorder_Redacts(t *testing.T) {
	w := &oneWrite{t: t}
	r := NewRecorder(w)
	const secret = "sk-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL"
	key := Key("r", "t", json.RawMessage(`{}`))
	for _, err := range []error{
		r.Start(RunStart{Task: "use " + secret, Agent: secret, Model: secret}),
		r.Call(Call{ID: "c1", Tool: secret, Args: json.RawMessage(`{"token":"` + secret + `"}`), IdempotencyKey: key}),
		r.Call(Call{ID: "c2", Tool: "t", Args: json.RawMessage(secret)}),
		r.Result("c1", Result{Output: "key " + secret, Error: secret}),
		r.Text(time.Time{}, secret),
		r.Usage(Usage{Model: secret}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := w.String(); strings.Contains(got, secret[:20]) || !strings.Contains(got, key) {
		t.Errorf("recorded %s", got)
	}
}

type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	f.n++
	return len(p) / 2, errors.New("disk full")
}

func TestRecorder_StopsAfterAFailure(t *testing.T) {
	w := &failing{}
	r := NewRecorder(w)
	if err := r.Text(time.Time{}, "a"); err == nil || !strings.Contains(err.Error(), "record assistant_text: disk full") {
		t.Errorf("Text() error = %v", err)
	}
	if err := r.Call(Call{ID: "c"}); err == nil || w.n != 1 {
		t.Errorf("after a torn line: %v, %d writes", err, w.n)
	}
}

func TestRecorder_File(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "run.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := NewRecorder(f).End(time.Time{}, "stop"); err != nil {
		t.Error(err)
	}
}
