// Package tools runs the tools of a re-run: the operator's declared commands go
// in, and each call that a model asks for comes out as a Result, after it was
// checked and, where it was let through, run as a process of its own.
//
// No shell of ours ever sees an argument, what is not declared does not run, and
// what a call started ends with it (all of its process group). The package also writes the re-run's own trace
// (Recorder) and makes the keys that keep a write from happening twice (Key).
// Whether a call with a known key may run again is left to its caller.
package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Class says what running a tool can do.
type Class string

// The classes. What is not declared is forbidden.
const (
	ClassRead       Class = "read"       // changes nothing
	ClassIdempotent Class = "idempotent" // twice is as good as once
	ClassMutating   Class = "mutating"   // must not happen twice
	ClassForbidden  Class = "forbidden"  // never runs
)

// Defaults of a Command.
const (
	DefaultTimeout   = time.Minute
	DefaultMaxOutput = 16 << 10
)

// minMaxOutput leaves room for the mark that stands where output was cut.
const minMaxOutput = 256

// KeyVariable is the environment variable that hands a call's key to the command.
const KeyVariable = "NIGHTAUDIT_IDEMPOTENCY_KEY"

// Command is a tool that is a program.
type Command struct {
	// Name is what the model and the claims call the tool.
	Name        string
	Description string
	// Parameters is the JSON schema of the arguments, an object. Empty: the tool
	// takes none.
	Parameters json.RawMessage
	// Argv is the program and its arguments. {name} stands for the value of that
	// parameter, which must be required and a string, number or boolean. It never
	// becomes more than one argument, and never part of a script for a shell (a
	// program that hands its arguments to one, as ssh does, is the operator's
	// care). The whole object of arguments is on the standard input as JSON.
	Argv []string
	// Timeout is for one run. 0: DefaultTimeout.
	Timeout time.Duration
	// MaxOutput is how many bytes of output are kept, 256 at least. 0:
	// DefaultMaxOutput.
	MaxOutput int
	Class     Class
	// Dir is where the program runs; "" is the caller's own folder.
	Dir string
	// Env names variables that are passed on besides PATH, HOME, LANG, TZ, TMPDIR.
	Env []string
}

// Definition is what a model is told about a tool.
type Definition struct {
	Name, Description string
	Parameters        json.RawMessage
}

// Set is the tools that were declared. It does not change and may be used by
// several goroutines.
type Set struct {
	tools map[string]*tool
	names []string // those that may run, sorted
}

// tool is a Command that was checked.
type tool struct {
	Command
	argv   []element
	schema *jsonschema.Schema
}

// NewSet checks the commands. The error names every mistake, each by its tool and
// key.
func NewSet(commands []Command) (*Set, error) {
	s := &Set{tools: map[string]*tool{}}
	var errs []error
	for i, c := range commands {
		name := c.Name
		if name == "" {
			name = fmt.Sprintf("#%d", i+1)
		}
		t, err := newTool(c)
		if err != nil {
			for _, e := range flatten(err) {
				errs = append(errs, fmt.Errorf("tool %s: %w", name, e))
			}
			continue
		}
		if s.tools[c.Name] != nil {
			errs = append(errs, fmt.Errorf("tool %s: name: declared twice", name))
			continue
		}
		s.tools[c.Name] = t
		if c.Class != ClassForbidden {
			s.names = append(s.names, c.Name)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	slices.Sort(s.names)
	return s, nil
}

func flatten(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

var (
	toolName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$`)
	envName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

func newTool(c Command) (*tool, error) {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if !toolName.MatchString(c.Name) {
		fail("name: %q must be letters, digits and _ . : / - (at most 100)", c.Name)
	}
	switch c.Class {
	case ClassRead, ClassIdempotent, ClassMutating, ClassForbidden:
	case "":
		fail("class: missing; declare read, idempotent, mutating or forbidden")
	default:
		fail("class: %q is none of read, idempotent, mutating, forbidden", c.Class)
	}
	if c.Timeout < 0 {
		fail("timeout: %v is negative", c.Timeout)
	}
	if c.MaxOutput != 0 && c.MaxOutput < minMaxOutput {
		fail("max_output: %d is less than %d bytes", c.MaxOutput, minMaxOutput)
	}
	for _, name := range c.Env {
		if !envName.MatchString(name) || name == KeyVariable {
			fail("env: %q is no variable that can be passed on", name)
		}
	}
	if strings.ContainsRune(c.Dir, 0) {
		fail("dir: holds a NUL")
	}
	t := &tool{Command: c}
	t.setDefaults()
	props, err := t.compile()
	if err != nil {
		fail("parameters: %w", err)
	} else if t.argv, err = parseArgv(c.Argv, props); err != nil {
		fail("argv: %w", err)
	}
	return t, errors.Join(errs...)
}

func (t *tool) setDefaults() {
	if t.Timeout == 0 {
		t.Timeout = DefaultTimeout
	}
	if t.MaxOutput == 0 {
		t.MaxOutput = DefaultMaxOutput
	}
	if len(bytes.TrimSpace(t.Parameters)) == 0 {
		t.Parameters = json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
}

// Definitions describes the named tools in the order given, all that may run
// where names is nil. A name that is not declared or forbidden is an error.
func (s *Set) Definitions(names []string) ([]Definition, error) {
	if names == nil {
		names = s.names
	}
	var defs []Definition
	for _, name := range names {
		if s.Class(name) == ClassForbidden {
			return nil, fmt.Errorf("define tools: %s", s.refusal(name))
		}
		t := s.tools[name]
		defs = append(defs, Definition{Name: t.Name, Description: t.Description, Parameters: bytes.Clone(t.Parameters)})
	}
	return defs, nil
}

// Names lists the tools that may run, in the order in which they were declared.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Class is the tool's class; ClassForbidden where it is not declared.
func (s *Set) Class(name string) Class {
	if t := s.tools[name]; t != nil {
		return t.Class
	}
	return ClassForbidden
}

// refusal says why a tool does not run, and which would: the model reads it.
func (s *Set) refusal(name string) string {
	if s.tools[name] != nil {
		return fmt.Sprintf("the tool %q is forbidden", name)
	}
	if r := []rune(name); len(r) > 100 {
		name = string(r[:100]) + "…"
	}
	if len(s.names) == 0 {
		return fmt.Sprintf("there is no tool %q; no tools are declared", name)
	}
	text := fmt.Sprintf("there is no tool %q; tools: %s", name, strings.Join(s.names, ", "))
	if near := nearest(name, s.names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return text
}

// nearest is the name with the fewest edits to it, "" where none is close.
func nearest(name string, names []string) string {
	best, least := "", len(name)/3+2
	for _, n := range names {
		if d := distance(strings.ToLower(name), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// distance is the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
