package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kinds supplies what must be shown for claims of a kind, so that a rule pack can
// be handed to the loader that itself is read with the loader. Where it also has
// Weak(kind string) bool, that is asked for Claim.Weak.
type Kinds interface {
	// Requirement returns what a kind requires, as a JSON object of a claim's keys
	// without id, claim and kind, with the parameters put in.
	Requirement(kind string, with map[string]string) (json.RawMessage, error)
	// Names lists the kinds, sorted.
	Names() []string
}

// RequirementKeys are the keys of a claim that say what must be shown.
var RequirementKeys = []string{
	"must_show", "must_not_fail", "must_not_call", "count", "coverage", "no_duplicates", "grounds", "quotes", "envelope", "run",
}

// CheckRequirement tells what is wrong with requirements that stand alone, as a
// rule has them. They may name no schema file: a rule belongs to no folder.
func CheckRequirement(v Value) error {
	l := &loader{file: v.file}
	if v.node.kind != "object" {
		return l.wrongType(v.node, "requirement", "an object")
	}
	if err := l.known(v.node, RequirementKeys); err != nil {
		return err
	}
	if len(v.node.members) == 0 {
		return l.fault(v.node, MissingKey, "requirement", "the requirement is empty; it needs one of "+strings.Join(RequirementKeys, ", "))
	}
	var c Claim
	for _, m := range v.node.members {
		if err := l.requirement(&c, m); err != nil {
			return err
		}
	}
	return nil
}

// ReadMatchers reads a list of matchers that stands alone.
func ReadMatchers(v Value, key string) ([]Matcher, error) {
	l := &loader{file: v.file}
	return each(l, v.node, key, l.toolOrMatcher)
}

// kind puts what a claim's kind requires before what the claim itself requires.
// The claim adds to its kind and never replaces it: an agent that names a kind
// cannot make it cheaper. What the kind supplies has the place of its name, so
// that a fault in it points into this file.
func (l *loader) kind(n node) (node, error) {
	kind, with := n.member("kind"), n.member("with")
	if kind.kind == "" {
		if with.kind != "" {
			return n, l.fault(with, MissingKey, "with", "with gives the parameters of a kind, and the claim names none")
		}
		return n, nil
	}
	name, err := l.text(kind, "kind")
	if err != nil {
		return n, err
	}
	if l.opt.Kinds == nil {
		return n, l.fault(kind, UnknownKind, "kind", "no kinds of claims are known here; write out what must be shown")
	}
	if names := l.opt.Kinds.Names(); !slices.Contains(names, name) {
		fault := l.fault(kind, UnknownKind, "kind", fmt.Sprintf("unknown kind %q", name)).(*Error)
		fault.Nearest = nearest(name, names)
		return n, fault
	}
	params, err := l.with(with)
	if err != nil {
		return n, err
	}
	raw, err := l.opt.Kinds.Requirement(name, params)
	if err != nil {
		at := kind
		if with.kind != "" {
			at = with
		}
		return n, l.fault(at, BadValue, "with", err.Error())
	}
	supplied, err := parseJSON("kind "+name, raw)
	if err != nil {
		return n, l.fault(kind, BadValue, "kind", fmt.Sprintf("what the kind %s requires cannot be read: %v", name, err))
	}
	return l.add(supplied.at(kind.line, kind.column), n)
}

// with reads the parameters of a kind: texts, or numbers as they are written.
func (l *loader) with(n node) (map[string]string, error) {
	params := map[string]string{}
	if n.kind == "" {
		return params, nil
	}
	if n.kind != "object" {
		return nil, l.wrongType(n, "with", "an object of parameters")
	}
	for _, m := range n.members {
		if m.value.kind != "string" && m.value.kind != "number" {
			return nil, l.wrongType(m.value, "with", "an object of texts")
		}
		if m.value.text == "" {
			return nil, l.fault(m.value, MissingKey, "with", fmt.Sprintf("the parameter %s is empty", m.key))
		}
		params[m.key] = m.value.text
	}
	return params, nil
}

// at gives a node and all below it one place.
func (n node) at(line, column int) node {
	n.line, n.column = line, column
	n.list, n.members = slices.Clone(n.list), slices.Clone(n.members)
	for i := range n.list {
		n.list[i] = n.list[i].at(line, column)
	}
	for i := range n.members {
		m := &n.members[i]
		m.line, m.column, m.value = line, column, m.value.at(line, column)
	}
	return n
}

