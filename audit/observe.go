package audit

import (
	"slices"
	"strings"

	"nightaudit/audit/outcome"
)

// observation finds the first later look at what call i has changed, and what it
// returned: an ok read or search of the path, a diff or status that covers it, any
// test run or build; for a command that touches no path a later test, build or
// check.
func (l *ledger) observation(i int) (at int, text string, found bool) {
	f := l.facts(i)
	targets := slices.Concat(f.paths.Written, f.paths.Removed, f.paths.Named)
	for k := i + 1; k < len(l.run.Calls); k++ {
		if l.run.Calls[k].ResultOnly || l.outcome(k).Kind != outcome.OK {
			continue
		}
		if !l.looksAt(k, targets) {
			continue
		}
		text, err := outcome.Output(l.run, &l.run.Calls[k])
		if err != nil {
			l.fail(k, err)
		}
		return k, text, true
	}
	return 0, "", false
}

// looksAt tells whether call k looks at one of the targets.
func (l *ledger) looksAt(k int, targets []string) bool {
	f := l.facts(k)
	if f.classes[outcome.ClassTest] || f.classes[outcome.ClassBuild] {
		return true
	}
	for _, cmd := range f.shell.Commands {
		if gitLook(cmd) && (len(targets) > 0 && coversAll(cmd) || anySame(cmd.Argv, targets)) {
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
