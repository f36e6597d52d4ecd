package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// script is a tool whose program is a shell script; path is its $1.
func script(text string, change func(*Command)) Command {
	c := command(func(c *Command) { c.Name, c.Argv = "script", []string{"sh", "-c", text, "sh", "--", "{path}"} })
	if change != nil {
		change(&c)
	}
	return c
}

func run(t *testing.T, c Command, args string) Result {
	t.Helper()
	return newSet(t, c).Run(t.Context(), c.Name, json.RawMessage(args), "key-1")
}

func TestRun_Outcome(t *testing.T) {
	tests := []struct {
		name, text string
		ok         bool
		exit       int
		hasExit    bool
		output     string
		err        string
	}{
		{"good", `echo out; echo err >&2; echo more`, true, 0, true, "out\nerr\nmore\n", ""},
		{"exit code", `echo no; exit 3`, false, 3, true, "no\n", "exit code 3"},
		{"signal", `kill -9 $$`, false, 0, false, "", "ended by a signal"},
		{"stdin and key", `cat; echo; echo "$NIGHTAUDIT_IDEMPOTENCY_KEY"`, true, 0, true, "{\"path\":\"/a\"}\nkey-1\n", ""},
		{"stdin not read", `exit 0`, true, 0, true, "", ""},
		{"bytes that are no text", `printf 'a\377b'`, true, 0, true, "a?b", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := run(t, script(tt.text, nil), `{"path":"/a"}`)
			if !r.Started || r.OK != tt.ok || r.ExitCode != tt.exit || r.HasExit != tt.hasExit || r.Output != tt.output || !strings.Contains(r.Error, tt.err) || (r.Error == "") != tt.ok {
				t.Errorf("Run() = %+v", r)
			}
			if r.Start.IsZero() || r.Duration <= 0 {
				t.Errorf("times: %+v", r)
			}
		})
	}
}

