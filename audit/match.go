package audit

import (
	"path"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
)

// facts is what matchers ask of a call, worked out once.
type facts struct {
	classes outcome.Set
	shell   outcome.Shell
	files   outcome.Files
	paths   touched
	cwd     string // "" unknown
	args    any    // decoded; nil where none are recorded
}

// touched is the paths that a call names, resolved as far as their directory is
// known. Named are those of a tool whose effect on the file is not known.
type touched struct{ Read, Written, Removed, Named []string }

func full(list []outcome.Path) []string {
	out := make([]string, 0, len(list))
	for _, p := range list {
		out = append(out, p.Full())
	}
	return out
}

// facts returns what is known of call i.
func (l *ledger) facts(i int) *facts {
	if l.known == nil {
		l.known = make([]*facts, len(l.run.Calls))
	}
	if l.known[i] != nil {
		return l.known[i]
	}
	v := l.view(i)
	f := &facts{}
	var err error
	note := func(e error) {
		if e != nil {
			l.fail(i, e)
		}
	}
	f.classes, err = v.Classes()
	note(err)
	f.shell, err = v.Shell()
	note(err)
	files, err := v.Files()
	note(err)
	f.files = files
	f.paths = touched{Read: full(files.Read), Written: full(files.Written), Removed: full(files.Removed), Named: full(files.Named)}
	if args, ok := l.args(i); ok {
		f.args = args
	}
	f.cwd, err = v.Cwd()
	note(err)
	l.known[i] = f
	return f
}

// fit says how a call fits a matcher.
type fit int

const (
	noFit       fit = iota
	otherTarget     // all but path or cwd
	fits
)

// match tries a matcher on call i. Command is the index of the simple command
// that fits, -1 where the call is no shell call or the whole command fits.
func (l *ledger) match(m *claims.Matcher, i int) (how fit, command int) {
	c := &l.run.Calls[i]
	command = -1
	if c.ResultOnly || m.Tool != "" && !globs(m.Tool, c.Tool) {
		return noFit, command
	}
	f := l.facts(i)
	if m.Class != "" && !f.classes[outcome.Class(m.Class)] {
		return noFit, command
	}
	for _, a := range m.Args {
		if v, ok := lookup(f.args, a.Path); !ok || !equal(v, a.Value) {
			return noFit, command
		}
	}
	if m.Cmd != nil || m.Class != "" && len(f.shell.Commands) > 0 && !l.tables.Classes(c.Tool)[outcome.Class(m.Class)] {
		var ok bool
		if command, ok = matchCommand(m, f); !ok {
			return noFit, command
		}
	}
	if m.Path != "" && !l.matchPath(m, f) || m.Cwd != "" && !matchCwd(m.Cwd, f, command) {
		return otherTarget, command
	}
	return fits, command
}

func globs(pattern, name string) bool {
	return claims.Glob(pattern, strings.ReplaceAll(name, "/", "\x00")) // a tool's name has no folders
}

// matchCommand finds the simple command of a shell call that fits class and cmd;
// the whole command is tried too.
func matchCommand(m *claims.Matcher, f *facts) (int, bool) {
	byTool := m.Class == "" || m.Class == string(outcome.ClassShell)
	for k, cmd := range f.shell.Commands {
		if (byTool || cmd.Classes[outcome.Class(m.Class)]) && (m.Cmd == nil || m.Cmd.MatchString(cmd.Text)) {
			return k, true
		}
	}
	return -1, m.Cmd != nil && f.shell.Text != "" && m.Cmd.MatchString(f.shell.Text)
}

// matchPath tells whether one of the paths that the call touches fits: for edits
// those that it writes or removes, for reads those that it reads.
func (l *ledger) matchPath(m *claims.Matcher, f *facts) bool {
	return slices.ContainsFunc(full(f.files.For(outcome.Class(m.Class))), func(p string) bool { return pathFits(m.Path, p, l.run.Cwd) })
}

