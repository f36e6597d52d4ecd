package audit

import (
	"encoding/json"
	"fmt"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
	"nightaudit/trace"
)

// CallRef names a call of the trace.
type CallRef struct {
	ID   trace.ID
	File string // beside the trace, where the call is a sub-agent's (trace.Call.File)
	Line int
	Tool string

	index int // in Run.Calls
}

// Place says where the call stands: "line 3", with the file that is not the
// trace's own.
func (r CallRef) Place() string {
	if r.File == "" {
		return fmt.Sprintf("line %d", r.Line)
	}
	return fmt.Sprintf("line %d of %s", r.Line, r.File)
}

// Finding is what one requirement of a claim came to.
type Finding struct {
	Requirement string // must_show[0], grounds[1], envelope, …
	Verdict     Verdict
	Reason      Reason    // "" for PASS
	Calls       []CallRef // those it rests on, or that it considered
	Expected    json.RawMessage
	Observed    json.RawMessage
	Detail      string // one sentence for a person

	// rests tells whether the finding rests on its Calls. One that does not (nothing
	// was there to rest on) lists what it considered, which anchors no segment.
	rests bool
	// strength of a PASS: "" the tool said so, else observed.
	strength string
	// recovered lists failed calls that this requirement matches.
	recovered []int
}

// Judged is a claim with its verdict.
type Judged struct {
	Claim    claims.Claim
	Verdict  Verdict
	Reason   Reason // of the first worst finding; "" for PASS
	Findings []Finding
	// Strength of a PASS: reported (the tool said so), or observed (a later look at
	// the same target agrees).
	Strength string
	// Recovered: a PASS that has an older failed call among those that it asks for.
	Recovered bool
	// OwnMeasure: a PASS of the agent's own claim, measured by its own requirement.
	// It does not count as checked.
	OwnMeasure bool
	// Evidence are the calls that a PASS rests on, in order; the last one is the
	// final supporting call.
	Evidence []CallRef
}

// SecretAt tells that a line of the trace holds a secret: its kind and place,
// never its value.
type SecretAt struct {
	Line  int
	Kind  string
	Place string
}

// Totals counts a report's claims by verdict.
type Totals struct {
	Pass, Unsupported, Contradicted int
	Statements                      int // claims and sentences of the summary
	Checked                         int // claims judged by a measure that is not the agent's own
}

// Report is the audit of one run.
type Report struct {
	Run        *trace.Run
	Claims     []Judged
	NotChecked []string // sentences of the summary that nothing checks
	Segments   []Segment
	Secrets    []SecretAt
	Totals     Totals

	tables *outcome.Tables
}

// Outcome returns what became of a call of the run, by the tables that it was
// judged by.
func (r *Report) Outcome(c *trace.Call) (outcome.Outcome, error) {
	tables := r.tables
	if tables == nil {
		tables = outcome.DefaultTables()
	}
	return tables.Of(r.Run, c)
}

// Worst returns the report's verdict: that of its worst claim. A report without a
// checked claim is Unsupported: nothing was checked.
func (r *Report) Worst() Verdict {
	worst := Pass
	for _, j := range r.Claims {
		if j.Verdict.rank() > worst.rank() {
			worst = j.Verdict
		}
	}
	if worst == Pass && r.Totals.Checked == 0 {
		return Unsupported
	}
	return worst
}
