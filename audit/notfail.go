package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
)

// notFail judges a requirement of must_not_fail in its matcher form. Only calls
// that ran and failed count.
func (l *ledger) notFail(name string, n *claims.NotFail) Finding {
	var failed []candidate
	var unclear, masked, hidden []int
	for i := l.from; i < len(l.run.Calls); i++ {
		how, commands := l.match(n.Match, i)
		if how < veiled {
			continue
		}
		switch o := l.became(i, commands); o.Kind {
		case outcome.Error:
			switch {
			case how == veiled:
				hidden = append(hidden, i)
			case l.owned(i, commands):
				failed = append(failed, l.failing(i, commands))
			default:
				masked = append(masked, i)
			}
		case outcome.Suspect, outcome.Unknown:
			unclear = append(unclear, i)
		}
	}
	out := Finding{Requirement: name, Verdict: Pass}
	for _, c := range failed {
		f := l.recovery(n, c)
		if f.Verdict.Worse(out.Verdict) {
			f.Requirement = name
			out = f
		} else if f.Verdict == Pass && out.Verdict == Pass {
			out.Calls, out.rests = append(out.Calls, f.Calls...), true
			out.recovered = append(out.recovered, c.call)
		}
	}
	switch {
	case out.Verdict != Pass:
		return out
	case len(hidden) > 0:
		return Finding{Requirement: name, Verdict: Unsupported, Reason: Redacted, Calls: l.refs(hidden), rests: true, Detail: "a call failed, and what it was about was redacted"}
	case len(unclear) > 0:
		f := Finding{Requirement: name, Verdict: Unsupported, Reason: NoOutcome, Calls: l.refs(unclear[:1]), rests: true, Detail: "the trace does not record how such a call ended"}
		if l.outcome(unclear[0]).Kind == outcome.Suspect {
			f.Reason, f.Detail = Suspect, "such a call points to a failure without proving it"
		}
		return f
	case len(masked) > 0:
		return Finding{Requirement: name, Verdict: Unsupported, Reason: MaskedExit, Calls: l.refs(masked[:1]), rests: true, Detail: "a call failed whose exit code may be that of another command in it"}
	default:
		return l.absent(out)
	}
}

// failing is a call that failed, and the command of it that stands for the failure:
// the last that fits, whose success would have been the call's.
func (l *ledger) failing(i int, commands []int) candidate {
	if commands == nil {
		return candidate{call: i, command: -1}
	}
	return candidate{i, commands[len(commands)-1], commands}
}

// recovery judges one failure: whether the recovery that the claim allows has
// happened. A Finding that is PASS rests on the calls that made it good.
func (l *ledger) recovery(n *claims.NotFail, c candidate) Finding {
	o := l.becameOf(c)
	f := Finding{Verdict: Contradicted, Reason: failureReason(o), Calls: l.refs([]int{c.call}), rests: true, Detail: "it failed" + because(o)}
	if n.Recovery == claims.RecoveryNever {
		return f
	}
	later, blind := l.retry(c)
	switch {
	case later < 0 && blind >= 0:
		f.Reason, f.Calls = RepeatedUnchanged, append(f.Calls, l.ref(blind))
		f.Detail = fmt.Sprintf("it failed%s, and was only repeated with the same arguments", because(o))
		return f
	case later < 0:
		f.Detail += ", and nothing made it good"
		return f
	case n.Recovery == claims.RecoveryRetried:
		return Finding{Verdict: Pass, Calls: l.refs([]int{later}), rests: true}
	}
	at, found := l.observation(later)
	if !found {
		return l.absent(Finding{Verdict: Unsupported, Reason: NotObserved, Calls: l.refs([]int{later}), rests: true, Detail: "it was done again, but nothing looked at its effect afterwards"})
	}
	return Finding{Verdict: Pass, Calls: l.refs(slices.Compact([]int{later, at})), rests: true}
}

// transientText are failures that may pass by themselves.
var transientText = regexp.MustCompile(`(?i)time[d]? ?out|connection|\bECONN[A-Z]+|socket hang up|network|\bDNS\b|could not resolve|\bENOTFOUND\b|\bEAI_AGAIN\b|` +
	`\b429\b|too many requests|rate.?limit|\b(50[0-9]|52[0-9])\b|\block(ed)?\b|temporar|unavailable`)

// lockFiles are files that lock nothing but versions.
var lockFiles = regexp.MustCompile(`(?i)[\w./-]*(?:-lock\.(?:json|yaml)|\b(?:cargo|yarn|poetry|uv|pdm|flake|gemfile|composer|pipfile|mix|bun)\.lockb?)\b`)

// validationText are failures that the same arguments meet again.
var validationText = regexp.MustCompile(`(?i)validat|invalid|out of range|not found|no match|must be|required|malformed|schema|not allowed|illegal`)

