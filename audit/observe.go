package audit

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"nightaudit/audit/outcome"
)

// observation finds the first later look at what call i has changed: an ok read or search of the path, a diff or status that covers it, any
// test run or build; for a command that touches no path a later test, build or
// check.
func (l *ledger) observation(i int) (at int, found bool) {
	f := l.facts(i)
	targets := slices.Concat(f.paths.Written, f.paths.Removed, f.paths.Named)
	if l.looksItself(i, targets) {
		return i, true
	}
	for k := i + 1; k < len(l.run.Calls); k++ {
		if l.run.Calls[k].ResultOnly || l.outcome(k).Kind != outcome.OK {
			continue
		}
		if l.looksAt(k, targets) {
			return k, true
		}
	}
	return 0, false
}

// looksItself tells whether a shell call that edits also looks, with a command
// behind the last one that edits: sed -i … a.py && grep … a.py.
func (l *ledger) looksItself(i int, targets []string) bool {
	commands := l.facts(i).shell.Commands
	last := -1
	for k, cmd := range commands {
		if cmd.Classes[outcome.ClassEdit] {
			last = k
		}
	}
	if last < 0 || l.outcome(i).Kind != outcome.OK {
		return false
	}
	return slices.ContainsFunc(commands[last+1:], func(cmd outcome.Command) bool {
		reads := cmd.Classes[outcome.ClassRead] || cmd.Classes[outcome.ClassSearch] || looks[programOf(cmd)]
		return cmd.Trusted && (cmd.Classes[outcome.ClassTest] || cmd.Classes[outcome.ClassBuild] ||
			reads && slices.ContainsFunc(cmd.Reads, func(p string) bool {
				return anySame([]string{outcome.Path{Name: p, Cwd: cmd.Cwd}.Full()}, targets)
			}))
	})
}

// looks are the programs that look at a file without returning what it holds.
var looks = map[string]bool{"wc": true, "stat": true, "diff": true, "cmp": true, "test": true, "[": true, "file": true, "md5sum": true, "sha256sum": true}

// readBack finds the first later call that returns what stands in a target of
// call i, and one that still returns the stale text. It ends where the target is
// written again: from there on it holds somebody else's text. Redacted is a call
// whose text was taken out. All are -1 where there is none.
func (l *ledger) readBack(i int, stale string) (first, old, redacted int) {
	first, old, redacted = -1, -1, -1
	f := l.facts(i)
	targets := slices.Concat(f.paths.Written, f.paths.Removed, f.paths.Named)
	for k := i + 1; k < len(l.run.Calls); k++ {
		if l.run.Calls[k].ResultOnly || l.outcome(k).Kind != outcome.OK {
			continue
		}
		if g := l.facts(k); anySame(slices.Concat(g.paths.Written, g.paths.Removed), targets) {
			break
		}
		if !l.returns(k, targets) {
			continue
		}
		text, err := outcome.Output(l.run, &l.run.Calls[k])
		if err != nil {
			l.fail(k, err)
		}
		switch {
		case l.tables.IsMark(text):
			redacted = k
		case strings.Contains(l.present(k, text, targets), stale):
			return first, k, redacted
		case first < 0:
			first = k
		}
	}
	return first, old, redacted
}

// returns tells whether call k returns text out of one of the targets: listings
// and the runs of tests look at files too, but say nothing of what they hold.
func (l *ledger) returns(k int, targets []string) bool {
	f := l.facts(k)
	if len(f.shell.Commands) == 0 {
		return (f.classes[outcome.ClassRead] || f.classes[outcome.ClassSearch]) && !f.classes[outcome.ClassTest] && l.looksAt(k, targets)
	}
	for _, cmd := range f.shell.Commands {
		switch {
		case gitLook(cmd) && cmd.Argv[1] != "status":
			if covers(cmd, targets) {
				return true
			}
		case lists[programOf(cmd)] || !cmd.Classes[outcome.ClassRead] && !cmd.Classes[outcome.ClassSearch]:
		default:
			for _, p := range cmd.Reads {
				p = outcome.Path{Name: p, Cwd: cmd.Cwd}.Full()
				if anySame([]string{p}, targets) || cmd.Classes[outcome.ClassSearch] && slices.ContainsFunc(targets, func(t string) bool { return below(t, p) }) {
					return true
				}
			}
		}
	}
	return false
}

// lists are the searching programs that return names.
var lists = map[string]bool{"ls": true, "tree": true, "find": true, "fd": true, "eza": true, "exa": true, "dir": true, "locate": true}

