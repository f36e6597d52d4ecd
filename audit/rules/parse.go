package rules

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"nightaudit/audit/claims"
)

// common are the words and filters that every pack has, before its own.
var common = sync.OnceValues(func() (*Pack, error) {
	p := &Pack{words: map[string]string{}, filters: map[string][]string{}}
	err := p.parse("common.yaml", commonYAML)
	return p, err
})

// Parse reads a pack. It is as strict as the loader of claims, and holds each rule
// to its own examples of sentences; the first fault ends it with a *claims.Error.
func Parse(file string, data []byte) (*Pack, error) {
	p, err := load(file, data)
	if err != nil {
		return nil, err
	}
	if err := p.checkExamples(file); err != nil {
		return nil, err
	}
	return p, nil
}

// load reads a pack without holding it to its examples.
func load(file string, data []byte) (*Pack, error) {
	base, err := common()
	if err != nil {
		return nil, err
	}
	p := &Pack{words: maps.Clone(base.words), filters: map[string][]string{}, neutral: slices.Clone(base.neutral)}
	for name, list := range base.filters {
		p.filters[name] = slices.Clone(list)
	}
	if err := p.parse(file, data); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Pack) parse(file string, data []byte) error {
	root, err := claims.Read(file, data)
	if err != nil {
		return err
	}
	parts := map[string]claims.Value{}
	keys := []string{"words", "filters", "neutral", "rules", "calls"}
	if err := root.Fields("a pack", keys, func(key string, v claims.Value) error {
		parts[key] = v
		return nil
	}); err != nil {
		return err
	}
	if len(parts) == 0 {
		return root.Fault(claims.MissingKey, "rules", "the pack is empty; it needs one of "+strings.Join(keys, ", "))
	}
	for _, key := range keys { // words first: the others are made of them
		v, ok := parts[key]
		if !ok {
			continue
		}
		read := map[string]func(claims.Value) error{"words": p.readWords, "filters": p.readFilters, "neutral": p.readNeutral, "rules": p.readRules, "calls": p.readCalls}[key]
		if err := read(v); err != nil {
			return err
		}
	}
	p.compile()
	return nil
}

var nameOK = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

func (p *Pack) readWords(v claims.Value) error {
	return v.Fields("words", nil, func(name string, v claims.Value) error {
		if !nameOK.MatchString(name) {
			return v.Fault(claims.BadValue, "words", fmt.Sprintf("words: %q is no name; it is made of small letters, digits and _", name))
		}
		text, err := v.Text("words")
		if err != nil {
			return err
		}
		source, err := p.expand(v, "words", text)
		p.words[name] = source
		return err
	})
}

// maxPattern bounds a pattern with its words put in: time to match grows with it.
const maxPattern = 20_000

// expand puts the pack's words into a pattern, in the place of {name}, and tells
// whether it is one.
func (p *Pack) expand(v claims.Value, key, text string) (string, error) {
	var unknown string
	out := placeholder.ReplaceAllStringFunc(text, func(m string) string {
		word, ok := p.words[strings.Trim(m, "{}")]
		if !ok {
			unknown = m
		}
		return word
	})
	if unknown != "" {
		return "", v.Fault(claims.BadValue, key, fmt.Sprintf("%s: there are no words %s", key, unknown))
	}
	if _, err := regexp.Compile(out); err != nil || len(out) > maxPattern {
		if err == nil {
			err = errors.New("it is too long")
		}
		return "", v.Fault(claims.BadValue, key, fmt.Sprintf("%s: %q is no pattern (RE2): %v", key, text, err))
	}
	if key == "words" && !strings.HasPrefix(out, "(?:") {
		out = "(?:" + out + ")"
	}
	return out, nil
}

// patterns reads a list of patterns.
func (p *Pack) patterns(v claims.Value, key string) ([]string, error) {
	list, err := v.List(key)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, e := range list {
		text, err := e.Text(key)
		if err != nil {
			return nil, err
		}
		pattern, err := p.expand(e, key, text)
		if err != nil {
			return nil, err
		}
		out = append(out, pattern)
	}
	return out, nil
}

func (p *Pack) readFilters(v claims.Value) error {
	return v.Fields("filters", nil, func(name string, v claims.Value) error {
		if !nameOK.MatchString(name) {
			return v.Fault(claims.BadValue, "filters", fmt.Sprintf("filters: %q is no name; it is made of small letters, digits and _", name))
		}
		list, err := p.patterns(v, "filters")
		p.filters[name] = append(p.filters[name], list...)
		return err
	})
}

func (p *Pack) readNeutral(v claims.Value) error {
	list, err := p.patterns(v, "neutral")
	p.neutral = append(p.neutral, list...)
	return err
}

func (p *Pack) readRules(v claims.Value) error {
	list, err := v.List("rules")
	if err != nil {
		return err
	}
	for _, e := range list {
		r, err := p.readRule(e)
		if err != nil {
			return err
		}
		if p.rule(r.Kind) != nil {
			return e.Fault(claims.BadValue, "kind", fmt.Sprintf("the kind %q stands twice", r.Kind))
		}
		p.rules = append(p.rules, r)
	}
	return nil
}

var ruleKeys = []string{"kind", "sentences", "not", "lifts", "weak", "unless", "requirement", "insufficient", "examples"}

