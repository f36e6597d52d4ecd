package claims

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"nightaudit/trace"
)

// Options say where the claims come from and how files beside them are read.
type Options struct {
	Source Source
	// ReadFile reads a schema file that a claim names, relative to the claims file.
	// Nil: claims may name none (claims of a trace may not).
	ReadFile func(name string) ([]byte, error)
	// Kinds supplies what claims that name a kind require. Nil: a claim may name none.
	Kinds Kinds
}

// Keys of a claim and of its grounds.
var (
	claimKeys  = append([]string{"id", "claim", "kind", "with"}, RequirementKeys...)
	groundKeys = []string{"from", "field", "equals", "not_equals", "exists", "in", "min", "max"}
)

// Load reads a claims file: an array of claims, or an object {claims: […]}. The
// first fault ends it with an *Error.
func Load(file string, data []byte, opt Options) ([]Claim, error) {
	root, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	l := &loader{file: file, opt: opt}
	list := root
	if root.kind == "object" {
		if err := l.known(root, []string{"claims"}); err != nil {
			return nil, err
		}
		if len(root.members) == 0 {
			return nil, l.fault(root, MissingKey, "claims", "the key claims is missing")
		}
		list = root.members[0].value
	}
	if err := l.isList(list, "claims"); err != nil {
		return nil, err
	}
	return l.claims(list.list)
}

// LoadOne reads a single claim object, as it stands in a trace. Beside an error
// the Claim holds what was read before it, at least its id.
func LoadOne(name string, data []byte, number int, opt Options) (Claim, error) {
	n, err := parseJSON(name, data)
	if err != nil {
		return Claim{ID: "c" + strconv.Itoa(number), Source: opt.Source}, err
	}
	l := &loader{file: name, opt: opt, ignore: map[string]bool{"type": true, "ts": true}}
	return l.claim(n, number)
}

type loader struct {
	file   string
	opt    Options
	ignore map[string]bool // keys of the record around a claim
}

func (l *loader) fault(n node, kind Kind, key, detail string) error {
	return &Error{File: l.file, Line: n.line, Column: n.column, Kind: kind, Key: key, Detail: detail}
}

func (l *loader) wrongType(n node, key, want string) error {
	return l.fault(n, WrongType, key, fmt.Sprintf("%s must be %s, not %s", key, want, article(n.kind)))
}

func article(kind string) string {
	switch kind {
	case "object":
		return "an object"
	case "null":
		return "null"
	default:
		return "a " + kind
	}
}

func (l *loader) isList(n node, key string) error {
	if n.kind != "list" {
		return l.wrongType(n, key, "a list")
	}
	if len(n.list) == 0 {
		return l.fault(n, EmptyList, key, key+" is empty; an empty list checks nothing")
	}
	return nil
}

// known refuses members that are not among the allowed keys.
func (l *loader) known(n node, allowed []string) error {
	for _, m := range n.members {
		if l.ignore[m.key] || slices.Contains(allowed, m.key) {
			continue
		}
		at := node{line: m.line, column: m.column}
		err := l.fault(at, UnknownKey, m.key, fmt.Sprintf("unknown key %q", m.key)).(*Error)
		err.Nearest = nearest(m.key, allowed)
		return err
	}
	return nil
}

func (l *loader) claims(list []node) ([]Claim, error) {
	out := make([]Claim, 0, len(list))
	ids := map[string]int{}
	for i, n := range list {
		c, err := l.claim(n, i+1)
		if err != nil {
			return nil, err
		}
		if line, twice := ids[c.ID]; twice {
			return nil, l.fault(n, DuplicateID, "id", fmt.Sprintf("the id %q is taken by the claim on line %d", c.ID, line))
		}
		ids[c.ID] = n.line
		out = append(out, c)
	}
	return out, nil
}

func (l *loader) claim(n node, number int) (Claim, error) {
	c := Claim{ID: "c" + strconv.Itoa(number), Source: l.opt.Source, Line: n.line}
	if n.kind != "object" {
		return c, l.wrongType(n, "claims", "a list of objects")
	}
	if err := l.known(n, claimKeys); err != nil {
		return c, err
	}
	merged, err := l.kind(n)
	// The claim's own name and words come first, so that what cannot be read further
	// keeps them.
	for _, m := range n.members {
		if fault := l.own(&c, m); fault != nil {
			return c, fault
		}
	}
	if err != nil {
		return c, err
	}
	requirement := map[string]any{}
	for _, m := range merged.members {
		if !slices.Contains(RequirementKeys, m.key) {
			continue
		}
		if err := l.requirement(&c, m); err != nil {
			return c, err
		}
		requirement[m.key] = m.value.value()
		c.Order = append(c.Order, m.key)
	}
	if c.Text == "" {
		return c, l.fault(n, MissingKey, "claim", "the key claim, the statement as the agent made it, is missing")
	}
	if c.Requirement, err = json.Marshal(requirement); err != nil {
		return c, fmt.Errorf("write out the requirement: %w", err)
	}
	return c, nil
}

