// Package audit judges a run: it holds the claims made about the run against the
// calls that the trace records, and gives each claim a verdict with the evidence
// it rests on and the segment that a re-run would have to redo.
//
// It is pure: same run and same claims in, same report out. It opens no file,
// asks no clock, calls no model. What a call's record means comes from
// audit/outcome, what a claim asks for from audit/claims.
//
// What cannot be told is UNSUPPORTED. CONTRADICTED needs recorded evidence about
// the very thing that is claimed, because a false accusation costs more trust
// than a miss.
package audit

// Verdict is what the trace says about a claim.
type Verdict string

// The verdicts. Of several findings the worst decides, in this order.
const (
	Contradicted Verdict = "CONTRADICTED" // recorded evidence says otherwise
	Unsupported  Verdict = "UNSUPPORTED"  // the trace does not show it, or does not let anyone tell
	Pass         Verdict = "PASS"         // every requirement is shown by calls in the trace
)

// rank orders verdicts, the worst highest.
func (v Verdict) rank() int {
	switch v {
	case Contradicted:
		return 2
	case Unsupported:
		return 1
	default:
		return 0
	}
}

// Reason is a stable code that says why a verdict is not PASS.
type Reason string

// Reasons of UNSUPPORTED, missing: the trace is whole and does not hold it.
const (
	NoCall     Reason = "no_call"
	NotRun     Reason = "not_run"
	CallFailed Reason = "call_failed"
)

// Reasons of UNSUPPORTED, unclear: nobody can tell from this trace.
const (
	Pending            Reason = "pending"
	Suspect            Reason = "suspect"
	NoOutcome          Reason = "no_outcome"
	FieldAbsent        Reason = "field_absent"
	NoPayload          Reason = "no_payload"
	SourceFailed       Reason = "source_failed"
	TraceGap           Reason = "trace_gap"
	EnvelopeIncomplete Reason = "envelope_incomplete"
	NoRequirement      Reason = "no_requirement"
	MalformedGround    Reason = "malformed_ground"
	AmbiguousCall      Reason = "ambiguous_call"
	Redacted           Reason = "redacted"
)

// Reasons of CONTRADICTED.
const (
	Failed         Reason = "failed"
	ExitCode       Reason = "exit_code"
	ValueDiffers   Reason = "value_differs"
	DuplicateWrite Reason = "duplicate_write"
	SchemaDrift    Reason = "schema_drift"
	BadStatus      Reason = "bad_status"
	NoID           Reason = "no_id"
	RunCutOff      Reason = "run_cut_off"
)

// Missing tells whether the reason belongs to the missing group: the trace is
// whole and does not hold what the claim needs. The other reasons of UNSUPPORTED
// are unclear.
func (r Reason) Missing() bool {
	switch r {
	case NoCall, NotRun, CallFailed:
		return true
	}
	return false
}

// NeedsPerson tells whether no re-run can mend what the reason names.
func (r Reason) NeedsPerson() bool {
	switch r {
	case SchemaDrift, DuplicateWrite, BadStatus, NoID:
		return true
	case Failed, ExitCode, ValueDiffers, RunCutOff:
		return false
	}
	return !r.Missing()
}

// Worse tells whether v decides over w.
func (v Verdict) Worse(w Verdict) bool { return v.rank() > w.rank() }
