// Package rerun redoes what a claim failed on, and only that: a Segment of a run
// goes in, a narrow context is sent to an endpoint together with the operator's
// tools, the calls that follow are recorded as a trace of their own, and what
// comes out is a merged verdict beside the first one.
//
// It owns the queue (rerun_queue, rerun_attempts, rerun_steps). It never writes
// to the first trace, never repeats a write that has succeeded, and asks the
// budget before each request. When a pass works on the queue, and how reports
// look, is left to others.
package rerun

import (
	"encoding/json"
	"fmt"
	"time"

	"nightaudit/audit/claims"
)

// Outcome is what a re-run came to; it stands beside the first verdict, never
// over it.
type Outcome string

// The outcomes.
const (
	Repaired     Outcome = "REPAIRED"      // failed before, shown by calls of the re-run
	StillFailing Outcome = "STILL_FAILING" // not shown by the re-run either
	GaveUp       Outcome = "GAVE_UP"       // the model said that it cannot be done
)

// Item is a segment in the queue, with everything that a re-run needs although
// the trace may be gone by then.
type Item struct {
	ID        int64  // 0 until it is queued
	Key       string // identifies the segment: one row for it, ever
	RunKey    string
	TraceHash string
	Source    string // the configured source's name
	Path      string // the trace
	Claims    []Claim
	// Downstream are claims that pass with evidence behind the segment's start: they
	// are audited again on the merged record.
	Downstream []Claim
	Done       []PastCall // of the first run, by tools that write
	System     string     // the two messages of the digest
	User       string
	Tools      []string // that the claims need
	Worst      string   // verdict of the worst claim
	Attempts   int
	Estimate   int64 // bytes of the context: a rough order of cost, never reserved
}

// Claim is a claim of an Item, with its first verdict.
type Claim struct {
	Key     string        `json:"key"`
	Claim   StoredClaim   `json:"claim"`
	Verdict string        `json:"verdict"`
	Reason  string        `json:"reason"`
	Source  claims.Source `json:"source"`
}

// StoredClaim is the part of a claim that a re-run is judged by: its requirements
// are kept as they were written, and read again by the loader.
type StoredClaim struct {
	ID          string          `json:"id"`
	Text        string          `json:"text"`
	Requirement json.RawMessage `json:"requirement"`
}

// restore loads the stored claim again.
func (c Claim) restore() (claims.Claim, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(c.Claim.Requirement, &object); err != nil {
		return claims.Claim{}, fmt.Errorf("read stored claim %s: %w", c.Claim.ID, err)
	}
	text, err := json.Marshal(c.Claim.Text)
	if err != nil {
		return claims.Claim{}, fmt.Errorf("read stored claim %s: %w", c.Claim.ID, err)
	}
	object["claim"] = text
	raw, err := json.Marshal(object)
	if err != nil {
		return claims.Claim{}, fmt.Errorf("read stored claim %s: %w", c.Claim.ID, err)
	}
	out, err := claims.LoadOne("stored claim", raw, 1, claims.Options{Source: c.Source})
	out.ID = c.Claim.ID
	return out, err
}

// PastCall is a call of the first run that may have changed something: what keeps
// a re-run from doing it once more.
type PastCall struct {
	Tool string `json:"tool"`
	// Key is that of tool and arguments (tools.Key).
	Key  string `json:"key"`
	Line int    `json:"line"`
	// Known tells whether the call is known to have succeeded; else nobody knows
	// whether it took effect.
	Known bool `json:"known"`
}

// Limits bound one attempt. The first that is hit ends it.
type Limits struct {
	ModelCalls     int
	ToolCalls      int
	Tokens         int64 // of all requests of the attempt; 0: only the allowance limits
	WallClock      time.Duration
	IdenticalCalls int // as many calls of one tool with the same arguments
	IdleTurns      int // as many answers in a row without a call
}

// DefaultLimits are those of an attempt that nobody watches.
var DefaultLimits = Limits{ModelCalls: 6, ToolCalls: 12, WallClock: 5 * time.Minute, IdenticalCalls: 3, IdleTurns: 2}

// MaxAttempts is how often a segment is tried before it is left to a person: as
// many attempts as came to a verdict.
const MaxAttempts = 2

// maxDispatches bounds the attempts that did not: cut off, or ended by the
// endpoint. They cost tokens too.
const maxDispatches = 6

// GiveUp is the tool by which a model says that it cannot be done.
const GiveUp = "give_up"