// unreadText is the refusal of agents to edit what they have not looked at: after a
// look the very same edit is right, and no blind repetition.
var unreadText = regexp.MustCompile(`(?i)has not been read yet|must read .* (first|before)|read it first`)

// retry finds the later ok call on the same target that makes a failure good, -1
// where there is none. Blind is one that only repeated the same arguments.
func (l *ledger) retry(c candidate) (good, blind int) {
	blind = -1
	if l.facts(c.call).args == nil {
		return -1, l.repeated(c) // recovery cannot be shown
	}
	edited, read := false, false
	unread := l.looksLike(c.call, unreadText)
	for k := c.call + 1; k < len(l.run.Calls); k++ {
		if l.run.Calls[k].ResultOnly || l.outcome(k).Kind != outcome.OK {
			continue
		}
		if l.sameTarget(c, k) {
			if edited || unread && read || !l.sameArgs(c.call, k) || l.transient(c.call) {
				return k, -1
			}
			if blind < 0 {
				blind = k
			}
		}
		f := l.facts(k)
		edited = edited || f.classes[outcome.ClassEdit]
		read = read || f.classes[outcome.ClassRead] && anySame(f.paths.Read, l.facts(c.call).paths.Written)
	}
	if blind >= 0 && !l.looksLike(c.call, validationText) {
		return -1, -1
	}
	return -1, blind
}

// repeated finds a later ok call of the same tool where no arguments are recorded.
func (l *ledger) repeated(c candidate) int {
	if !l.looksLike(c.call, validationText) {
		return -1
	}
	for k := c.call + 1; k < len(l.run.Calls); k++ {
		if l.run.Calls[k].Tool == l.run.Calls[c.call].Tool && l.outcome(k).Kind == outcome.OK {
			return k
		}
	}
	return -1
}

func (l *ledger) transient(i int) bool {
	return transientText.MatchString(lockFiles.ReplaceAllString(l.words(i), ""))
}

func (l *ledger) looksLike(i int, re *regexp.Regexp) bool { return re.MatchString(l.words(i)) }

// words is what call i returned, and the error that is recorded of it.
func (l *ledger) words(i int) string {
	text, err := outcome.Output(l.run, &l.run.Calls[i])
	if err != nil {
		l.fail(i, err)
		return ""
	}
	if e, err := l.run.Value(l.run.Calls[i].Error); err == nil {
		text += "\n" + e.Text()
	}
	return text
}

// sameTarget tells whether call k works on the target of a failed call: the path
// for edits, the whole command for tests, program and subcommand for other
// commands, the tool for everything else.
func (l *ledger) sameTarget(c candidate, k int) bool {
	f, g := l.facts(c.call), l.facts(k)
	written, again := slices.Concat(f.paths.Written, f.paths.Removed), slices.Concat(g.paths.Written, g.paths.Removed)
	switch {
	case len(written) > 0 && f.classes[outcome.ClassEdit] && !f.classes[outcome.ClassTest]:
		return anySame(again, written)
	case c.command >= 0:
		mine := f.shell.Commands[c.command]
		return slices.ContainsFunc(g.shell.Commands, func(cmd outcome.Command) bool {
			if f.classes[outcome.ClassTest] {
				return cmd.Text == mine.Text
			}
			return commandTarget(cmd) == commandTarget(mine)
		})
	case f.shell.Text != "":
		return f.shell.Text == g.shell.Text
	default:
		return l.run.Calls[c.call].Tool == l.run.Calls[k].Tool
	}
}

// valueOptions are the options of programs with subcommands that stand before these
// and take the next word.
var valueOptions = map[string]string{
	"kubectl": "-n --namespace --context --kubeconfig -s --server --cluster --user", "oc": "-n --namespace --context",
	"helm": "-n --namespace --kube-context --kubeconfig", "docker": "-H --host -c --context -f --file -p --project-name --profile --env-file",
	"docker-compose": "-f --file -p --project-name --profile --env-file", "podman": "--url -c --connection",
	"aws": "--profile --region --output --endpoint-url", "gcloud": "--project --account --configuration", "az": "--subscription", "gh": "-R --repo",
}

// commandTarget is a command's program and its first word that is no option, and
// the word after that for run, exec and compose.
func commandTarget(cmd outcome.Command) string {
	if len(cmd.Argv) == 0 {
		return cmd.Text
	}
	out := []string{cmd.Argv[0]}
	values := strings.Fields(valueOptions[programOf(cmd)])
	for k := 1; k < len(cmd.Argv); k++ {
		word := cmd.Argv[k]
		if strings.HasPrefix(word, "-") {
			if slices.Contains(values, word) {
				k++ // what it is given is no word of the command
			}
			continue
		}
		out = append(out, word)
		if len(out) == 2 && word != "run" && word != "exec" && word != "compose" || len(out) == 3 {
			break
		}
	}
	return strings.Join(out, " ")
}
