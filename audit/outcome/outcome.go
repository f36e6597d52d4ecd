// Package outcome says what a call's record means: whether the call succeeded,
// failed, never ran, has not ended, or cannot be told. Everything that judges
// calls stands on it.
//
// In go a run and one of its calls; out come its Outcome, its classes, the files
// it names, the commands of a shell call, and the summary of a test run. It reads
// a call's flags, exit code and status, its command and, where those do not
// decide, its result. The rules are tried in a fixed order and the first that fits
// wins. The names they depend on (tools, programs, texts) are Tables, which a
// caller may extend. Whether a claim holds is left to package audit.
package outcome

import (
	"strings"

	"nightaudit/trace"
)

// Kind is what became of a call.
type Kind string

// The outcomes.
const (
	OK        Kind = "ok"
	Error     Kind = "error"
	Suspect   Kind = "suspect"   // something points to a failure, but does not prove it
	Denied    Kind = "denied"    // refused before it ran
	Cancelled Kind = "cancelled" // called off before it ran
	Pending   Kind = "pending"   // started, no end recorded
	Unknown   Kind = "unknown"   // the format records nothing that tells
)

// Evidence says what an Outcome rests on.
type Evidence string

// The kinds of evidence.
const (
	NoEnd       Evidence = "no end recorded"
	Status      Evidence = "status"
	ExitCode    Evidence = "exit code"
	Flag        Evidence = "flag"
	HTTP        Evidence = "HTTP status"
	Body        Evidence = "structured result"
	Text        Evidence = "text of the result"
	Recorded    Evidence = "a result is recorded"
	TestsFailed Evidence = "test summary"
	None        Evidence = "the format records no outcome"
)

// Outcome is what became of one call.
type Outcome struct {
	Kind     Kind
	Evidence Evidence
	ExitCode int32  // with Evidence ExitCode
	Detail   string // the words that decided, shortened; "" where a flag did
}

// Ran tells whether the call did anything at all: everything but what was refused
// or called off before it ran.
func (o Outcome) Ran() bool { return o.Kind != Denied && o.Kind != Cancelled }

// judge tries the rules in their order; those about tests only if tests is set.
func (v *View) judge(tests bool) (Outcome, error) {
	t, c := v.tables, v.call
	classes := t.Classes(c.Tool)
	// A status that says that the call never ran ends it, with or without a result.
	if status := strings.ToLower(c.Status); pendingStatus[status] || !c.ResultPos.Set() && !deniedStatus[status] && !cancelledStatus[status] {
		return Outcome{Kind: Pending, Evidence: NoEnd, Detail: c.Status}, nil
	}
	r := &reading{view: v, run: v.run, call: c, classes: classes}
	if o, done := r.notRun(t); done || r.err != nil {
		return o, r.err
	}
	if o, done := r.started(t); done || r.err != nil {
		return o, r.err
	}
	if tests {
		if o, done := r.testsFailed(); done || r.err != nil {
			return o, r.err
		}
	}
	code, hasCode := c.ExitCode, c.HasExit
	if !hasCode {
		code, hasCode = r.exitInResult()
	}
	if hasCode && code != 0 && !r.accepts(code) {
		return Outcome{Kind: Error, Evidence: ExitCode, ExitCode: code}, r.err
	}
	if !hasCode {
		if c.OK == trace.FlagFalse || c.IsError == trace.FlagTrue {
			return Outcome{Kind: Error, Evidence: Flag, Detail: r.firstLine()}, r.err
		}
		if status, bad := r.httpFailure(); bad {
			return Outcome{Kind: Error, Evidence: HTTP, Detail: status}, r.err
		}
	}
	if why, soft := r.softFailure(); soft {
		return Outcome{Kind: Error, Evidence: Body, Detail: why}, r.err
	}
	// What a shell prints beside its exit code is its command's output, and not the
	// words of the wrapper around the tool.
	if !hasCode || !classes[ClassShell] {
		if o, done := r.byText(t); done {
			return o, r.err
		}
	}
	if hasCode {
		return Outcome{Kind: OK, Evidence: ExitCode, ExitCode: code}, r.err
	}
	return r.byFlag(), r.err
}

// byFlag decides what nothing speaks against.
func (r *reading) byFlag() Outcome {
	c := r.call
	switch {
	case strings.EqualFold(c.Status, "unknown"):
		return Outcome{Kind: Unknown, Evidence: None}
	case failedStatus[strings.ToLower(c.Status)] && (c.OK == trace.FlagTrue || c.IsError == trace.FlagFalse):
		return Outcome{Kind: Suspect, Evidence: Status, Detail: "the flag says that it succeeded, the status is " + c.Status}
	case failedStatus[strings.ToLower(c.Status)]:
		return Outcome{Kind: Error, Evidence: Status, Detail: r.firstLine()}
	case c.OK == trace.FlagTrue || c.IsError == trace.FlagFalse:
		return Outcome{Kind: OK, Evidence: Flag}
	case c.OK == trace.FlagInvalid || c.IsError == trace.FlagInvalid:
		return Outcome{Kind: Suspect, Evidence: Flag, Detail: "a flag that is no boolean"}
	case r.hasError():
		return Outcome{Kind: Error, Evidence: Body, Detail: r.firstLine()}
	default:
		return Outcome{Kind: OK, Evidence: Recorded}
	}
}
