package outcome

import (
	"strings"

	"nightaudit/trace"
)

// View is one call as it is judged: its outcome, its classes, what it ran and
// which files it named. Each is worked out when it is first asked for, and once,
// since every requirement looks at every call. What it keeps is small: a parsed
// command and the answers, never the bytes of a result. It is not safe for
// concurrent use.
type View struct {
	tables *Tables
	run    *trace.Run
	call   *trace.Call

	outcome memo[Outcome]
	apart   memo[Outcome] // but for what tests say
	classes memo[Set]
	parsed  memo[Shell]
	shell   memo[Shell]
	files   memo[Files]
	summary memo[*Summary]
	asked   memo[*Summary] // where a claim takes the call for a test run
}

// View returns the view of a call by these tables.
func (t *Tables) View(run *trace.Run, c *trace.Call) *View {
	return &View{tables: t, run: run, call: c}
}

// memo is what is worked out once.
type memo[T any] struct {
	done  bool
	value T
	err   error
}

func (m *memo[T]) get(work func() (T, error)) (T, error) {
	if !m.done {
		m.value, m.err = work()
		m.done = true
	}
	return m.value, m.err
}

// Outcome judges the call. It reads the call's bodies only where the flags do not
// decide; the error is that of reading them.
func (v *View) Outcome() (Outcome, error) {
	return v.outcome.get(func() (Outcome, error) { return v.judge(true) })
}

// OutcomeApart judges the call without asking what tests it ran: what became of
// those of its commands that run none.
func (v *View) OutcomeApart() (Outcome, error) {
	return v.apart.get(func() (Outcome, error) { return v.judge(false) })
}

// Shell reads what a call of class shell ran; the zero Shell for a call of any
// other class, and for one without a command. A script or a build that has run
// tests, as its output says, has the class test beside its own.
func (v *View) Shell() (Shell, error) {
	return v.shell.get(func() (Shell, error) {
		s, err := v.parse()
		if err != nil || s.tests() || !s.mayTest() {
			return s, err
		}
		tests, err := v.Tests()
		if err != nil || tests == nil {
			return s, err
		}
		for i := range s.Commands {
			if s.Commands[i].mayTest() {
				s.Commands[i].Classes[ClassTest] = true
			}
		}
		return s, nil
	})
}

// parse parses the command, without asking what its output says.
func (v *View) parse() (Shell, error) {
	return v.parsed.get(func() (Shell, error) { return v.tables.commands(v.run, v.call) })
}

// tests tells whether one of the commands is known for a test run.
func (s *Shell) tests() bool {
	for i := range s.Commands {
		if s.Commands[i].Classes[ClassTest] {
			return true
		}
	}
	return false
}

func (s *Shell) mayTest() bool {
	for i := range s.Commands {
		if s.Commands[i].mayTest() {
			return true
		}
	}
	return false
}

// mayTest tells whether a command runs tests if its output holds their summary: a
// script, or a build that also tests.
func (c *Command) mayTest() bool { return c.opaque || c.Invokes != "" }

// Classes returns the classes of the call: those of its tool, and for a shell call
// those of each of its commands.
func (v *View) Classes() (Set, error) {
	return v.classes.get(func() (Set, error) {
		args, err := v.run.Value(v.call.Args)
		if err != nil {
			return nil, err
		}
		out := v.tables.classesOf(v.call, args)
		shell, err := v.Shell()
		for i := range shell.Commands {
			for class := range shell.Commands[i].Classes {
				out[class] = true
			}
		}
		return out, err
	})
}

// classesOf is the classes of a call by its tool: a tool that both shows and
// edits files says in its arguments which of them it does.
func (t *Tables) classesOf(c *trace.Call, args trace.Value) Set {
	out := t.Classes(c.Tool)
	if out[ClassEdit] && strings.EqualFold(args.Get("command").Text(), "view") {
		delete(out, ClassEdit)
		out[ClassRead] = true
	}
	return out
}

// Files returns the files that the call reads, writes and removes: those of its
// arguments, and for a shell call those of each command.
func (v *View) Files() (Files, error) { return v.files.get(v.paths) }

// Tests returns the summary of the test run that the call was. It is nil where no
// command of the call invoked a runner (printing a saved log is no test run), and
// where the output holds no summary that is known. A script or a target counts as
// a runner when what it prints holds a summary.
func (v *View) Tests() (*Summary, error) {
	return v.summary.get(func() (*Summary, error) { return v.tests(false) })
}

// TestsAsked reads the summary of a call that a claim takes for a test run: of
// any call but one that only prints what is there.
func (v *View) TestsAsked() (*Summary, error) {
	return v.asked.get(func() (*Summary, error) { return v.tests(true) })
}

// Cwd returns the directory that the call ran in, "" where it is not known.
func (v *View) Cwd() (string, error) {
	args, err := v.run.Value(v.call.Args)
	if err != nil {
		return "", err
	}
	return callCwd(v.run, v.call, args), nil
}
