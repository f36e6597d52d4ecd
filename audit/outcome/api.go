package outcome

import "nightaudit/trace"

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
	out := t.Classes(c.Tool)
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

// Path is a file's name as it was written, and the directory that it is relative
// to: "" where that is not known or the name says it by itself.
type Path struct{ Name, Cwd string }

// Full is the path, resolved as far as the directory is known.
func (p Path) Full() string { return join(p.Cwd, p.Name) }

// Files is the files that a call names.
type Files struct {
	Read, Written, Removed []Path
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

// Paths returns the files that a call reads, writes and removes: those of its
// arguments, and for a shell call those of each command.
func (t *Tables) Paths(run *trace.Run, c *trace.Call) (Files, error) {
	var out Files
	args, err := run.Value(c.Args)
	if err != nil {
		return out, err
	}
	shell, err := t.Commands(run, c)
	if err != nil {
		return out, err
	}
	for i := range shell.Commands {
		cmd := &shell.Commands[i]
		out.Read = appendPaths(out.Read, cmd.Cwd, cmd.Reads...)
		out.Written = appendPaths(out.Written, cmd.Cwd, cmd.Writes...)
		out.Removed = appendPaths(out.Removed, cmd.Cwd, cmd.Removes...)
	}
	classes, cwd := t.Classes(c.Tool), callCwd(run, c, args)
	for _, key := range []string{"file_path", "path", "filename", "notebook_path", "target_file"} {
		name := args.Get(key).Text()
		switch {
		case name == "" || classes[ClassShell]:
		case classes[ClassEdit]:
			out.Written = appendPaths(out.Written, cwd, name)
		default:
			out.Read = appendPaths(out.Read, cwd, name)
		}
	}
	return out, nil
}

// Cwd returns the directory that a call ran in, "" where it is not known.
func Cwd(run *trace.Run, c *trace.Call) (string, error) {
	args, err := run.Value(c.Args)
	if err != nil {
		return "", err
	}
	return callCwd(run, c, args), nil
}

func appendPaths(list []Path, cwd string, names ...string) []Path {
	for _, n := range names {
		if n != "" {
			list = append(list, Path{n, cwd})
		}
	}
	return list
}

// Tests returns the summary of the test run that a call was; nil where it was none.
func (t *Tables) Tests(run *trace.Run, c *trace.Call) (*Summary, error) { return nil, nil }

// TestsAsked reads a call that a claim takes for a test run.
func (t *Tables) TestsAsked(run *trace.Run, c *trace.Call) (*Summary, error) { return nil, nil }
