package audit

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

// coverage judges that every line of a file was read.
func (l *ledger) coverage(name string, c *claims.Coverage) Finding {
	var spans []span
	var read, hidden []int
	of := &claims.Matcher{Class: string(outcome.ClassRead), Path: c.Path}
	for i := range l.run.Calls {
		how, _ := l.match(of, i)
		if how < veiled || l.outcome(i).Kind != outcome.OK {
			continue
		}
		if how == veiled {
			hidden = append(hidden, i)
			continue
		}
		read = append(read, i)
		if s, ok := l.spanOf(i, c.Lines); ok {
			spans = append(spans, s)
		}
	}
	if len(read) == 0 && len(hidden) > 0 {
		return Finding{Requirement: name, Verdict: Unsupported, Reason: Redacted, Calls: l.refs(hidden), rests: true, Detail: "which file was read was redacted"}
	}
	if len(read) == 0 {
		return l.absent(Finding{Requirement: name, Verdict: Unsupported, Reason: NoCall, Detail: "it was never read"})
	}
	if got := covered(spans, c.Lines); got < c.Lines {
		return l.absent(Finding{
			Requirement: name, Verdict: Unsupported, Reason: PartialRead, Calls: l.refs(read), rests: l.whole,
			Detail: fmt.Sprintf("%d of %d lines were read", got, c.Lines), Expected: encode(c.Lines), Observed: encode(got),
		})
	}
	return Finding{Requirement: name, Verdict: Pass, Calls: l.refs(read), rests: true}
}

// span is a range of lines, both ends included.
type span struct{ from, to int }

// truncationMarks show, at either end of what a read returned, that it was cut.
var truncationMarks = []string{"<persisted-output>", "[truncated", "… truncated", "... truncated", "(truncated)"}

// spanOf returns the lines that a read covers; false for one that was cut.
func (l *ledger) spanOf(i, lines int) (span, bool) {
	text, err := outcome.Output(l.run, &l.run.Calls[i])
	if err != nil {
		l.fail(i, err)
		return span{}, false
	}
	// 200 characters are at most 800 bytes.
	head, tail := []rune(text[:min(len(text), 800)]), []rune(text[max(0, len(text)-800):])
	ends := [2]string{string(head[:min(len(head), 200)]), string(tail[max(0, len(tail)-200):])}
	for _, m := range truncationMarks {
		if strings.Contains(ends[0], m) || strings.Contains(ends[1], m) {
			return span{}, false
		}
	}
	if f := l.facts(i); f.shell.Text != "" {
		return shellSpan(f.shell, lines)
	}
	args, err := l.run.Value(l.run.Calls[i].Args)
	if err != nil {
		l.fail(i, err)
		return span{}, false
	}
	return argumentSpan(args, lines)
}

// The arguments by which the reading tools of known agents name a range of lines.
var (
	fromKeys  = []string{"offset", "start_line", "line_start", "startLine", "StartLine", "lineStart", "start_line_one_indexed", "from_line"}
	toKeys    = []string{"end_line", "line_end", "endLine", "EndLine", "lineEnd", "end_line_one_indexed_inclusive", "end_line_one_indexed", "to_line"}
	limitKeys = []string{"limit", "head", "max_lines", "line_count"}
)

// rangeKey is how an argument is named that may say which part of a file is read.
var rangeKey = regexp.MustCompile(`(?i)line|offset|limit|range|start|end|from|head|tail|page|chunk|byte`)

// argumentSpan returns the lines that a reading tool was asked for. Where an
// argument that is not known may bound them, nothing is known to be covered.
func argumentSpan(args trace.Value, lines int) (span, bool) {
	s := span{1, lines}
	for k, v := range args.Members() {
		switch key := k.Text(); {
		case slices.Contains(fromKeys, key), slices.Contains(toKeys, key), slices.Contains(limitKeys, key):
		case key == "view_range" && v.Kind() == trace.KindArray:
			var ends []int64
			for e := range v.Elements() {
				n, _ := e.Int()
				ends = append(ends, n)
			}
			if len(ends) != 2 {
				return span{}, false
			}
			s.from = int(max(ends[0], 1))
			if ends[1] != -1 { // to the end
				s.to = int(min(max(ends[1], 0), int64(lines)))
			}
		case rangeKey.MatchString(key) && bytes.ContainsAny(v.Raw(), "0123456789"):
			return span{}, false
		}
	}
	if from, ok := number(args, fromKeys...); ok {
		s.from = max(from, 1)
	}
	if limit, ok := number(args, limitKeys...); ok {
		s.to = s.from + limit - 1
	} else if to, ok := number(args, toKeys...); ok {
		s.to = to
	}
	return s, s.to >= s.from
}

// shellSpan returns the lines that a shell command shows whole: cat, cat -n,
// head -n N, sed -n 'A,Bp'. What goes into a pipe, or through anything else, may be cut.
func shellSpan(sh outcome.Shell, lines int) (span, bool) {
	if len(sh.Commands) == 0 || !sh.Commands[len(sh.Commands)-1].Trusted {
		return span{}, false
	}
	cmd := sh.Commands[len(sh.Commands)-1]
	for _, other := range sh.Commands[:len(sh.Commands)-1] {
		if !harmless(other) {
			return span{}, false
		}
	}
	words := strings.Join(cmd.Argv, " ")
	var from, to int
	switch {
	case (cmd.Argv[0] == "cat" || cmd.Argv[0] == "nl") && len(cmd.Reads) == 1 && !strings.ContainsAny(words, "<>|"):
		return span{1, lines}, true
	case scan(words, "head -n %d", &to) || scan(words, "head -%d", &to):
		return span{1, to}, true
	case scan(words, "sed -n %d,%dp", &from, &to):
		return span{max(from, 1), to}, true
	}
	return span{}, false
}

func scan(s, format string, values ...any) bool {
	n, _ := fmt.Sscanf(s, format, values...)
	return n == len(values)
}

func number(v trace.Value, names ...string) (int, bool) {
	for _, n := range names {
		if i, ok := v.Get(n).Int(); ok && i >= 0 && i < 1<<31 {
			return int(i), true
		}
	}
	return 0, false
}

// covered counts the lines from 1 to lines that the spans cover.
func covered(spans []span, lines int) int {
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	n, at := 0, 0
	for _, s := range spans {
		from, to := max(s.from, at+1), min(s.to, lines)
		if to >= from {
			n += to - from + 1
			at = to
		}
	}
	return n
}
