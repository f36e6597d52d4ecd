package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"nightaudit/budget"
	"nightaudit/configs"
	"nightaudit/rerun"
)

func TestKeysWith(t *testing.T) {
	found := []rerun.Waiting{
		{Item: rerun.Item{Claims: []rerun.Claim{{Key: "abcdef0123"}, {Key: "00"}}}},
		{Item: rerun.Item{Claims: []rerun.Claim{{Key: "abcdef0123"}}}}, // an older version of the trace
		{Item: rerun.Item{Claims: []rerun.Claim{{Key: "abcdef0199"}, {Key: "abff000000"}}}},
	}
	for prefix, want := range map[string]string{"ab": "abcdef01 abff0000", "abf": "abff0000", "abcdef01": "abcdef012 abcdef019", "0": "00", "x": ""} {
		if got := strings.Join(keysWith(found, prefix), " "); got != want {
			t.Errorf("%s: %s, want %s", prefix, got, want)
		}
	}
}

// program starts this program as a process of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Args[0] = "nightaudit" // by which the test binary knows what to be
	cmd.Env = append(os.Environ(), "TZ=UTC")
	return cmd
}

// output runs the program to its end.
func output(t *testing.T, wantCode int, args ...string) string {
	t.Helper()
	cmd := program(t, args...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != wantCode {
		t.Fatalf("nightaudit %s exits %d (%v), want %d:\n%s", strings.Join(args, " "), code, err, wantCode, &out)
	}
	return out.String()
}

// sample lays out the demo's traces and returns the configuration's path.
func sample(t *testing.T, url string) (dir, config string) {
	t.Helper()
	dir = t.TempDir()
	config, err := writeDemo(dir, url)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	// The tools are subcommands of the program: a link gives the test binary its name.
	link := filepath.Join(dir, "nightaudit")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, link); err != nil {
		t.Fatal(err)
	}
	argv := regexp.MustCompile(`argv: \["[^"]*"`)
	if err := os.WriteFile(config, argv.ReplaceAll(text, fmt.Appendf(nil, "argv: [%q", link)), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, config
}

// started waits until the daemon has logged a line that holds the text.
func started(t *testing.T, cmd *exec.Cmd, text string) {
	t.Helper()
	r, w := io.Pipe()
	cmd.Stderr = w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	seen := make(chan bool, 1)
	go func() {
		for sc := bufio.NewScanner(r); sc.Scan(); {
			if strings.Contains(sc.Text(), text) {
				select {
				case seen <- true:
				default:
				}
			}
		}
	}()
	select {
	case <-seen:
	case <-time.After(30 * time.Second):
		cmd.Process.Kill()
		t.Fatalf("the daemon never logged %q", text)
	}
}

func TestDaemon_SIGTERMEndsItCleanly(t *testing.T) {
	_, config := sample(t, "http://127.0.0.1:1/v1")
	daemon := program(t, "run", "--config", config)
	started(t, daemon, "waiting")

	// Meanwhile nobody else works on the state, but everybody may look.
	if out := output(t, exitCannotRun, "run", "--once", "--config", config); !strings.Contains(out, "another nightaudit (pid ") {
		t.Errorf("a second program says\n%s", out)
	}
	output(t, exitPass, "budget", "--config", config)

	if err := daemon.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
	output(t, exitPass, "run", "--once", "--config", config) // the lock is free
}

// A pass that is killed in the middle of a re-run loses nothing and repeats
// nothing: the verdicts stand, the tokens of the lost request are booked, and the
// next pass repairs what the first could not.
func TestOnce_KilledInARequest(t *testing.T) {
	var requests atomic.Int32
	hung := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 1 {
			io.Copy(io.Discard, r.Body) // only then the server notices that the client is gone
			hung <- true
			<-r.Context().Done()
			return
		}
		answerByScript(w, r)
	}))
	defer server.Close()
	dir, config := sample(t, server.URL+"/v1")
	first := program(t, "run", "--once", "--config", config)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-hung
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait()

	out := output(t, exitPass, "report", "--config", config)
	if !strings.Contains(out, "3 runs audited: 2 PASS, 0 UNSUPPORTED, 2 CONTRADICTED") {
		t.Errorf("after the kill the verdicts are\n%s", out)
	}
	out = output(t, exitPass, "run", "--once", "--config", config)
	for _, want := range []string{"0 runs audited", "not judged", "CONTRADICTED → REPAIRED"} {
		if !strings.Contains(out, want) {
			t.Errorf("the next pass does not say %q:\n%s", want, out)
		}
	}
	if !regexp.MustCompile(`not judged +attempt 1, [1-9][0-9]* tokens`).MatchString(out) {
		t.Errorf("the lost request's tokens are not shown:\n%s", out)
	}
	if out = output(t, exitPass, "budget", "--config", config); !regexp.MustCompile(`(?m)^held +0$`).MatchString(out) || !strings.Contains(out, "of it assumed") {
		t.Errorf("the books after a lost request:\n%s", out)
	}
	output(t, exitPass, "verify", "--config", config)
	if data, err := os.ReadFile(filepath.Join(dir, "service", "nginx.json")); err != nil || !strings.Contains(string(data), "45") {
		t.Errorf("the service holds %s (%v)", data, err)
	}
}

