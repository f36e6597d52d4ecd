package claims

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// ParseGrounds reads the grounds of an action in a trace: a list, {all_of: […]}
// or {any_of: […]}, decoded with numbers as json.Number. They are data, not a
// file of ours: what is malformed comes back as a text a premise, never as an
// error. The two slices run in step; faults[i] is "" for a good premise.
func ParseGrounds(v any) (g Grounds, faults []string) {
	malformed := func(why string) (Grounds, []string) {
		return Grounds{List: []Ground{{}}}, []string{why}
	}
	if m, ok := v.(map[string]any); ok {
		if len(m) != 1 {
			return malformed("grounds need exactly one of all_of and any_of, or a list")
		}
		for k, list := range m {
			if k != "all_of" && k != "any_of" {
				return malformed("grounds need all_of or any_of, or a list")
			}
			g.Any = k == "any_of"
			v = list
		}
	}
	list, ok := v.([]any)
	if !ok {
		return malformed("grounds are no list")
	}
	if len(list) == 0 {
		return malformed("the list of grounds is empty")
	}
	for _, e := range list {
		ground, fault := parseGround(e)
		g.List = append(g.List, ground)
		faults = append(faults, fault)
	}
	return g, faults
}

// parseGround reads one premise; fault says what is malformed, "" nothing.
func parseGround(v any) (g Ground, fault string) {
	m, ok := v.(map[string]any)
	if !ok {
		return g, "a ground is no object"
	}
	if _, nested := m["all_of"]; nested {
		return g, "all_of and any_of do not nest"
	}
	if _, nested := m["any_of"]; nested {
		return g, "all_of and any_of do not nest"
	}
	from := idOf(m["from"])
	if from == "" {
		return g, "from must be a call's id: a non-empty string or an integer"
	}
	g, fault = parseComparison(m)
	g.From = from
	return g, fault
}

// parseComparison reads a premise without the call that it compares.
func parseComparison(v any) (g Ground, fault string) {
	m, ok := v.(map[string]any)
	if !ok {
		return g, "a ground is no object"
	}
	field, ok := m["field"].(string)
	if !ok {
		return g, "field must be a string"
	}
	g.Field = field
	if _, err := SplitPath(field); err != nil {
		return g, err.Error()
	}
	return g, parseOp(&g, m)
}

func parseOp(g *Ground, m map[string]any) (fault string) {
	var ops []Op
	for _, op := range []Op{Equals, NotEquals, Exists, In} {
		if v, ok := m[string(op)]; ok {
			ops = append(ops, op)
			g.Value = v
		}
	}
	minimum, hasMin := m["min"]
	maximum, hasMax := m["max"]
	if hasMin || hasMax {
		ops = append(ops, Between)
		g.Value = nil
	}
	if len(ops) != 1 {
		return "exactly one operator is needed: equals, not_equals, exists, in, or min and max"
	}
	g.Op = ops[0]
	switch g.Op {
	case Exists:
		if _, ok := g.Value.(bool); !ok {
			return "exists must be true or false"
		}
	case In:
		if list, ok := g.Value.([]any); !ok || len(list) == 0 {
			return "in must be a list that is not empty"
		}
	case Between:
		for _, b := range []struct {
			given bool
			value any
			to    **json.Number
		}{{hasMin, minimum, &g.Min}, {hasMax, maximum, &g.Max}} {
			if !b.given {
				continue
			}
			n, ok := b.value.(json.Number)
			if !ok {
				return "min and max must be numbers"
			}
			*b.to = &n
		}
	}
	if !InRange(g.Value) || g.Min != nil && !InRange(*g.Min) || g.Max != nil && !InRange(*g.Max) {
		return "a number is out of range"
	}
	return ""
}

// InRange tells whether every number in v is a JSON number that can be compared:
// integers of any size, fractions within the range of a 64-bit float.
func InRange(v any) bool {
	switch t := v.(type) {
	case json.Number:
		if !strings.ContainsAny(string(t), ".eE") {
			return true
		}
		_, err := strconv.ParseFloat(string(t), 64)
		return err == nil
	case []any:
		for _, e := range t {
			if !InRange(e) {
				return false
			}
		}
	case map[string]any:
		for _, e := range t {
			if !InRange(e) {
				return false
			}
		}
	}
	return true
}

// SplitPath splits a field's path. Without a dot it is one literal key, even the
// empty one; with dots no segment may be empty.
func SplitPath(field string) ([]string, error) {
	if !strings.Contains(field, ".") {
		return []string{field}, nil
	}
	segments := strings.Split(field, ".")
	for _, s := range segments {
		if s == "" {
			return nil, errors.New("the field's path has an empty segment")
		}
	}
	return segments, nil
}
