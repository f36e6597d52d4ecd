package endpoint

import (
	"fmt"
	"strings"
)

const maxToolName = 64 // servers refuse longer names

// toolNames maps tool names to names that servers take, and back.
type toolNames struct {
	wire map[string]string // own name → wire name
	own  map[string]string // wire name → own name
}

// newToolNames makes wire names for the tools. A name that is fine keeps itself,
// whatever the others are; the rest get a number where two would meet.
func newToolNames(tools []Tool) (*toolNames, error) {
	n := &toolNames{wire: map[string]string{}, own: map[string]string{}}
	for _, t := range tools {
		if t.Name == "" {
			return nil, fmt.Errorf("a tool has no name")
		}
		if _, twice := n.wire[t.Name]; twice {
			return nil, fmt.Errorf("the tool %q is given twice", t.Name)
		}
		n.wire[t.Name] = ""
		if wireName(t.Name) == t.Name {
			n.add(t.Name, t.Name)
		}
	}
	for _, t := range tools {
		n.out(t.Name)
	}
	return n, nil
}

func (n *toolNames) add(own, wire string) { n.wire[own], n.own[wire] = wire, own }

// out gives the wire name. A tool of an old turn that is no longer offered gets
// one as well.
func (n *toolNames) out(own string) string {
	if w := n.wire[own]; w != "" {
		return w
	}
	base := wireName(own)
	wire := base
	for i := 2; ; i++ {
		if _, taken := n.own[wire]; !taken {
			n.add(own, wire)
			return wire
		}
		suffix := fmt.Sprintf("_%d", i)
		wire = base[:min(len(base), maxToolName-len(suffix))] + suffix
	}
}

// back gives the own name. Models also write the name that stands in the prompt's
// text; an unknown name stays as it is, and the tool set refuses it.
func (n *toolNames) back(wire string) string {
	if own, ok := n.own[wire]; ok {
		return own
	}
	return wire
}

func wireName(name string) string {
	var b strings.Builder
	for _, r := range name {
		switch {
		case b.Len() == maxToolName:
			return b.String()
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			b.WriteRune(r)
		default:
			b.WriteByte('_')
		}
	}
	if b.Len() == 0 {
		return "tool"
	}
	return b.String()
}
