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
	opaque := false
	for i := range shell.Commands {
		opaque = opaque || shell.Commands[i].opaque
		for class := range shell.Commands[i].Classes {
			out[class] = true
		}
	}
	if opaque && !out[ClassTest] { // a script that prints a summary has run tests
		tests, err := t.Tests(run, c)
		if err != nil {
			return nil, err
		}
		if tests != nil {
			out[ClassTest] = true
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

// Cwd returns the directory that a call ran in, "" where it is not known.
func Cwd(run *trace.Run, c *trace.Call) (string, error) {
	args, err := run.Value(c.Args)
	if err != nil {
		return "", err
	}
	return callCwd(run, c, args), nil
}
