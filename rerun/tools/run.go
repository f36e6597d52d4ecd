package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// grace is how long a program has to end after SIGTERM, before SIGKILL.
const grace = 2 * time.Second

// Result is what became of a call.
type Result struct {
	// Started tells whether a process ran. Where it is false the call was refused,
	// Error says why, and nothing happened.
	Started bool
	// OK: it ended by itself with exit code 0.
	OK bool
	// ExitCode is that of a program that ended by itself in time (HasExit).
	ExitCode int
	HasExit  bool
	// TimedOut: it was ended after its time. What it had done by then is unknown.
	TimedOut bool
	// Output is what it wrote to both standard streams, in that order of time, cut
	// in the middle where it is longer than MaxOutput.
	Output string
	// Error says why the call is not OK, "" where it is.
	Error    string
	Start    time.Time
	Duration time.Duration
}

// Run checks a call and runs it. It returns when no process of the program's
// group is left, at the latest a few seconds after the timeout or the end of ctx.
// key is handed to the program in KeyVariable.
func (s *Set) Run(ctx context.Context, name string, args json.RawMessage, key string) Result {
	r := Result{Start: time.Now()}
	if s.Class(name) == ClassForbidden {
		r.Error = s.refusal(name)
		return r
	}
	t := s.tools[name]
	members, err := t.checkArgs(args)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	argv, err := t.expand(members)
	if err != nil {
		r.Error = err.Error()
		return r
	}
	if err := ctx.Err(); err != nil {
		r.Error = "not started: " + context.Cause(ctx).Error()
		return r
	}
	t.run(ctx, &r, argv, args, key)
	r.Duration = time.Since(r.Start)
	return r
}

func (t *tool) run(ctx context.Context, r *Result, argv []string, args json.RawMessage, key string) {
	timed, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	out := newCapped(t.MaxOutput)
	cmd := exec.CommandContext(timed, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = t.Dir, t.environ(key)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(args), out, out
	// A group of its own, so that what the program starts ends with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// A grandchild may hold the pipes open after the program has ended.
	cmd.WaitDelay = grace + time.Second
	var kill *time.Timer
	cmd.Cancel = func() error {
		kill = time.AfterFunc(grace, func() { endGroup(cmd, unix.SIGKILL) })
		return endGroup(cmd, unix.SIGTERM)
	}
	if err := cmd.Start(); err != nil {
		r.Error = "start the program: " + err.Error()
		return
	}
	r.Started = true
	err := cmd.Wait()
	if kill != nil {
		kill.Stop()
	}
	// Whatever the program left behind in its group ends here.
	_ = endGroup(cmd, unix.SIGKILL)
	r.Output = out.String()
	t.outcome(ctx, timed, r, cmd, err)
}

// outcome reads how the program ended. An exit code after a timeout says nothing
// about the work, so none is given.
func (t *tool) outcome(ctx, timed context.Context, r *Result, cmd *exec.Cmd, err error) {
	interrupted := errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
	state := cmd.ProcessState
	switch {
	case interrupted || (timed.Err() != nil && !state.Success()):
		if r.TimedOut = ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded); r.TimedOut {
			r.Error = fmt.Sprintf("ended after %v without a result", t.Timeout)
			if ctx.Err() != nil {
				r.Error = "ended at the time limit of the re-run, without a result"
			}
			return
		}
		r.Error = "cancelled while it ran"
	case !state.Exited():
		r.Error = "ended by a signal: " + state.String()
	default:
		r.HasExit, r.ExitCode = true, state.ExitCode()
		r.OK = r.ExitCode == 0
		if !r.OK {
			r.Error = fmt.Sprintf("exit code %d", r.ExitCode)
		}
	}
}

// endGroup signals the program and all it started.
func endGroup(cmd *exec.Cmd, signal syscall.Signal) error {
	if cmd.Process == nil {
		return os.ErrProcessDone
	}
	if err := unix.Kill(-cmd.Process.Pid, signal); err != nil {
		return os.ErrProcessDone
	}
	return nil
}

// passedOn are the variables that programs need and that hold no secrets.
var passedOn = []string{"PATH", "HOME", "LANG", "TZ", "TMPDIR"}

func (t *tool) environ(key string) []string {
	var env []string
	for _, name := range append(passedOn[:len(passedOn):len(passedOn)], t.Env...) {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return append(env, KeyVariable+"="+key)
}
