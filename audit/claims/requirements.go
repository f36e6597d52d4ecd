package claims

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

var (
	matcherKeys = []string{"tool", "class", "cmd", "path", "args", "cwd"}
	showKeys    = append([]string{
		"or", "status", "after", "edit_paths", "pick", "tests", "output", "result", "observed", "stale_text", "child",
	}, matcherKeys...)
)

// each reads a list that is not empty, element by element.
func each[T any](l *loader, n node, key string, read func(node, string) (T, error)) ([]T, error) {
	if err := l.isList(n, key); err != nil {
		return nil, err
	}
	var out []T
	for _, e := range n.list {
		v, err := read(e, key)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// fields calls read for each member of an object whose keys are known.
func (l *loader) fields(n node, key string, allowed []string, read func(m member) error) error {
	if n.kind != "object" {
		return l.wrongType(n, key, "an object")
	}
	if err := l.known(n, allowed); err != nil {
		return err
	}
	for _, m := range n.members {
		if err := read(m); err != nil {
			return err
		}
	}
	return nil
}

// toolName reads the form of a requirement that is only a tool's name.
func (l *loader) toolName(n node, key string) (string, error) {
	if n.text == "" {
		return "", l.fault(n, BadValue, key, key+" names an empty tool")
	}
	return n.text, nil
}

// toolOrMatcher reads a tool's name, which is taken as it stands, or a matcher.
func (l *loader) toolOrMatcher(n node, key string) (Matcher, error) {
	if n.kind == "string" {
		name, err := l.toolName(n, key)
		return Matcher{Tool: quoteGlob(name)}, err
	}
	if n.kind != "object" {
		return Matcher{}, l.wrongType(n, key, "a list of tool names or matchers")
	}
	var m Matcher
	err := l.fields(n, key, matcherKeys, func(f member) error {
		_, err := l.matcherField(&m, f)
		return err
	})
	return m, l.matcherGiven(err, n, key, m)
}

// quoteGlob makes a glob that matches exactly this name.
func quoteGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(name)
}

// matcherGiven refuses a matcher that matches everything.
func (l *loader) matcherGiven(err error, n node, key string, m Matcher) error {
	if err == nil && m.Tool == "" && m.Class == "" && m.Cmd == nil && m.Path == "" && len(m.Args) == 0 && m.Cwd == "" {
		return l.fault(n, MissingKey, key, key+" needs at least one of "+strings.Join(matcherKeys, ", "))
	}
	return err
}

// matcherField reads one key of a matcher; false for a key that is none of it.
func (l *loader) matcherField(m *Matcher, f member) (known bool, err error) {
	switch f.key {
	case "tool":
		m.Tool, err = l.glob(f.value, f.key)
	case "class":
		m.Class, err = l.oneOf(f.value, f.key, Classes)
	case "cmd":
		m.Cmd, err = l.pattern(f.value, f.key)
	case "path":
		m.Path, err = l.glob(f.value, f.key)
	case "cwd":
		m.Cwd, err = l.text(f.value, f.key)
	case "args":
		m.Args, err = l.args(f.value, f.key)
	default:
		return false, nil
	}
	return true, err
}

func (l *loader) glob(n node, key string) (string, error) {
	text, err := l.text(n, key)
	if err == nil && !doublestar.ValidatePattern(text) {
		return "", l.fault(n, BadValue, key, fmt.Sprintf("%s: %q is no glob", key, text))
	}
	return text, err
}

func (l *loader) pattern(n node, key string) (*regexp.Regexp, error) {
	text, err := l.text(n, key)
	if err != nil {
		return nil, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, l.fault(n, BadValue, key, fmt.Sprintf("%s: %q is no pattern (RE2): %v", key, text, err))
	}
	return re, nil
}

func (l *loader) oneOf(n node, key string, allowed []string) (string, error) {
	text, err := l.text(n, key)
	if err != nil || slices.Contains(allowed, text) {
		return text, err
	}
	fault := l.fault(n, BadValue, key, fmt.Sprintf("%s %q is unknown; it is one of %s", key, text, strings.Join(allowed, ", "))).(*Error)
	fault.Nearest = nearest(text, allowed)
	return "", fault
}

func (l *loader) args(n node, key string) ([]Arg, error) {
	if n.kind != "object" {
		return nil, l.wrongType(n, key, "an object")
	}
	if len(n.members) == 0 {
		return nil, l.fault(n, EmptyList, key, key+" is empty; it matches every call")
	}
	var out []Arg
	for _, m := range n.members {
		path, err := SplitPath(m.key)
		if err != nil {
			return nil, l.fault(node{line: m.line, column: m.column}, BadValue, key, key+": "+err.Error())
		}
		value := m.value.value()
		if !InRange(value) {
			return nil, l.fault(m.value, BadValue, key, key+": a number is out of range")
		}
		out = append(out, Arg{Path: path, Value: value})
	}
	return out, nil
}

func (l *loader) bool(n node, key string) (bool, error) {
	if n.kind != "boolean" {
		return false, l.wrongType(n, key, "true or false")
	}
	return n.boolean, nil
}

// whole reads a whole number of at least least.
func (l *loader) whole(n node, key string, least int) (int, error) {
	i, err := strconv.Atoi(n.text)
	if n.kind != "number" || err != nil || i < least {
		return 0, l.fault(n, BadValue, key, fmt.Sprintf("%s must be a whole number of at least %d", key, least))
	}
	return i, nil
}

func (l *loader) wholePtr(n node, key string) (*int, error) {
	i, err := l.whole(n, key, 0)
	return &i, err
}

// show reads one requirement of must_show.
func (l *loader) show(n node, key string) (Show, error) {
	if n.kind == "string" {
		name, err := l.toolName(n, key)
		return Show{Tool: name, Status: StatusOK, Pick: PickAny}, err
	}
	if n.kind != "object" {
		return Show{}, l.wrongType(n, key, "a list of tool names or matchers")
	}
	s := Show{Match: &Matcher{}, Status: StatusOK, Pick: PickAny}
	err := l.fields(n, key, showKeys, func(f member) error {
		if known, err := l.matcherField(s.Match, f); known {
			return err
		}
		return l.showField(&s, f)
	})
	return s, l.matcherGiven(err, n, key, *s.Match)
}

func (l *loader) showField(s *Show, f member) (err error) {
	switch f.key {
	case "or":
		s.Or, err = each(l, f.value, f.key, l.toolOrMatcher)
	case "status":
		var v string
		v, err = l.oneOf(f.value, f.key, []string{"ok", "error", "ran"})
		s.Status = Status(v)
	case "pick":
		var v string
		v, err = l.oneOf(f.value, f.key, []string{"any", "latest", "all"})
		s.Pick = Pick(v)
	case "after":
		err = l.after(s, f.value)
	case "edit_paths":
		s.EditPaths, err = each(l, f.value, f.key, l.glob)
	case "tests":
		s.Tests, err = l.tests(f.value)
	case "output":
		s.Output, err = l.output(f.value)
	case "result":
		s.Result, err = each(l, f.value, f.key, l.ownGround)
	case "observed":
		s.Observed, err = l.bool(f.value, f.key)
	case "stale_text":
		s.StaleText, err = l.text(f.value, f.key)
	case "child":
		s.Child, err = l.child(f.value)
	}
	return err
}

// after reads last_edit, or a matcher.
func (l *loader) after(s *Show, n node) error {
	if n.kind == "string" {
		if n.text != "last_edit" {
			return l.fault(n, BadValue, "after", fmt.Sprintf("after must be last_edit or a matcher, not %q", n.text))
		}
		s.AfterEdit = true
		return nil
	}
	m, err := l.toolOrMatcher(n, "after")
	s.After = &m
	return err
}

func (l *loader) tests(n node) (*Tests, error) {
	t := &Tests{}
	err := l.fields(n, "tests", []string{"min_total", "total"}, func(f member) (err error) {
		if f.key == "min_total" {
			t.MinTotal, err = l.whole(f.value, f.key, 0)
			return err
		}
		t.Total, err = l.wholePtr(f.value, f.key)
		return err
	})
	if err == nil && len(n.members) == 0 {
		err = l.fault(n, MissingKey, "tests", "tests needs min_total or total")
	}
	return t, err
}

func (l *loader) output(n node) (*Output, error) {
	o := &Output{}
	err := l.fields(n, "output", []string{"match", "not_match", "equals"}, func(f member) (err error) {
		switch f.key {
		case "match":
			o.Match, err = l.pattern(f.value, f.key)
		case "not_match":
			o.NotMatch, err = l.pattern(f.value, f.key)
		case "equals":
			if f.value.kind != "string" {
				return l.wrongType(f.value, f.key, "a string")
			}
			o.Equals = &f.value.text
		}
		return err
	})
	if err == nil && len(n.members) == 0 {
		err = l.fault(n, MissingKey, "output", "output needs match, not_match or equals")
	}
	return o, err
}

// ownGround reads a comparison on the matched call's own result.
func (l *loader) ownGround(n node, key string) (Ground, error) {
	if n.kind != "object" {
		return Ground{}, l.wrongType(n, key, "a list of objects")
	}
	if err := l.known(n, groundKeys[1:]); err != nil {
		return Ground{}, err
	}
	g, fault := parseComparison(n.value())
	if fault != "" {
		return Ground{}, l.fault(n, BadValue, key, key+": "+fault)
	}
	return g, nil
}

// groundSource reads the matcher that picks a ground's call.
func (l *loader) groundSource(n node) (Matcher, Pick, error) {
	var m Matcher
	pick := PickAny
	err := l.fields(n, "from", append([]string{"pick"}, matcherKeys...), func(f member) error {
		if known, err := l.matcherField(&m, f); known {
			return err
		}
		v, err := l.oneOf(f.value, f.key, []string{"any", "latest"})
		pick = Pick(v)
		return err
	})
	return m, pick, l.matcherGiven(err, n, "from", m)
}

func (l *loader) child(n node) (*Child, error) {
	switch n.kind {
	case "boolean":
		if !n.boolean {
			return nil, l.fault(n, BadValue, "child", "child must be true or a tool; leave it out otherwise")
		}
		return &Child{}, nil
	case "string":
		tool, err := l.glob(n, "child")
		return &Child{Tool: tool}, err
	default:
		return nil, l.wrongType(n, "child", "true or a tool")
	}
}

// notFail reads one requirement of must_not_fail.
func (l *loader) notFail(n node, key string) (NotFail, error) {
	if n.kind == "string" {
		name, err := l.toolName(n, key)
		return NotFail{Tool: name, Recovery: RecoveryNever}, err
	}
	if n.kind != "object" {
		return NotFail{}, l.wrongType(n, key, "a list of tool names or matchers")
	}
	f := NotFail{Match: &Matcher{}, Recovery: RecoveryNever}
	err := l.fields(n, key, append([]string{"recovery"}, matcherKeys...), func(m member) error {
		if known, err := l.matcherField(f.Match, m); known {
			return err
		}
		v, err := l.oneOf(m.value, m.key, []string{"never", "retried", "verified"})
		f.Recovery = Recovery(v)
		return err
	})
	return f, l.matcherGiven(err, n, key, *f.Match)
}

func (l *loader) count(n node, key string) (Count, error) {
	var c Count
	err := l.fields(n, key, []string{"of", "distinct", "equals", "min", "max"}, func(f member) (err error) {
		switch f.key {
		case "of":
			c.Of, err = l.toolOrMatcher(f.value, f.key)
		case "distinct":
			c.Distinct, err = l.valuePath(f.value, f.key)
		case "equals":
			c.Equals, err = l.wholePtr(f.value, f.key)
		case "min":
			c.Min, err = l.wholePtr(f.value, f.key)
		case "max":
			c.Max, err = l.wholePtr(f.value, f.key)
		}
		return err
	})
	switch {
	case err != nil:
	case n.member("of").kind == "":
		err = l.fault(n, MissingKey, "of", "count needs of: the calls that are counted")
	case c.Equals == nil && c.Min == nil && c.Max == nil:
		err = l.fault(n, MissingKey, key, "count needs equals, min or max")
	case c.Equals != nil && (c.Min != nil || c.Max != nil):
		err = l.fault(n, BadValue, key, "count takes equals, or min and max, not both")
	}
	return c, err
}

// valuePath reads a dotted path that begins at args or result.
func (l *loader) valuePath(n node, key string) ([]string, error) {
	text, err := l.text(n, key)
	if err != nil {
		return nil, err
	}
	path, err := SplitPath(text)
	if err != nil || len(path) < 2 || path[0] != "args" && path[0] != "result" {
		return nil, l.fault(n, BadValue, key, fmt.Sprintf("%s must be a dotted path that begins with args or result, not %q", key, text))
	}
	return path, nil
}

func (l *loader) coverage(n node, key string) (Coverage, error) {
	var c Coverage
	err := l.fields(n, key, []string{"path", "lines"}, func(f member) (err error) {
		if f.key == "path" {
			c.Path, err = l.glob(f.value, f.key)
			return err
		}
		c.Lines, err = l.whole(f.value, f.key, 1)
		return err
	})
	if err == nil && (c.Path == "" || c.Lines == 0) {
		err = l.fault(n, MissingKey, key, "coverage needs path and lines")
	}
	return c, err
}

func (l *loader) noDuplicates(n node, key string) (NoDuplicates, error) {
	var d NoDuplicates
	err := l.fields(n, key, append([]string{"key"}, matcherKeys...), func(f member) error {
		if known, err := l.matcherField(&d.Match, f); known {
			return err
		}
		var err error
		d.Key, err = l.valuePath(f.value, f.key)
		return err
	})
	return d, l.matcherGiven(err, n, key, d.Match)
}

func (l *loader) quote(n node, key string) (string, error) {
	var text string
	err := l.fields(n, key, []string{"text"}, func(f member) (err error) {
		text, err = l.text(f.value, f.key)
		return err
	})
	if err == nil && text == "" {
		err = l.fault(n, MissingKey, "text", "a quote needs text")
	}
	return text, err
}

func (l *loader) runEnd(n node) (*RunEnd, error) {
	r := &RunEnd{}
	err := l.fields(n, "run", []string{"end", "no_pending"}, func(f member) (err error) {
		if f.key == "end" {
			r.End, err = each(l, f.value, f.key, l.text)
			return err
		}
		r.NoPending, err = l.bool(f.value, f.key)
		return err
	})
	if err == nil && len(r.End) == 0 && !r.NoPending {
		err = l.fault(n, MissingKey, "run", "run needs end or no_pending: true")
	}
	return r, err
}
