package rerun

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"nightaudit/rerun/endpoint"
)

// crashDir names, for the child process of a crash test, the folder it works in.
const (
	crashDir  = "NIGHTAUDIT_TEST_CRASH_DIR"
	crashMode = "NIGHTAUDIT_TEST_CRASH_MODE"
)

// TestCrashChild is the process that TestCrash kills; on its own it does nothing.
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		t.Skip("run by TestCrash")
	}
	b := newBench(t, dir, call(`slow.write {"path": "f", "value": 1}`))
	b.runner.Limits.WallClock = time.Hour
	if os.Getenv(crashMode) == "request" {
		b.runner.Endpoint = hanging{b.model}
	}
	it := b.item(t, func(it *Item) { it.Tools = append(it.Tools, "slow.write") })
	b.runner.Attempt(context.Background(), it) //nolint:errcheck // it is killed in here
}

// hanging sends a request and never gets an answer.
type hanging struct{ *model }

func (hanging) Do(context.Context, endpoint.Prepared) (endpoint.Reply, error) {
	fmt.Println("\nin the request")
	select {}
}

// killed starts the child, waits until ready says so, and kills it.
func killed(t *testing.T, dir, mode string, ready func(line string) bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$", "-test.v")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashMode+"="+mode)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sc := bufio.NewScanner(out)
	for sc.Scan() && !ready(sc.Text()) {
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
}

func (b *bench) recover(t *testing.T) {
	t.Helper()
	if _, err := b.account.Recover(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	n, err := b.runner.Queue.Recover(t.Context(), time.Now())
	if err != nil || n != 1 {
		t.Fatalf("%d attempts were cut off (%v), want 1", n, err)
	}
}

// Killed while a request is out: nobody knows what it cost, so it is booked whole.
func TestCrash_InARequest(t *testing.T) {
	dir := t.TempDir()
	killed(t, dir, "request", func(line string) bool { return strings.Contains(line, "in the request") })
	b := newBench(t, dir, call(look), call(repair), call(look), done)
	b.recover(t)
	r := b.books(t)
	if r.Held != 0 || r.Spent == 0 || r.Assumed != r.Spent {
		t.Errorf("held %d, spent %d, assumed %d; want the whole reservation assumed", r.Held, r.Spent, r.Assumed)
	}
	if state, n := b.state(t); state != "queued" || n != 1 {
		t.Errorf("the segment is %s after %d attempts, want queued after 1", state, n)
	}
	got, err := b.runner.Attempt(t.Context(), b.ready(t))
	if err != nil || got.Outcome != Repaired {
		t.Errorf("the next attempt: %s %v", got.Outcome, err)
	}
}

// Killed while a write is running: it may have taken effect, so that it is not
// repeated blindly, and the attempt's own trace shows it as pending.
func TestCrash_InAWrite(t *testing.T) {
	dir := t.TempDir()
	killedInWrite(t, dir)
	b := newBench(t, dir, call(`slow.write {"path": "f", "value": 1}`), done)
	b.recover(t)
	before := b.writes(t)
	if before != 1 {
		t.Fatalf("%d writes before the kill, want 1", before)
	}
	if _, err := b.runner.Attempt(t.Context(), b.ready(t)); err != nil {
		t.Fatal(err)
	}
	if n := b.writes(t); n != before {
		t.Errorf("%d writes, want %d: the write of the killed attempt was repeated", n, before)
	}
	data, err := os.ReadFile(dir + "/reruns/attempt-1.jsonl")
	if err != nil || !strings.Contains(string(data), `"tool_call"`) || strings.Contains(string(data), `"tool_result"`) {
		t.Errorf("the killed attempt's trace should hold a call without a result (%v):\n%s", err, data)
	}
}

// killedInWrite kills the child once its tool has written and before it has ended.
func killedInWrite(t *testing.T, dir string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashMode+"=write")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(20 * time.Second)
	for (&bench{dir: dir}).writes(t) == 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond) // another process: there is no fake clock for it
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() //nolint:errcheck // it was killed
}