// slashed is a path with slashes for the backslashes of Windows.
func slashed(p string) string { return path.Clean(strings.ReplaceAll(p, `\`, "/")) }

// rooted tells whether a path with slashes says by itself where it is: from the
// root, from a home directory, or from a drive.
func rooted(p string) bool {
	return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~") || len(p) > 2 && p[1] == ':' && p[2] == '/'
}

// pathFits matches a glob. A relative one is tried on the path relative to the
// run's working directory, else on every suffix that begins after a slash.
func pathFits(glob, p, cwd string) bool {
	p = slashed(p)
	if cwd != "" {
		cwd = slashed(cwd)
	}
	try := func(s string) bool { return claims.Glob(glob, s) }
	if rooted(glob) {
		if !rooted(p) && cwd != "" {
			p = path.Join(cwd, p)
		}
		return try(p)
	}
	if cwd != "" && rooted(p) {
		if rel, ok := strings.CutPrefix(p, strings.TrimSuffix(cwd, "/")+"/"); ok {
			return try(rel)
		}
	}
	if !rooted(p) && cwd != "" {
		return try(p)
	}
	if try(p) {
		return true
	}
	for i := 0; i < len(p); i++ {
		if p[i] == '/' && try(p[i+1:]) {
			return true
		}
	}
	return false
}

// matchCwd tells whether a call ran in a directory or below. One whose directory
// is not known may have.
func matchCwd(dir string, f *facts, command int) bool {
	cwd := f.cwd
	if command >= 0 && f.shell.Commands[command].Cwd != "" {
		cwd = f.shell.Commands[command].Cwd
	}
	if cwd == "" {
		return true
	}
	dir, cwd = slashed(dir), slashed(cwd)
	switch {
	case !rooted(dir):
		return strings.Contains("/"+cwd+"/", "/"+dir+"/")
	case !rooted(cwd):
		return true // below a directory that is not known
	}
	return cwd == dir || strings.HasPrefix(cwd, strings.TrimSuffix(dir, "/")+"/")
}

// owned tells whether a failure of call i is that of the command that fits: for a
// shell call whose exit code says so only if no other command could have set it.
// Commands that cannot fail (echo, true) do not count.
func (l *ledger) owned(i, command int) bool {
	f := l.facts(i)
	if l.outcome(i).Evidence != outcome.ExitCode || len(f.shell.Commands) < 2 || command < 0 {
		return true
	}
	for k, cmd := range f.shell.Commands {
		if k != command && (k > command || cmd.Trusted) && !harmless(cmd) {
			return false
		}
	}
	return f.shell.Commands[command].Trusted
}

// endsChain tells whether the command that fits is the last one of a call whose
// exit code says what became of it: where the code is no success this command has
// not succeeded, though it may be another one before it that failed.
func (l *ledger) endsChain(i, command int) bool {
	commands := l.facts(i).shell.Commands
	if command < 0 || !commands[command].Trusted {
		return false
	}
	return !slices.ContainsFunc(commands[command+1:], func(cmd outcome.Command) bool { return !harmless(cmd) })
}

// harmless holds for commands that succeed, or that fail only where the directory
// is wrong, so that what stands beside them owns the status.
func harmless(cmd outcome.Command) bool {
	if len(cmd.Argv) == 0 {
		return true
	}
	switch cmd.Argv[0] {
	case "cd", "echo", "printf", "true", ":", "set", "export", "source", ".", "pwd", "sleep":
		return true
	}
	return false
}

// trusted tells whether the status that call i records is that of the command
// which fits.
func (l *ledger) trusted(i, command int) bool {
	f := l.facts(i)
	switch {
	case len(f.shell.Commands) == 0:
		return f.shell.Parsed || f.shell.Text == ""
	case command >= 0:
		return f.shell.Commands[command].Trusted
	default:
		return f.shell.Commands[len(f.shell.Commands)-1].Trusted
	}
}

// candidates lists the calls from the re-run's first on that fit a matcher, and
// those that fit all of it but the target.
func (l *ledger) candidates(m *claims.Matcher) (list []candidate, others []int) {
	for i := l.from; i < len(l.run.Calls); i++ {
		switch how, command := l.match(m, i); how {
		case fits:
			list = append(list, candidate{i, command})
		case otherTarget:
			others = append(others, i)
		}
	}
	return list, others
}

// candidate is a call that fits, and its simple command that does.
type candidate struct{ call, command int }

func callsOf(list []candidate) []int {
	out := make([]int, 0, len(list))
	for _, c := range list {
		out = append(out, c.call)
	}
	return out
}
