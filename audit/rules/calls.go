package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
)

// calls are what a pack says of the calls themselves: which class a tool has, what
// a program's exit codes mean, how a result begins that says that the call never
// ran. They are added to the tables of package outcome.

var callKeys = []string{"tools", "programs", "wrappers", "tests", "builds", "denied", "cancelled", "started", "failed", "marks"}

// Tables returns the tables of outcomes with what the pack adds to them.
func (p *Pack) Tables() *outcome.Tables { return outcome.DefaultTables().With(&p.calls) }

func (p *Pack) readCalls(v claims.Value) error {
	t := &p.calls
	return v.Fields("calls", callKeys, func(key string, v claims.Value) (err error) {
		switch key {
		case "tools":
			return each(v, key, func(e claims.Value) error { return readTool(t, e) })
		case "programs":
			return each(v, key, func(e claims.Value) error { return readProgram(t, e) })
		case "wrappers":
			return each(v, key, func(e claims.Value) error { return readWrapper(t, e) })
		case "tests":
			t.TestWords, err = set(v, key)
		case "builds":
			t.BuildWords, err = set(v, key)
		case "denied":
			t.DeniedStarts, err = texts(v, key)
		case "cancelled":
			t.CancelledStarts, err = texts(v, key)
		case "started":
			t.StartedStarts, err = texts(v, key)
		case "failed":
			t.FailureStarts, err = texts(v, key)
		case "marks":
			t.Marks, err = texts(v, key)
		}
		return err
	})
}

func each(v claims.Value, key string, read func(claims.Value) error) error {
	list, err := v.List(key)
	if err != nil {
		return err
	}
	for _, e := range list {
		if err := read(e); err != nil {
			return err
		}
	}
	return nil
}

func set(v claims.Value, key string) (map[string]bool, error) {
	list, err := texts(v, key)
	out := map[string]bool{}
	for _, w := range list {
		out[strings.ToLower(strings.TrimSpace(w))] = true
	}
	return out, err
}

func readTool(t *outcome.Tables, v claims.Value) error {
	var tool string
	var class outcome.Class
	if err := v.Fields("a tool", []string{"tool", "class"}, func(key string, v claims.Value) (err error) {
		if key == "tool" {
			tool, err = v.Text(key)
			return err
		}
		class, err = readClass(v, key)
		return err
	}); err != nil {
		return err
	}
	if tool == "" || class == "" {
		return v.Fault(claims.MissingKey, "tool", "a tool needs its name (tool) and its class")
	}
	if t.Tools == nil {
		t.Tools = map[string]outcome.Class{}
	}
	t.Tools[strings.ToLower(tool)] = class
	return nil
}

func readClass(v claims.Value, key string) (outcome.Class, error) {
	text, err := v.Text(key)
	if err != nil {
		return "", err
	}
	if !slices.Contains(outcome.AllClasses(), outcome.Class(text)) {
		return "", v.Fault(claims.BadValue, key, fmt.Sprintf("%s: there is no class %q; there are %s", key, text, joined(outcome.AllClasses())))
	}
	return outcome.Class(text), nil
}

func joined[T ~string](list []T) string {
	var out []string
	for _, x := range list {
		out = append(out, string(x))
	}
	return strings.Join(out, ", ")
}

var programKeys = []string{"program", "classes", "answers", "runner", "operands", "skip", "values"}

func readProgram(t *outcome.Tables, v claims.Value) error {
	var name string
	var p outcome.Program
	if err := v.Fields("a program", programKeys, func(key string, v claims.Value) (err error) {
		switch key {
		case "program":
			name, err = commandName(v, key)
		case "classes":
			err = each(v, key, func(e claims.Value) error {
				class, err := readClass(e, key)
				p.Classes = append(p.Classes, class)
				return err
			})
		case "answers":
			err = each(v, key, func(e claims.Value) error {
				code, err := whole(e, key, 1, 255)
				p.Answers = append(p.Answers, int32(code))
				return err
			})
		case "runner":
			if p.Runner, err = v.Text(key); err == nil && !slices.Contains(outcome.Runners(), p.Runner) {
				err = v.Fault(claims.BadValue, key, fmt.Sprintf("runner: there is no test runner %q; there are %s", p.Runner, strings.Join(outcome.Runners(), ", ")))
			}
		case "operands":
			var text string
			if text, err = v.Text(key); err == nil && !slices.Contains(outcome.Uses(), outcome.Use(text)) {
				err = v.Fault(claims.BadValue, key, fmt.Sprintf("operands: %q is none of %s", text, joined(outcome.Uses())))
			}
			p.Operands = outcome.Use(text)
		case "skip":
			p.Skip, err = whole(v, key, 0, 16)
		case "values":
			p.Values, err = v.Text(key)
		}
		return err
	}); err != nil {
		return err
	}
	if name == "" {
		return v.Fault(claims.MissingKey, "program", "a program needs its name (program)")
	}
	if p.Runner != "" && !slices.Contains(p.Classes, outcome.ClassTest) {
		p.Classes = append(p.Classes, outcome.ClassTest)
	}
	if t.Programs == nil {
		t.Programs = map[string]outcome.Program{}
	}
	t.Programs[name] = p
	return nil
}

var wrapperKeys = []string{"program", "values", "skip", "assigns", "dir", "refuse", "input"}

func readWrapper(t *outcome.Tables, v claims.Value) error {
	var name string
	var w outcome.Wrapper
	if err := v.Fields("a wrapper", wrapperKeys, func(key string, v claims.Value) (err error) {
		switch key {
		case "program":
			name, err = commandName(v, key)
		case "values":
			w.Values, err = v.Text(key)
		case "skip":
			w.Skip, err = whole(v, key, 0, 16)
		case "assigns":
			w.Assigns, err = truth(v, key)
		case "dir":
			w.Dir, err = v.Text(key)
		case "refuse":
			w.Refuse, err = v.Text(key)
		case "input":
			w.Input, err = truth(v, key)
		}
		return err
	}); err != nil {
		return err
	}
	if name == "" {
		return v.Fault(claims.MissingKey, "program", "a wrapper needs its name (program)")
	}
	if t.Wrappers == nil {
		t.Wrappers = map[string]outcome.Wrapper{}
	}
	t.Wrappers[name] = w
	return nil
}

// commandName reads the name of a program, with at most two words of a subcommand:
// one blank between them, and no folder before it, as commands are looked up.
func commandName(v claims.Value, key string) (string, error) {
	text, err := v.Text(key)
	if err != nil {
		return "", err
	}
	words := strings.Fields(text)
	if len(words) == 0 || len(words) > 3 || strings.Contains(words[0], "/") {
		return "", v.Fault(claims.BadValue, key, fmt.Sprintf("%s: %q is no name of a program; write it without its folder, with at most two words of a subcommand", key, text))
	}
	return strings.Join(words, " "), nil
}

func whole(v claims.Value, key string, least, most int) (int, error) {
	n, err := strconv.Atoi(fmt.Sprint(v.Any()))
	if err != nil || n < least || n > most {
		return 0, v.Fault(claims.BadValue, key, fmt.Sprintf("%s must be a whole number from %d to %d", key, least, most))
	}
	return n, nil
}

func truth(v claims.Value, key string) (bool, error) {
	b, ok := v.Any().(bool)
	if !ok {
		return false, v.Fault(claims.WrongType, key, key+" must be true or false")
	}
	return b, nil
}