// present is what a text that call k returned shows of the targets as they are: of
// a diff neither what was taken out nor what belongs to another file, of a search
// below a folder the lines of the targets.
func (l *ledger) present(k int, text string, targets []string) string {
	f := l.facts(k)
	wide := f.classes[outcome.ClassSearch] && !f.classes[outcome.ClassRead] && !anySame(f.paths.Read, targets)
	if !wide && !strings.Contains(text, "@@ ") {
		return text
	}
	var out []string
	mine := true
	for line := range strings.SplitSeq(text, "\n") {
		if wide {
			if name, _, ok := strings.Cut(line, ":"); ok && anySame([]string{name}, targets) {
				out = append(out, line)
			}
			continue
		}
		if name, ok := strings.CutPrefix(line, "+++ "); ok {
			name, _, _ = strings.Cut(strings.TrimPrefix(name, "b/"), "\t")
			mine = anySame([]string{name}, targets)
			continue
		}
		if mine && !strings.HasPrefix(line, "-") {
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(line, "+"), " "))
		}
	}
	return strings.Join(out, "\n")
}

// looksAt tells whether call k looks at one of the targets.
func (l *ledger) looksAt(k int, targets []string) bool {
	f := l.facts(k)
	if f.classes[outcome.ClassTest] || f.classes[outcome.ClassBuild] || len(targets) == 0 && l.checks(k) {
		return true
	}
	for _, cmd := range f.shell.Commands {
		if gitLook(cmd) && covers(cmd, targets) {
			return true
		}
	}
	for _, cmd := range f.shell.Commands {
		if looks[programOf(cmd)] && slices.ContainsFunc(cmd.Reads, func(p string) bool {
			return anySame([]string{outcome.Path{Name: p, Cwd: cmd.Cwd}.Full()}, targets)
		}) {
			return true
		}
	}
	if !f.classes[outcome.ClassRead] && !f.classes[outcome.ClassSearch] {
		return false
	}
	for _, p := range f.paths.Read {
		for _, t := range targets {
			if samePath(p, t) || f.classes[outcome.ClassSearch] && below(t, p) {
				return true
			}
		}
	}
	return false
}

// checkWord are the words by which a command or a tool is known that looks at the
// state of something that is no file.
var checkWord = regexp.MustCompile(`(?i)(^|[^a-z])(check|checks|status|health|healthz|healthcheck|verify|validate|is-active)($|[^a-z])`)

// checks tells whether call k checks the state of what commands work on. The
// status of a working tree is none: it says nothing of what a command has done
// elsewhere.
func (l *ledger) checks(k int) bool {
	f := l.facts(k)
	if f.shell.Text == "" {
		return checkWord.MatchString(l.run.Calls[k].Tool)
	}
	return slices.ContainsFunc(f.shell.Commands, func(cmd outcome.Command) bool {
		return cmd.Trusted && !cmd.Classes[outcome.ClassVCS] && len(cmd.Argv) > 1 && !harmless(cmd) && checkWord.MatchString(strings.Join(cmd.Argv[1:], " "))
	})
}

// programOf is the name of the program that a command runs.
func programOf(cmd outcome.Command) string {
	if len(cmd.Argv) == 0 {
		return ""
	}
	return path.Base(slashed(cmd.Argv[0]))
}

// gitLook holds for the git commands that show what has changed.
func gitLook(cmd outcome.Command) bool {
	if len(cmd.Argv) < 2 || cmd.Argv[0] != "git" {
		return false
	}
	switch cmd.Argv[1] {
	case "diff", "show", "status":
		return true
	}
	return false
}

// covers tells whether a git command shows one of the targets: by its name, with
// the folder that it lies in, or with everything.
func covers(cmd outcome.Command, targets []string) bool {
	if len(targets) > 0 && coversAll(cmd) || anySame(cmd.Argv, targets) {
		return true
	}
	return slices.ContainsFunc(cmd.Argv[2:], func(word string) bool {
		return strings.HasSuffix(word, "/") && slices.ContainsFunc(targets, func(t string) bool { return below(t, word) })
	})
}

// coversAll holds for a git command that names no path, and so shows them all.
func coversAll(cmd outcome.Command) bool {
	for _, a := range cmd.Argv[2:] {
		if !strings.HasPrefix(a, "-") && a != "HEAD" && !strings.Contains(a, "..") && !strings.HasPrefix(a, "HEAD") {
			return false
		}
	}
	return true
}

func anySame(argv, targets []string) bool {
	for _, a := range argv {
		for _, t := range targets {
			if samePath(a, t) {
				return true
			}
		}
	}
	return false
}

// samePath tells whether two paths, each absolute or relative, can name one file:
// the one ends with the other.
func samePath(a, b string) bool {
	if a == "" || b == "" {
		return false
	}
	a, b = slashed(a), slashed(b)
	return a == b || strings.HasSuffix(a, "/"+strings.TrimPrefix(b, "./")) || strings.HasSuffix(b, "/"+strings.TrimPrefix(a, "./"))
}

// below tells whether a path lies in a directory.
func below(p, dir string) bool {
	p, dir = slashed(p), slashed(dir)
	return dir == "." || strings.HasPrefix(p, dir+"/") || strings.Contains(p, "/"+dir+"/")
}
