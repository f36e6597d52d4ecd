package claims

import (
	"regexp"

	"github.com/bmatcuk/doublestar/v4"
)

// Matcher picks calls. What it leaves out matches everything; it names at least
// one of tool, class, cmd, path, args and cwd.
type Matcher struct {
	Tool  string         // a name, or a glob in which * stands for any characters
	Class string         // see Classes
	Cmd   *regexp.Regexp // tried on each simple command of a shell call, and on the whole command
	Path  string         // doublestar glob
	Args  []Arg
	Cwd   string // this directory or below
}

// Glob matches a name with a doublestar glob that the loader has checked.
func Glob(pattern, name string) bool {
	ok, err := doublestar.Match(pattern, name)
	return err == nil && ok
}

// Arg is a value that an argument must have.
type Arg struct {
	Path  []string // into the arguments
	Value any      // numbers as json.Number
}

// Classes are the classes that a Matcher can name.
var Classes = []string{"edit", "read", "search", "shell", "test", "build", "http", "agent", "vcs", "mcp"}

// Status is the outcome that a shown call must have.
type Status string

// The statuses of a Show.
const (
	StatusOK    Status = "ok"    // it succeeded; the default
	StatusError Status = "error" // it failed, as was expected
	StatusRan   Status = "ran"   // it ran, whatever came of it
)

// Pick says which of the matching calls are judged.
type Pick string

// The picks.
const (
	PickAny    Pick = "any"    // the best; the default
	PickLatest Pick = "latest" // the last run of each command, the worst of them
	PickAll    Pick = "all"    // every one
)

// Show is a call that must be there.
type Show struct {
	// Tool is the form that is only a string: a tool of which a call must have
	// succeeded. "" with Match.
	Tool  string
	Match *Matcher
	Or    []Matcher // a call that fits one of these will do as well

	Status Status
	// AfterEdit: the evidence must be later than the latest edit (after: last_edit)
	// of the files that EditPaths picks; none: of all that are no documentation and
	// no temporary files.
	AfterEdit bool
	EditPaths []string
	After     *Matcher // the evidence must be later than the latest such ok call
	Pick      Pick
	Tests     *Tests
	Output    *Output
	Result    []Ground // on this very call's result; From is ""
	Observed  bool     // a later look at the same target is needed
	StaleText string   // text that must be gone from that look
	Child     *Child
}

// Matchers lists the matchers of which a call must fit one.
func (s *Show) Matchers() []*Matcher {
	out := []*Matcher{s.Match}
	for i := range s.Or {
		out = append(out, &s.Or[i])
	}
	return out
}

// Tests are counts that a test run's summary must have.
type Tests struct {
	MinTotal int
	Total    *int
}

// Output are conditions on the text that a call returned.
type Output struct {
	Match, NotMatch *regexp.Regexp
	Equals          *string // compared without space around it
}

// Child are conditions on delegated work: it has calls and was not cut off.
type Child struct {
	Tool string // a tool, or a glob, that it must have called; "" any
}

// Recovery says what makes a failure good.
type Recovery string

// The recoveries.
const (
	RecoveryNever    Recovery = "never"    // nothing does; the default
	RecoveryRetried  Recovery = "retried"  // a later ok call on the same target that is no blind repetition
	RecoveryVerified Recovery = "verified" // that, and a look at the target afterwards
)

// NotFail is a kind of call that must not have failed.
type NotFail struct {
	Tool     string // the form that is only a string; "" with Match
	Match    *Matcher
	Recovery Recovery
}

// Count counts ok calls.
type Count struct {
	Of       Matcher
	Distinct []string // path of the value that is counted once; begins with args or result; nil: calls
	Equals   *int
	Min, Max *int
}

// Coverage asks for a file to have been read whole.
type Coverage struct {
	Path  string // doublestar glob
	Lines int
}

// NoDuplicates asks that no two calls that took effect have the same key.
type NoDuplicates struct {
	Match Matcher
	Key   []string // path of the key; begins with args or result; nil: all arguments
}

// RunEnd are conditions on how the run ended.
type RunEnd struct {
	End       []string // reasons that are allowed; nil: any
	NoPending bool     // every call has an end
}