// add merges a kind's requirements and a claim's own. Own values of a wrong type
// are left as they are, for the loader to refuse.
func (l *loader) add(kind, own node) (node, error) {
	out := node{line: own.line, column: own.column, kind: own.kind}
	for _, m := range kind.members {
		if mine := own.member(m.key); mine.kind != "" {
			merged, err := l.both(m.key, m.value, mine)
			if err != nil {
				return own, err
			}
			m.value = merged
		}
		out.members = append(out.members, m)
	}
	for _, m := range own.members {
		if kind.member(m.key).kind == "" {
			out.members = append(out.members, m)
		}
	}
	return out, nil
}

// both makes one value of a key that asks for what the kind's value and the own
// value ask for.
func (l *loader) both(key string, kind, own node) (node, error) {
	var merged node
	var err error
	switch key {
	case "grounds":
		merged, err = l.bothGrounds(kind, own)
	case "envelope":
		merged, err = bothMembers(kind, own, map[string]merge{"cap": lower})
	case "run":
		merged, err = bothMembers(kind, own, map[string]merge{"end": common, "no_pending": either})
	default:
		return joined(kind, own), nil
	}
	var placed *Error
	if err != nil && !errors.As(err, &placed) {
		err = l.fault(own, BadValue, key, fmt.Sprintf("%s: %v", key, err))
	}
	return merged, err
}

// joined is a kind's list with the claim's own behind it.
func joined(kind, own node) node {
	if own.kind == "list" && len(own.list) > 0 {
		own.list = append(slices.Clone(kind.list), own.list...)
	}
	return own
}

// bothGrounds joins two lists that must hold as a whole. One of which any may do
// has no common form with another.
func (l *loader) bothGrounds(kind, own node) (node, error) {
	if own.kind != "list" && own.kind != "object" {
		return own, nil // for the loader to refuse
	}
	var all []node
	for _, g := range []node{kind, own} {
		if g.kind == "object" {
			if _, err := l.grounds(g); err != nil {
				return own, err
			}
			if m := g.members[0]; m.key == "any_of" && len(m.value.list) > 1 {
				return own, errors.New("any_of cannot be joined with what the kind requires; make it a claim of its own")
			}
			g = g.members[0].value
		}
		if len(g.list) == 0 {
			return own, nil
		}
		all = append(all, g.list...)
	}
	return node{line: own.line, column: own.column, kind: "list", list: all}, nil
}

// merge makes one value of two that must both hold.
type merge func(kind, own node) (node, error)

// bothMembers merges two objects, member by member. A schema stands only in own:
// no kind can name one.
func bothMembers(kind, own node, how map[string]merge) (node, error) {
	if own.kind != "object" {
		return own, nil
	}
	own.members = slices.Clone(own.members)
	for _, m := range kind.members {
		i := slices.IndexFunc(own.members, func(o member) bool { return o.key == m.key })
		if i < 0 {
			own.members = append(own.members, m)
			continue
		}
		v, err := how[m.key](m.value, own.members[i].value)
		if err != nil {
			return own, err
		}
		own.members[i].value = v
	}
	return own, nil
}

// lower is the smaller of two whole numbers.
func lower(kind, own node) (node, error) {
	if own.kind == "number" && (len(kind.text) < len(own.text) || len(kind.text) == len(own.text) && kind.text < own.text) {
		return kind, nil
	}
	return own, nil
}

func either(kind, own node) (node, error) {
	if own.kind == "boolean" && kind.boolean {
		return kind, nil
	}
	return own, nil
}

// common is what two lists of texts share: an end that both allow.
func common(kind, own node) (node, error) {
	if own.kind != "list" || len(own.list) == 0 {
		return own, nil
	}
	shared := own
	shared.list = nil
	for _, e := range own.list {
		if e.kind != "string" || slices.ContainsFunc(kind.list, func(k node) bool { return k.text == e.text }) {
			shared.list = append(shared.list, e)
		}
	}
	if len(shared.list) == 0 {
		return own, errors.New("none of these ends is one that the kind allows")
	}
	return shared, nil
}