func (p *Pack) readRule(v claims.Value) (*Rule, error) {
	r := &Rule{at: v.Fault("", "", "")}
	var sentences claims.Value
	err := v.Fields("a rule", ruleKeys, func(key string, v claims.Value) (err error) {
		switch key {
		case "kind":
			if r.Kind, err = v.Text(key); err == nil && !nameOK.MatchString(r.Kind) {
				err = v.Fault(claims.BadValue, key, fmt.Sprintf("kind: %q is no name; it is made of small letters, digits and _", r.Kind))
			}
		case "sentences":
			sentences = v
			err = p.readSentences(r, v)
		case "not":
			var list []string
			list, err = p.patterns(v, key)
			r.not = union(list)
		case "lifts":
			err = p.readLifts(r, v)
		case "weak":
			r.Weak, err = truth(v, key)
		case "unless":
			r.Unless, err = claims.ReadMatchers(v, key)
		case "requirement":
			err = readRequirement(r, v)
		case "insufficient":
			r.Insufficient, err = v.Text(key)
		case "examples":
			err = r.Examples.read(v)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for key, missing := range map[string]bool{"kind": r.Kind == "", "requirement": r.requirement == nil, "insufficient": r.Insufficient == ""} {
		if missing {
			return nil, v.Fault(claims.MissingKey, key, "a rule needs kind, requirement and insufficient; "+key+" is missing")
		}
	}
	return r, r.checkParams(v, sentences)
}

func (p *Pack) readSentences(r *Rule, v claims.Value) error {
	list, err := p.patterns(v, "sentences")
	for _, pattern := range list {
		r.sentences = append(r.sentences, regexp.MustCompile("(?i)"+pattern))
	}
	return err
}

func (p *Pack) readLifts(r *Rule, v claims.Value) error {
	list, err := v.List("lifts")
	if err != nil {
		return err
	}
	for _, e := range list {
		name, err := e.Text("lifts")
		if err != nil {
			return err
		}
		if p.filters[name] == nil {
			return e.Fault(claims.BadValue, "lifts", fmt.Sprintf("lifts: there is no filter %q; there are %s", name, strings.Join(slices.Sorted(maps.Keys(p.filters)), ", ")))
		}
		r.lifts = append(r.lifts, name)
	}
	return nil
}

// readRequirement reads a requirement as the loader of claims would, with values in
// the place of its parameters, once with all of them and once with the needed ones.
func readRequirement(r *Rule, v claims.Value) error {
	r.requirement = v.Any()
	r.params = paramsOf(r.requirement)
	for _, all := range []bool{true, false} {
		values := map[string]string{}
		for _, p := range r.params {
			if all || !p.optional {
				values[p.name] = "1"
			}
		}
		filled, err := put(r.requirement, "", values)
		if err != nil {
			return v.Fault(claims.BadValue, "requirement", "without its optional parameters nothing is left of the requirement")
		}
		check, err := v.With(filled)
		if err == nil {
			err = claims.CheckRequirement(check)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkParams tells whether every sentence gives the parameters that are needed, and
// none that is not.
func (r *Rule) checkParams(v, sentences claims.Value) error {
	for _, re := range r.sentences {
		names := re.SubexpNames()
		for _, name := range names[1:] {
			if name != "" && !slices.ContainsFunc(r.params, func(p param) bool { return p.name == name }) {
				return sentences.Fault(claims.BadValue, "sentences", fmt.Sprintf("%s: the requirement has no parameter {%s}; it has %s", r.Kind, name, r.paramNames()))
			}
		}
		for _, p := range r.params {
			if !p.optional && !slices.Contains(names, p.name) {
				return sentences.Fault(claims.BadValue, "sentences", fmt.Sprintf("%s: a sentence gives no {%s}, which the requirement needs: %s", r.Kind, p.name, re))
			}
		}
	}
	return nil
}

// checkExamples holds each rule to the sentences that it must and must not fit.
func (p *Pack) checkExamples(file string) error {
	for _, r := range p.rules {
		var faults []string // all of them: a pattern is seldom wrong about one only
		fits, failed := sentencesOf(r.Examples.Pass), sentencesOf(r.Examples.Fail)
		for _, s := range slices.Concat(r.Examples.Fits, fits, failed) {
			if !p.Fits(r.Kind, s) {
				faults = append(faults, fmt.Sprintf("does not fit its example %q", s))
			}
		}
		for _, s := range r.Examples.FitsNot {
			if p.Fits(r.Kind, s) {
				faults = append(faults, fmt.Sprintf("fits its example %q", s))
			}
		}
		if len(faults) > 0 {
			at := r.at
			return &claims.Error{File: file, Line: at.Line, Column: at.Column, Kind: claims.BadValue, Key: "examples", Detail: r.Kind + " " + strings.Join(faults, "; ")}
		}
	}
	return nil
}

func sentencesOf(list []Example) []string {
	var out []string
	for _, e := range list {
		out = append(out, e.Sentence)
	}
	return out
}

// Fits tells whether a text makes a claim of a kind.
func (p *Pack) Fits(kind, text string) bool {
	r := p.rule(kind)
	return r != nil && slices.ContainsFunc(Sentences(text), func(s string) bool {
		t := p.read(s)
		_, ok := t.fits(r)
		return ok && !t.excluded(r)
	})
}
