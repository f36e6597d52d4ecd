package outcome

import (
	"strings"

	"nightaudit/trace"
)

// Commands reads a shell call by the default tables; see Tables.Commands.
func Commands(run *trace.Run, c *trace.Call) (Shell, error) { return defaults.Commands(run, c) }

// Classify is Tables.Classify by the default tables.
func Classify(run *trace.Run, c *trace.Call) (Set, error) { return defaults.Classify(run, c) }

// Paths is Tables.Paths by the default tables.
func Paths(run *trace.Run, c *trace.Call) (Files, error) { return defaults.Paths(run, c) }

// Tests is Tables.Tests by the default tables.
func Tests(run *trace.Run, c *trace.Call) (*Summary, error) { return defaults.Tests(run, c) }

// TestsAsked is Tables.TestsAsked by the default tables.
func TestsAsked(run *trace.Run, c *trace.Call) (*Summary, error) { return defaults.TestsAsked(run, c) }

// Classify returns the classes of a call: those of its tool, and for a shell call
// those of each of its commands.
func (t *Tables) Classify(run *trace.Run, c *trace.Call) (Set, error) {
	args, err := run.Value(c.Args)
	if err != nil {
		return nil, err
	}
	out := t.classesOf(c, args)
	shell, err := t.Commands(run, c)
	if err != nil {
		return nil, err
	}
	for i := range shell.Commands {
		for class := range shell.Commands[i].Classes {
			out[class] = true
		}
	}
	return out, nil
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

// Summary is what a test runner said it did.
type Summary struct {
	Runner                          string
	Passed, Failed, Errors, Skipped int
	// Counted is false where the runner printed no numbers (go test without -v).
	Counted bool
	// None is set when it said that there were no tests to run.
	None bool
}

// Total is the number of tests.
func (s *Summary) Total() int { return s.Passed + s.Failed + s.Errors + s.Skipped }

// Failing tells whether a test failed or could not be run.
func (s *Summary) Failing() bool { return s.Failed+s.Errors > 0 }

// Cwd returns the directory that a call ran in, "" where it is not known.
func Cwd(run *trace.Run, c *trace.Call) (string, error) {
	args, err := run.Value(c.Args)
	if err != nil {
		return "", err
	}
	return callCwd(run, c, args), nil
}

// Tests returns the summary of the test run that a call was; nil where it was none.
func (t *Tables) Tests(run *trace.Run, c *trace.Call) (*Summary, error) { return nil, nil }

// TestsAsked reads a call that a claim takes for a test run.
func (t *Tables) TestsAsked(run *trace.Run, c *trace.Call) (*Summary, error) { return nil, nil }