func TestRun_RefusesBeforeItStarts(t *testing.T) {
	dir := t.TempDir()
	mark := filepath.Join(dir, "ran")
	c := command(func(c *Command) { c.Argv = []string{"touch", mark, "{path}"} })
	forbidden := command(func(c *Command) { c.Name, c.Class = "config.rm", ClassForbidden })
	s := newSet(t, c, forbidden, command(func(c *Command) { c.Name = "config.write" }))
	tests := []struct{ name, tool, args, want string }{
		{"unknown", "config.raed", `{"path":"a"}`, `did you mean "config.read"`},
		{"unknown lists the tools", "zzzzzzzzzzzzzzz", `{}`, "tools: config.read, config.write"},
		{"forbidden", "config.rm", `{"path":"a"}`, "forbidden"},
		{"no arguments", "config.read", ``, "no JSON object"},
		{"null", "config.read", `null`, "no JSON object"},
		{"no object", "config.read", `["a"]`, "no JSON object"},
		{"broken", "config.read", `{"path":`, "not JSON"},
		{"missing", "config.read", `{}`, "path"},
		{"wrong type", "config.read", `{"path":1}`, "want string"},
		{"unknown argument", "config.read", `{"path":"a","mode":"x"}`, "mode"},
		{"too short", "config.read", `{"path":""}`, "minLength"},
		{"key twice", "config.read", `{"path":"a","path":"b"}`, "stands twice"},
		{"huge number", "config.read", `{"path":"a","n":1e999999999}`, "exponent"},
		{"too long", "config.read", `{"path":"` + strings.Repeat("a", maxArgs) + `"}`, "longer than"},
		{"NUL", "config.read", `{"path":"a\u0000b"}`, "NUL"},
		{"option", "config.read", `{"path":"--reference=/etc/passwd"}`, "begins with -"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := s.Run(t.Context(), tt.tool, json.RawMessage(tt.args), "k")
			if r.Started || r.OK || r.HasExit || !strings.Contains(r.Error, tt.want) || strings.ContainsAny(r.Error, "\n\x00") {
				t.Errorf("Run() = %+v, want a refusal with %q", r, tt.want)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r := s.Run(ctx, "config.read", json.RawMessage(`{"path":"a"}`), "k"); r.Started || r.Error == "" {
		t.Errorf("after cancel: %+v", r)
	}
	if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Error("something ran")
	}
	gone := command(func(c *Command) { c.Argv = []string{"/no/such/program"} })
	if r := run(t, gone, `{"path":"a"}`); r.Started || !strings.Contains(r.Error, "start the program") {
		t.Errorf("no program: %+v", r)
	}
}

func TestRun_ArgumentsStayArguments(t *testing.T) {
	dir := t.TempDir()
	show := `shift; for a in "$@"; do printf '<%s>' "$a"; done`
	c := script(show, func(c *Command) {
		c.Dir = dir
		c.Argv = []string{"sh", "-c", show, "sh", "--", "--path={path}", "{path}", "x{path}y{path}", "{n}", "{ok}", "{}", `{"a":1}`}
		c.Parameters = json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"number"},"ok":{"type":"boolean"}},"required":["path","n","ok"]}`)
	})
	for _, value := range []string{"a b", "$(touch pwned)", "`touch pwned`", "; touch pwned", "a\nb", "*", "'\"", "|touch pwned", "{n}", "${HOME}", "", "-rf", "~", "\\", "ü"} {
		raw, err := json.Marshal(map[string]any{"path": value, "n": -1.5, "ok": true})
		if err != nil {
			t.Fatal(err)
		}
		r := run(t, c, string(raw))
		want := fmt.Sprintf(`<--path=%s><%s><x%sy%s><-1.5><true><{}><{"a":1}>`, value, value, value, value)
		if !r.OK || r.Output != want {
			t.Errorf("Run(%q) = %+v, want %s", value, r, want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "pwned")); err == nil {
		t.Error("an argument was run")
	}
}

func TestRun_OptionsCannotBeInjected(t *testing.T) {
	tests := []struct {
		argv []string
		ok   bool
	}{
		{[]string{"echo", "{path}"}, false},
		{[]string{"echo", "{path}/x"}, false},
		{[]string{"echo", "--to={path}"}, true},
		{[]string{"echo", "--", "{path}"}, true},
		{[]string{"echo", "--", "x", "{path}"}, true},
	}
	for _, tt := range tests {
		r := run(t, command(func(c *Command) { c.Argv = tt.argv }), `{"path":"-n"}`)
		if r.Started != tt.ok {
			t.Errorf("%v: %+v", tt.argv, r)
		}
	}
}

func TestRun_Environment(t *testing.T) {
	t.Setenv("NIGHTAUDIT_TEST_SECRET", "hunter2")
	t.Setenv("NIGHTAUDIT_TEST_PASSED", "yes")
	t.Setenv("TZ", "UTC")
	r := run(t, command(func(c *Command) {
		c.Argv, c.Env = []string{"env"}, []string{"NIGHTAUDIT_TEST_PASSED", "NIGHTAUDIT_TEST_UNSET"}
	}), `{"path":"a"}`)
	allowed := map[string]bool{"PATH": true, "HOME": true, "LANG": true, "TZ": true, "TMPDIR": true, KeyVariable: true, "NIGHTAUDIT_TEST_PASSED": true}
	for l := range strings.Lines(r.Output) {
		if name, _, _ := strings.Cut(l, "="); !allowed[name] {
			t.Errorf("the program sees %s", l)
		}
	}
	if !strings.Contains(r.Output, "NIGHTAUDIT_TEST_PASSED=yes\n") || !strings.Contains(r.Output, "TZ=UTC\n") || strings.Contains(r.Output, "hunter2") {
		t.Errorf("environment: %s", r.Output)
	}
}

func TestRun_CapsOutput(t *testing.T) {
	c := script(`i=0; while [ $i -lt 20000 ]; do echo "line $i"; i=$((i+1)); done; echo LAST`, func(c *Command) { c.MaxOutput = 1000 })
	r := run(t, c, `{"path":"a"}`)
	if !r.OK || len(r.Output) > 1000 || len(r.Output) < 990 || !strings.HasPrefix(r.Output, "line 0\n") || !strings.HasSuffix(r.Output, "LAST\n") || !strings.Contains(r.Output, "the middle is left out") {
		t.Errorf("Run() = %d bytes: %s", len(r.Output), r.Output)
	}
	out := newCapped(300)
	for range 100 {
		_, _ = out.Write([]byte("äöü€"))
	}
	if s := out.String(); len(s) > 300 || strings.Contains(s, "?") {
		t.Errorf("a character was cut: %d %q", len(s), s)
	}
	exact := newCapped(256)
	_, _ = exact.Write([]byte(strings.Repeat("x", 256)))
	if s := exact.String(); s != strings.Repeat("x", 256) {
		t.Errorf("output that fits was cut: %q", s)
	}
}

// alive waits until the process is gone, at most as long as the test may take.
func alive(t *testing.T, pidFile string) {
	t.Helper()
	raw, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(stat), ") Z ") || syscall.Kill(pid, 0) != nil {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestRun_TimeoutEndsTheWholeGroup(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	// Parent and grandchild ignore SIGTERM; the grandchild holds the output open.
	text := `trap '' TERM; (trap '' TERM; while :; do sleep 0.1; done) & echo $! > ` + pids + `; echo begun; while :; do sleep 0.1; done`
	r := run(t, script(text, func(c *Command) { c.Timeout = time.Second }), `{"path":"a"}`)
	if !r.Started || r.OK || r.HasExit || !r.TimedOut || r.Output != "begun\n" || r.Duration > 8*time.Second {
		t.Errorf("Run() = %+v", r)
	}
	alive(t, pids)
}

func TestRun_TimeoutThatTheProgramObeys(t *testing.T) {
	r := run(t, script(`trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done`, func(c *Command) { c.Timeout = time.Second }), `{"path":"a"}`)
	if r.OK || r.HasExit || !r.TimedOut || !strings.HasSuffix(r.Output, "bye\n") || r.Duration > 3*time.Second {
		t.Errorf("Run() = %+v: an exit code after the timeout is no result", r)
	}
}

func TestRun_GrandchildHoldsTheOutput(t *testing.T) {
	pids := filepath.Join(t.TempDir(), "pid")
	r := run(t, script(`sleep 60 & echo $! > `+pids+`; echo done`, nil), `{"path":"a"}`)
	if !r.OK || !r.HasExit || r.Output != "done\n" || r.Duration > 10*time.Second {
		t.Errorf("Run() = %+v", r)
	}
	alive(t, pids)
}

func TestRun_Cancel(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = os.ReadFile(begun) // returns when the program has opened it
		cancel()
	}()
	s := newSet(t, script(`echo x > `+begun+`; exec sleep 60`, nil))
	r := s.Run(ctx, "script", json.RawMessage(`{"path":"a"}`), "k")
	if !r.Started || r.OK || r.HasExit || r.TimedOut || r.Error != "cancelled while it ran" || r.Duration > 10*time.Second {
		t.Errorf("Run() = %+v", r)
	}
}
