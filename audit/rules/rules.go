// Package rules turns sentences of a run's summary into claims, by packs of rules:
// each says which sentences make a claim of its kind, and what must be shown for it.
//
// A pack goes in as YAML and comes out as a Pack: a table of kinds for the loader
// of claims, and the claims that a summary makes. A sentence that no rule fits, or
// that a filter excludes, comes back as not checked: a wrong guess at what somebody
// meant is a false accusation, so a sentence that could be read otherwise is left
// alone. What a requirement means for a run is the audit's work.
package rules

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"nightaudit/audit/claims"
	"nightaudit/audit/outcome"
)

//go:embed common.yaml
var commonYAML []byte

//go:embed coding.yaml
var codingYAML []byte

// Pack is a set of rules, with the filters that all of them obey.
type Pack struct {
	words   map[string]string   // parts of patterns, by name
	filters map[string][]string // what excludes a sentence, by name, as patterns
	neutral []string            // what the filters do not see
	rules   []*Rule             // one a kind, in order
	calls   outcome.Tables      // what it adds to the tables of outcomes

	excludes map[string]*regexp.Regexp // filters, compiled
	ignore   *regexp.Regexp            // neutral, compiled; nil: nothing
}

// Rule is one kind of claim.
type Rule struct {
	Kind         string
	Insufficient string // what does not show it, and why
	// Weak: a trace can support such a claim but not refute it, so that it is never
	// CONTRADICTED.
	Weak     bool
	Examples Examples
	// Unless are calls beside which a sentence is not judged, since they make an
	// honest run look like another.
	Unless []claims.Matcher

	sentences   []*regexp.Regexp
	not         *regexp.Regexp // what excludes a sentence from this rule; nil: nothing
	lifts       []string       // filters that it does not obey
	requirement any            // with placeholders
	params      []param
	at          *claims.Error // where it stands
}

// Examples are what a rule must and must not fit, and what its verdicts are.
type Examples struct {
	Fits, FitsNot []string
	Pass, Fail    []Example
}

// Example is a sentence that is held against a trace.
type Example struct {
	Trace           []string // native lines
	Sentence        string
	Verdict, Reason string // "PASS" and "" in Pass
	Line            int    // of the pack, where it stands
}

// Default returns the rules for coding agents.
var Default = sync.OnceValue(func() *Pack {
	p, err := load("coding.yaml", codingYAML)
	if err != nil {
		panic("rules: the embedded pack: " + err.Error()) // a test parses it, examples and all
	}
	return p
})

// With returns a pack of the rules of both. A rule of more replaces the one of the
// same kind whole; its other rules stand behind. Filters and neutral words of both
// apply to every rule. Of what is said of one tool or program twice, more's counts.
func (p *Pack) With(more *Pack) *Pack {
	out := &Pack{
		words: maps.Clone(p.words), filters: maps.Clone(p.filters),
		neutral: slices.Clone(p.neutral), rules: slices.Clone(p.rules), calls: *p.calls.With(&more.calls),
	}
	maps.Copy(out.words, more.words)
	for name, list := range more.filters {
		for _, pattern := range list {
			if !slices.Contains(out.filters[name], pattern) {
				out.filters[name] = append(slices.Clip(out.filters[name]), pattern)
			}
		}
	}
	for _, pattern := range more.neutral {
		if !slices.Contains(out.neutral, pattern) {
			out.neutral = append(out.neutral, pattern)
		}
	}
	for _, r := range more.rules {
		if i := slices.IndexFunc(out.rules, func(o *Rule) bool { return o.Kind == r.Kind }); i >= 0 {
			out.rules[i] = r
		} else {
			out.rules = append(out.rules, r)
		}
	}
	out.compile()
	return out
}

// compile makes one pattern of each filter. The patterns are known to be good.
func (p *Pack) compile() {
	p.excludes = map[string]*regexp.Regexp{}
	for name, list := range p.filters {
		p.excludes[name] = union(list)
	}
	p.ignore = union(p.neutral)
}

func union(patterns []string) *regexp.Regexp {
	if len(patterns) == 0 {
		return nil
	}
	return regexp.MustCompile("(?i)(?:" + strings.Join(patterns, ")|(?:") + ")")
}

// Rules lists the rules, in order.
func (p *Pack) Rules() []*Rule { return slices.Clone(p.rules) }

func (p *Pack) rule(kind string) *Rule {
	for _, r := range p.rules {
		if r.Kind == kind {
			return r
		}
	}
	return nil
}

// Kinds returns the pack as the table of kinds that claims may name.
func (p *Pack) Kinds() claims.Kinds { return kinds{p} }

type kinds struct{ pack *Pack }

// Names lists the kinds, sorted.
func (k kinds) Names() []string {
	var out []string
	for _, r := range k.pack.rules {
		out = append(out, r.Kind)
	}
	slices.Sort(out)
	return out
}

// Requirement returns what a kind requires, with the parameters put in.
func (k kinds) Requirement(kind string, with map[string]string) (json.RawMessage, error) {
	r := k.pack.rule(kind)
	if r == nil {
		return nil, fmt.Errorf("unknown kind %q", kind)
	}
	return r.fill(with)
}

// Weak tells whether a trace cannot refute claims of a kind.
func (k kinds) Weak(kind string) bool {
	r := k.pack.rule(kind)
	return r != nil && r.Weak
}
