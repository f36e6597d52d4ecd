package audit

import (
	"slices"

	"nightaudit/audit/outcome"
)

// became returns what became of the commands of call i that fit a matcher: where
// none of them runs tests, tests that failed beside them say nothing of them.
func (l *ledger) became(i int, commands []int) outcome.Outcome {
	o := l.outcome(i)
	if o.Evidence != outcome.TestsFailed || commands == nil {
		return o
	}
	list := l.facts(i).shell.Commands
	if slices.ContainsFunc(commands, func(k int) bool { return list[k].Classes[outcome.ClassTest] }) {
		return o
	}
	apart, err := l.view(i).OutcomeApart()
	if err != nil {
		l.fail(i, err)
	}
	return apart
}

// owned tells whether a failure of call i is that of the commands that fit: only if
// no other command could have set the status that says so, or printed the tests
// that failed. Commands that cannot fail (echo, true) do not count.
func (l *ledger) owned(i int, commands []int) bool {
	list := l.facts(i).shell.Commands
	if commands == nil || len(list) < 2 {
		return true
	}
	var other func(k int) bool // whether it may be another command's failure
	switch l.became(i, commands).Evidence {
	case outcome.TestsFailed:
		other = func(k int) bool { return list[k].Classes[outcome.ClassTest] }
	case outcome.ExitCode, outcome.Flag, outcome.Status:
		if !slices.ContainsFunc(commands, func(k int) bool { return list[k].Trusted }) {
			return false
		}
		other = func(k int) bool { return (k > commands[0] || list[k].Trusted) && !harmless(list[k]) }
	default:
		return true
	}
	for k := range list {
		if other(k) && !slices.Contains(commands, k) {
			return false
		}
	}
	return true
}

// endsChain tells whether the command that fits is the last one of a call whose
// status says what became of it: where that is no success this command has not
// succeeded, though it may be another one before it that failed.
func (l *ledger) endsChain(i, command int) bool {
	commands := l.facts(i).shell.Commands
	if command < 0 || !commands[command].Trusted || l.became(i, []int{command}).Evidence == outcome.TestsFailed {
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
