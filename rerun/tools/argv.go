package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// element is one argument of a command: texts and parameters by turns.
type element struct {
	parts []part
	// option tells whether a program could take the element for an option: there
	// is no "--" before it.
	option bool
}

type part struct {
	text  string
	param string // "" where the part is a text
}

var placeholder = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_-]*)\}`)

// property is what a schema says about one parameter.
type property struct {
	scalar   bool
	required bool
}

// parseArgv finds the placeholders and refuses those that could do harm or could
// stay empty.
func parseArgv(argv []string, props map[string]property) ([]element, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("names no program")
	}
	var out []element
	option := true
	for i, arg := range argv {
		if strings.ContainsRune(arg, 0) {
			return nil, fmt.Errorf("element %d holds a NUL", i+1)
		}
		e := element{parts: split(arg), option: option}
		for _, p := range e.parts {
			if p.param == "" {
				continue
			}
			prop, known := props[p.param]
			switch {
			case i == 0:
				return nil, errors.New("the program itself cannot be a parameter")
			case !known:
				return nil, fmt.Errorf("{%s} is no parameter", p.param)
			case !prop.scalar:
				return nil, fmt.Errorf("{%s} must be declared as string, number, integer or boolean", p.param)
			case !prop.required:
				return nil, fmt.Errorf("{%s} must be a required parameter", p.param)
			case isScript(argv, i):
				return nil, fmt.Errorf("{%s} would become part of a script; pass it as an argument of the script", p.param)
			}
		}
		out = append(out, e)
		option = option && (i == 0 || arg != "--")
	}
	return out, nil
}

func split(arg string) []part {
	var parts []part
	at := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(arg, -1) {
		if m[0] > at {
			parts = append(parts, part{text: arg[at:m[0]]})
		}
		parts = append(parts, part{param: arg[m[2]:m[3]]})
		at = m[1]
	}
	if at < len(arg) || len(parts) == 0 {
		parts = append(parts, part{text: arg[at:]})
	}
	return parts
}

// interpreters take a script from an option. An argument put into it would be
// code.
var interpreters = []string{
	"sh", "bash", "dash", "ash", "zsh", "ksh", "fish", "busybox", "python", "perl", "ruby", "node", "php", "lua", "pwsh", "eval", "su",
}

var scriptOption = regexp.MustCompile(`^(-[A-Za-z]*[cerE]|--eval|--execute|--command|-Command|-p|--print)(=|$)`)

// isScript tells whether element i is, or holds, a script: it follows -c or -e of
// an interpreter, or has it in itself.
func isScript(argv []string, i int) bool {
	isInterpreter := func(arg string) bool {
		name := strings.TrimRight(path.Base(arg), "0123456789.")
		return slices.Contains(interpreters, name)
	}
	if !slices.ContainsFunc(argv[:i], isInterpreter) {
		return false
	}
	return scriptOption.MatchString(argv[i-1]) || (scriptOption.MatchString(argv[i]) && strings.Contains(argv[i], "=")) || attachedScript.MatchString(argv[i])
}

// attachedScript is an option with its script in the same element.
var attachedScript = regexp.MustCompile(`^-[A-Za-z]*[cerE]\S`)

// expand puts the arguments in. Each element stays one.
func (t *tool) expand(args map[string]json.RawMessage) ([]string, error) {
	var argv []string
	for _, e := range t.argv {
		var b strings.Builder
		for _, p := range e.parts {
			if p.param == "" {
				b.WriteString(p.text)
				continue
			}
			value, err := scalarText(args[p.param])
			if err != nil {
				return nil, fmt.Errorf("argument %s: %w", p.param, err)
			}
			b.WriteString(value)
		}
		arg := b.String()
		if e.parts[0].param != "" && e.option && strings.HasPrefix(arg, "-") {
			return nil, fmt.Errorf("argument %s: begins with -, so the program would take it for an option", e.parts[0].param)
		}
		argv = append(argv, arg)
	}
	return argv, nil
}

func scalarText(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return "", errors.New("missing")
	case raw[0] == '"':
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return "", errors.New("no string")
		}
		if strings.ContainsRune(s, 0) {
			return "", errors.New("holds a NUL")
		}
		return s, nil
	case raw[0] == '{' || raw[0] == '[' || raw[0] == 'n':
		return "", errors.New("is no string, number or boolean")
	}
	return string(raw), nil
}
