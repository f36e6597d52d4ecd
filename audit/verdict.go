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
	NoCall        Reason = "no_call"
	OtherTarget   Reason = "other_target"
	NotRun        Reason = "not_run"
	Stale         Reason = "stale"
	ZeroTests     Reason = "zero_tests"
	NoChildCalls  Reason = "no_child_calls"
	PartialRead   Reason = "partial_read"
	NotObserved   Reason = "not_observed"
	OutputMissing Reason = "output_missing"
	QuoteMissing  Reason = "quote_missing"
	CallFailed    Reason = "call_failed"
)

// Reasons of UNSUPPORTED, unclear: nobody can tell from this trace.
const (
	Pending            Reason = "pending"
	Suspect            Reason = "suspect"
	MaskedExit         Reason = "masked_exit"
	NoOutcome          Reason = "no_outcome"
	FieldAbsent        Reason = "field_absent"
	NoPayload          Reason = "no_payload"
	SourceFailed       Reason = "source_failed"
	ChildMissing       Reason = "child_missing"
	TraceGap           Reason = "trace_gap"
	EnvelopeIncomplete Reason = "envelope_incomplete"
	NoRequirement      Reason = "no_requirement"
	NoRunEnd           Reason = "no_run_end"
	MalformedGround    Reason = "malformed_ground"
	AmbiguousCall      Reason = "ambiguous_call"
	Redacted           Reason = "redacted"
)

// Reasons of CONTRADICTED.
const (
	Failed            Reason = "failed"
	RepeatedUnchanged Reason = "repeated_unchanged"
	ExitCode          Reason = "exit_code"
	TestsFailed       Reason = "tests_failed"
	CountDiffers      Reason = "count_differs"
	ValueDiffers      Reason = "value_differs"
	OutputContradicts Reason = "output_contradicts"
	ForbiddenCall     Reason = "forbidden_call"
	DuplicateWrite    Reason = "duplicate_write"
	SchemaDrift       Reason = "schema_drift"
	BadStatus         Reason = "bad_status"
	NoID              Reason = "no_id"
	ChildCutOff       Reason = "child_cut_off"
	RunCutOff         Reason = "run_cut_off"
	ReadBackDiffers   Reason = "read_back_differs"
)

// Missing tells whether the reason belongs to the missing group: the trace is
// whole and does not hold what the claim needs. The other reasons of UNSUPPORTED
// are unclear.
func (r Reason) Missing() bool {
	switch r {
	case NoCall, OtherTarget, NotRun, Stale, ZeroTests, NoChildCalls, PartialRead, NotObserved, OutputMissing, QuoteMissing, CallFailed:
		return true
	}
	return false
}

// NeedsPerson tells whether no re-run can mend what the reason names.
func (r Reason) NeedsPerson() bool {
	switch r {
	case SchemaDrift, DuplicateWrite, ForbiddenCall, BadStatus, NoID:
		return true
	case Failed, RepeatedUnchanged, ExitCode, TestsFailed, CountDiffers, ValueDiffers, OutputContradicts, ChildCutOff, RunCutOff, ReadBackDiffers:
		return false
	}
	return !r.Missing()
}

// Worse tells whether v decides over w.
func (v Verdict) Worse(w Verdict) bool { return v.rank() > w.rank() }