// SIGTERM in the middle of a request ends the pass at once, with the reason and
// without a verdict on the attempt; the next pass goes on.
func TestOnce_SIGTERMInARequest(t *testing.T) {
	var requests atomic.Int32
	hung := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) == 2 {
			io.Copy(io.Discard, r.Body)
			hung <- true
			<-r.Context().Done()
			return
		}
		answerByScript(w, r)
	}))
	defer server.Close()
	_, config := sample(t, server.URL+"/v1")
	first := program(t, "run", "--once", "--config", config)
	var stderr bytes.Buffer
	first.Stderr = &stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	<-hung
	if err := first.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	first.Wait() //nolint:errcheck // its code is looked at
	if code := first.ProcessState.ExitCode(); code != exitCannotRun || !strings.Contains(stderr.String(), "the pass was cut off; what was done stays done") {
		t.Errorf("exits %d and says\n%s", code, &stderr)
	}
	if out := output(t, exitPass, "report", "--config", config); strings.Contains(out, "STILL_FAILING") || !strings.Contains(out, "ended by interrupted") {
		t.Errorf("the report says\n%s", out)
	}
	if out := output(t, exitPass, "run", "--once", "--config", config); !strings.Contains(out, "CONTRADICTED → REPAIRED") {
		t.Errorf("the next pass says\n%s", out)
	}
	output(t, exitPass, "verify", "--config", config)
}

// What a pass of the daemon left open (a full disk, say) is closed by the next one,
// not only by the next start.
func TestOnce_ClosesWhatThePassBeforeLeftOpen(t *testing.T) {
	_, config := sample(t, "http://127.0.0.1:1/v1")
	cfg, err := configs.Load(config, func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Rerun.Enabled = false
	n, err := openNight(t.Context(), cfg, nightOptions{getenv: os.Getenv, log: slog.New(slog.DiscardHandler), now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	if _, err := n.account.Reserve(t.Context(), budget.Request{Tokens: 10, Now: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := n.once(t.Context(), io.Discard, "text"); err != nil {
		t.Fatal(err)
	}
	if r, err := n.account.Report(t.Context(), time.Now()); err != nil || r.Held != 0 {
		t.Errorf("%d tokens are held (%v), want none", r.Held, err)
	}
}

// Killed at many moments, a pass over many traces ends with each audited once.
func TestOnce_KilledAgainAndAgain(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "traces"), 0o700); err != nil {
		t.Fatal(err)
	}
	const traces = 60
	for i := range traces {
		text := fmt.Sprintf(`{"type": "claim", "claim": "a %d", "must_show": ["a"]}`+"\n"+`{"type": "tool_call", "tool": "a", "ok": true}`+"\n"+`{"type": "run_end"}`+"\n", i)
		if err := os.WriteFile(filepath.Join(dir, "traces", fmt.Sprintf("%03d.jsonl", i)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "nightaudit.yaml")
	if err := os.WriteFile(config, []byte("state_dir: state\nsources: [{name: s, paths: [traces/*.jsonl]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		cmd := program(t, "run", "--once", "--config", config)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(20+15*i) * time.Millisecond) // the moment of the kill, not a wait for anything
		cmd.Process.Kill()
		cmd.Wait()
	}
	output(t, exitPass, "run", "--once", "--config", config)
	out := output(t, exitPass, "report", "--config", config)
	if !strings.Contains(out, fmt.Sprintf("%d runs audited", traces)) {
		t.Errorf("after the kills the report says\n%s", out)
	}
	output(t, exitPass, "verify", "--config", config)
}
