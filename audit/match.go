package audit

import (
	"cmp"
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
	veiled          // it may fit: what the matcher asks for was redacted
	fits
)

// match tries a matcher on call i. Commands are the simple commands that fit; nil
// where the call is no shell call, or the matcher is about the whole of it.
func (l *ledger) match(m *claims.Matcher, i int) (how fit, commands []int) {
	c := &l.run.Calls[i]
	if c.ResultOnly || m.Tool != "" && !globs(m.Tool, c.Tool) {
		return noFit, nil
	}
	f := l.facts(i)
	how = l.matchArgs(m, f)
	if how == noFit {
		return noFit, nil
	}
	byTool := m.Class == "" || l.tables.Classes(c.Tool)[outcome.Class(m.Class)]
	if f.shell.Text != "" && l.tables.IsMark(f.shell.Text) && (m.Cmd != nil || m.Path != "" || !byTool) {
		return veiled, nil
	}
	if m.Class != "" && !f.classes[outcome.Class(m.Class)] {
		return noFit, nil
	}
	var target fit
	switch {
	case len(f.shell.Commands) == 0 || byTool && m.Cmd == nil && m.Path == "" && m.Cwd == "":
		if m.Cmd != nil && (f.shell.Text == "" || !m.Cmd.MatchString(f.shell.Text)) {
			return noFit, nil
		}
		target = l.matchTarget(m, f)
	default:
		if commands, target = l.matchCommands(m, f, byTool); target == noFit {
			return noFit, nil
		}
	}
	return min(how, target), commands
}

// matchAny tries several matchers on call i: the one that it fits best counts.
func (l *ledger) matchAny(matchers []*claims.Matcher, i int) (how fit, commands []int) {
	for _, m := range matchers {
		if h, c := l.match(m, i); h > how {
			how, commands = h, c
		}
	}
	return how, commands
}

// matchArgs compares arguments: fits, veiled or noFit.
func (l *ledger) matchArgs(m *claims.Matcher, f *facts) fit {
	how := fits
	for _, a := range m.Args {
		switch v, ok := lookup(f.args, a.Path); {
		case ok && equal(v, a.Value):
		case ok && l.redacted(v) || l.redacted(f.args):
			how = veiled
		default:
			return noFit
		}
	}
	return how
}

// matchTarget compares path and cwd with a call as a whole: fits, veiled or
// otherTarget.
func (l *ledger) matchTarget(m *claims.Matcher, f *facts) fit {
	if m.Cwd != "" && !cwdFits(m.Cwd, f.cwd) {
		return otherTarget
	}
	return l.matchPath(m, f.files.For(outcome.Class(m.Class)))
}

// matchPath tells whether one of the paths that a call is about fits.
func (l *ledger) matchPath(m *claims.Matcher, paths []outcome.Path) fit {
	if m.Path == "" {
		return fits
	}
	how := otherTarget
	for _, p := range paths {
		switch {
		case pathFits(m.Path, p.Full(), l.run.Cwd):
			return fits
		case l.tables.IsMark(p.Name):
			how = veiled
		}
	}
	return how
}

// matchCommands finds the simple commands of a shell call that fit class and cmd,
// and of these the ones that fit path and cwd. Where none fits cmd, the whole
// command is tried.
func (l *ledger) matchCommands(m *claims.Matcher, f *facts, byTool bool) (list []int, how fit) {
	named := false // a command fits cmd, whatever its class
	for k := range f.shell.Commands {
		cmd := &f.shell.Commands[k]
		if m.Cmd != nil && !m.Cmd.MatchString(cmd.Text) {
			continue
		}
		named = true
		if !byTool && !cmd.Classes[outcome.Class(m.Class)] {
			continue
		}
		target := otherTarget
		if cwd := cmd.Cwd; m.Cwd == "" || cwdFits(m.Cwd, cmp.Or(cwd, f.cwd)) {
			target = l.matchPath(m, cmd.Files().For(outcome.Class(m.Class)))
		}
		if target > how {
			list, how = nil, target
		}
		if target == how {
			list = append(list, k)
		}
	}
	if how == noFit && !named && m.Cmd.MatchString(f.shell.Text) {
		return nil, l.matchTarget(m, f)
	}
	return meant(f.shell.Commands, list), how
}

// meant leaves out of the commands that fit a matcher those that only speak of
// another one that does: echo, and a command that takes the output of the other.
func meant(commands []outcome.Command, list []int) []int {
	around := func(k, inner int) bool {
		return inner < k && commands[k].Dynamic && strings.ContainsAny(commands[k].Text, "$`<>") && strings.Contains(commands[k].Text, commands[inner].Text)
	}
	if len(list) < 2 {
		return list
	}
	var out []int
	for _, k := range list {
		if !harmless(commands[k]) && !slices.ContainsFunc(list, func(inner int) bool { return around(k, inner) }) {
			out = append(out, k)
		}
	}
	if len(out) == 0 {
		return list
	}
	return out
}

func globs(pattern, name string) bool {
	return claims.Glob(pattern, strings.ReplaceAll(name, "/", "\x00")) // a tool's name has no folders
}

// candidates lists what fits a matcher, or one of several, from the re-run's first
// call on: calls, and of shell calls each command. Others are the calls that fit
// all of it but the target, hidden those of which a redaction keeps it from being
// told.
func (l *ledger) candidates(matchers ...*claims.Matcher) (list []candidate, others, hidden []int) {
	for i := l.from; i < len(l.run.Calls); i++ {
		switch how, commands := l.matchAny(matchers, i); how {
		case fits:
			if commands == nil {
				list = append(list, candidate{call: i, command: -1})
			}
			for at, k := range commands {
				if !l.again(i, k, commands[at+1:]) {
					list = append(list, candidate{i, k, commands})
				}
			}
		case otherTarget:
			others = append(others, i)
		case veiled:
			hidden = append(hidden, i)
		}
	}
	return list, others, hidden
}

// again tells whether a command of call i is run once more by one of those behind it.
func (l *ledger) again(i, command int, behind []int) bool {
	list := l.facts(i).shell.Commands
	return slices.ContainsFunc(behind, func(k int) bool { return list[k].Group() == list[command].Group() })
}

// candidate is a call that fits, its simple command that does (-1: the whole of
// it), and all of them that do.
type candidate struct {
	call, command int
	all           []int
}

// becameOf returns what became of a candidate.
func (l *ledger) becameOf(c candidate) outcome.Outcome { return l.became(c.call, c.all) }

func callsOf(list []candidate) []int {
	out := make([]int, 0, len(list))
	for _, c := range list {
		out = append(out, c.call)
	}
	return slices.Compact(out)
}