// own reads what a claim says of itself.
func (l *loader) own(c *Claim, m member) (err error) {
	switch m.key {
	case "id":
		c.ID, err = l.text(m.value, m.key)
	case "claim":
		c.Text, err = l.text(m.value, m.key)
	case "kind":
		c.Kind, err = l.text(m.value, m.key)
		if w, ok := l.opt.Kinds.(interface{ Weak(kind string) bool }); ok {
			c.Weak = w.Weak(c.Kind)
		}
	}
	return err
}

// requirement reads one of the keys that say what must be shown.
func (l *loader) requirement(c *Claim, m member) (err error) {
	switch m.key {
	case "must_show":
		c.MustShow, err = each(l, m.value, m.key, l.show)
	case "must_not_fail":
		c.MustNotFail, err = each(l, m.value, m.key, l.notFail)
	case "must_not_call":
		c.MustNotCall, err = each(l, m.value, m.key, l.toolOrMatcher)
	case "count":
		c.Count, err = each(l, m.value, m.key, l.count)
	case "coverage":
		c.Coverage, err = each(l, m.value, m.key, l.coverage)
	case "no_duplicates":
		c.NoDuplicates, err = each(l, m.value, m.key, l.noDuplicates)
	case "quotes":
		c.Quotes, err = each(l, m.value, m.key, l.quote)
	case "run":
		c.Run, err = l.runEnd(m.value)
	case "grounds":
		c.Grounds, err = l.grounds(m.value)
	case "envelope":
		c.Envelope, err = l.envelope(m.value)
	}
	return err
}

// text reads a string that is not empty.
func (l *loader) text(n node, key string) (string, error) {
	if n.kind != "string" {
		return "", l.wrongType(n, key, "a string")
	}
	if n.text == "" {
		return "", l.fault(n, MissingKey, key, key+" is empty")
	}
	return n.text, nil
}

func (l *loader) grounds(n node) (*Grounds, error) {
	g := &Grounds{}
	list := n
	if n.kind == "object" {
		if err := l.known(n, []string{"all_of", "any_of"}); err != nil {
			return nil, err
		}
		if len(n.members) != 1 {
			return nil, l.fault(n, BadValue, "grounds", "grounds needs one of all_of and any_of")
		}
		g.Any = n.members[0].key == "any_of"
		list = n.members[0].value
	}
	if err := l.isList(list, "grounds"); err != nil {
		return nil, err
	}
	for _, e := range list.list {
		if e.kind != "object" {
			return nil, l.wrongType(e, "grounds", "a list of objects")
		}
		ground, err := l.ground(e)
		if err != nil {
			return nil, err
		}
		g.List = append(g.List, ground)
	}
	return g, nil
}

// ground reads one comparison; its call is named by id, or picked by a matcher.
func (l *loader) ground(e node) (Ground, error) {
	if err := l.known(e, groundKeys); err != nil {
		return Ground{}, err
	}
	if from := e.member("from"); from.kind == "object" {
		m, pick, err := l.groundSource(from)
		if err != nil {
			return Ground{}, err
		}
		ground, fault := parseComparison(e.value())
		if fault != "" {
			return Ground{}, l.fault(e, BadValue, "grounds", "grounds: "+fault)
		}
		ground.Match, ground.Pick = &m, pick
		return ground, nil
	}
	ground, fault := parseGround(e.value())
	if fault != "" {
		return Ground{}, l.fault(e, BadValue, "grounds", "grounds: "+fault)
	}
	return ground, nil
}

func (l *loader) envelope(n node) (*Envelope, error) {
	if n.kind != "object" {
		return nil, l.wrongType(n, "envelope", "an object")
	}
	if err := l.known(n, []string{"schema", "cap"}); err != nil {
		return nil, err
	}
	e := &Envelope{}
	for _, m := range n.members {
		if m.key == "cap" {
			limit, err := strconv.Atoi(m.value.text)
			if m.value.kind != "number" || err != nil || limit < 1 {
				return nil, l.fault(m.value, BadValue, "cap", "cap must be a whole number of at least 1")
			}
			e.Cap = limit
			continue
		}
		names := []node{m.value}
		if m.value.kind == "list" {
			if err := l.isList(m.value, "schema"); err != nil {
				return nil, err
			}
			names = m.value.list
		}
		for _, name := range names {
			s, err := l.schema(name)
			if err != nil {
				return nil, err
			}
			e.Schemas = append(e.Schemas, s)
		}
	}
	return e, nil
}

func (l *loader) schema(n node) (Schema, error) {
	name, err := l.text(n, "schema")
	if err != nil {
		return Schema{}, err
	}
	if l.opt.ReadFile == nil {
		return Schema{}, l.fault(n, BadSchema, "schema", "a claim that stands in a trace may not name a schema file")
	}
	data, err := l.opt.ReadFile(name)
	if err != nil {
		return Schema{}, l.fault(n, BadSchema, "schema", fmt.Sprintf("read schema: %v", err))
	}
	s, err := ParseSchema(name, data)
	if err != nil {
		return Schema{}, l.fault(n, BadSchema, "schema", err.Error())
	}
	return s, nil
}

// ids compare by JSON equality; see trace.Value.ID.
func idOf(v any) trace.ID {
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	val, err := trace.ParseValue(raw)
	if err != nil {
		return ""
	}
	return val.ID()
}
