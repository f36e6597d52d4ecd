// Package claims reads claims files, JSON or YAML 1.2, into Claims: statements of
// an agent, each with the requirements that must be shown for it.
//
// The loader is strict, since a requirement that is silently dropped turns into a
// PASS of something that nobody checked: an unknown key, an empty list, a wrong
// type or a bad value is an Error with its place. What a requirement means for a
// run is the audit's work.
package claims

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nightaudit/trace"
)

// Source says where a claim comes from.
type Source string

// The sources of claims.
const (
	SourceTrace       Source = "trace"       // stands in the trace: the agent's own
	SourceFile        Source = "file"        // a claims file
	SourceExpectation Source = "expectation" // a claims file that the configuration names for a path
	SourceAction      Source = "action"      // an action of the trace, with grounds
	SourceRule        Source = "rule"        // a sentence of the summary that a rule fits
)

// Claim is a statement and what must be shown for it. A Claim without any
// requirement can be loaded; it is judged UNSUPPORTED.
type Claim struct {
	ID     string // as given, else c1, c2, … by position
	Text   string // the statement, as the agent made it
	Source Source
	Kind   string // the kind that it names, whose requirements stand before its own; "" none
	// Weak: a trace can support the claim but not refute it; what would contradict
	// it leaves it UNSUPPORTED.
	Weak bool
	// Unless are calls beside which a statement of the summary cannot be judged by its
	// rule; it is then one that is not checked.
	Unless []Matcher
	Line   int // in the claims file; 0 for a claim of the trace

	// Ruled is set when requirements of a rule have been added, so that the claim is
	// not measured by its own alone.
	Ruled bool
	// Order is the keys of the requirements as they stand in the file: findings come
	// in this order.
	Order []string

	MustShow     []Show
	MustNotFail  []NotFail
	MustNotCall  []Matcher
	Count        []Count
	Coverage     []Coverage
	NoDuplicates []NoDuplicates
	Grounds      *Grounds
	Quotes       []string // texts that some tool's result must hold
	Envelope     *Envelope
	Run          *RunEnd

	// Requirement is the claim's requirements as canonical JSON: what its key is
	// made of, and what is shown to people.
	Requirement json.RawMessage
}

// Empty tells whether the claim has no requirement at all.
func (c *Claim) Empty() bool {
	return len(c.MustShow)+len(c.MustNotFail)+len(c.MustNotCall)+len(c.Count)+len(c.Coverage)+len(c.NoDuplicates)+len(c.Quotes) == 0 &&
		c.Grounds == nil && c.Envelope == nil && c.Run == nil
}

// Add adds the requirements of another claim to this one's; none is replaced. Of
// grounds, envelope and run, which stand but once, its own are kept.
func (c *Claim) Add(more Claim) {
	c.MustShow = append(c.MustShow, more.MustShow...)
	c.MustNotFail = append(c.MustNotFail, more.MustNotFail...)
	c.MustNotCall = append(c.MustNotCall, more.MustNotCall...)
	c.Count = append(c.Count, more.Count...)
	c.Coverage = append(c.Coverage, more.Coverage...)
	c.NoDuplicates = append(c.NoDuplicates, more.NoDuplicates...)
	c.Quotes = append(c.Quotes, more.Quotes...)
	if c.Grounds == nil {
		c.Grounds = more.Grounds
	}
	if c.Run == nil {
		c.Run = more.Run
	}
	for _, key := range more.Order {
		if !slices.Contains(c.Order, key) {
			c.Order = append(c.Order, key)
		}
	}
}

// ByTool tells whether everything that the claim requires to be shown, or not to
// fail, is named by tools alone: what a re-run can be offered.
func (c *Claim) ByTool() bool {
	for _, s := range c.MustShow {
		if s.Match != nil {
			return false
		}
	}
	for _, f := range c.MustNotFail {
		if f.Match != nil {
			return false
		}
	}
	return true
}

// Grounds are comparisons with recorded results: all of them must hold, or any.
type Grounds struct {
	Any  bool
	List []Ground
}

// Ground compares one field of one call's result with a value.
type Ground struct {
	From trace.ID // the call's id; "" with Match
	// Match picks the call in place of an id, with Pick any or latest.
	Match *Matcher
	Pick  Pick
	Field string // no dot: one literal key; else a dotted path, integers index arrays
	Op    Op
	// Value is what the field is compared with, decoded with numbers as
	// json.Number: any value for equals and not_equals, a bool for exists, a list
	// for in. For between it is unused.
	Value    any
	Min, Max *json.Number // bounds of between, inclusive; at least one is given
}

// Op is the operator of a Ground.
type Op string

// The operators. Between stands for the keys min and max.
const (
	Equals    Op = "equals"
	NotEquals Op = "not_equals"
	Exists    Op = "exists"
	In        Op = "in"
	Between   Op = "between"
)

// Envelope asks for whole tool envelopes that follow a pinned schema.
type Envelope struct {
	Schemas []Schema // any listed hash is accepted; none: hashes are not compared
	Cap     int      // more envelopes than this: the run was cut off; 0: no cap
}

// Schema is a pinned schema file.
type Schema struct {
	Name   string
	SHA256 string // of the file's bytes, lower-case hex
	// Tools are the compiled schemas by the tool that they name. A schema that
	// names no tool is compared by its hash only.
	Tools map[string]*jsonschema.Schema
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}
