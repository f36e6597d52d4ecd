package trace

import (
	"fmt"
	"strings"
)

// Turn is one message as far as task and summary are concerned. Its texts stay in
// the source until it is known whether the message counts.
type Turn struct {
	ID    string // the format's own, "" where it has none
	Pos   Position
	Agent bool // the agent's, else a prompt
	Acted bool // it holds calls
	Texts []Body
}

// Conclude finds task and summary in the turns that count; see Talk.
func (r *Run) Conclude(turns []Turn, counts func(Turn) bool) error {
	var talk Talk
	for _, t := range turns {
		if !counts(t) {
			continue
		}
		if t.Acted {
			talk.Called()
			continue
		}
		text, err := r.texts(t.Texts)
		if err != nil {
			return fmt.Errorf("read what was said: %w", err)
		}
		if t.Agent {
			talk.Said(text, t.Pos)
		} else {
			talk.Prompt(text)
		}
	}
	talk.Finish(r)
	return nil
}

func (r *Run) texts(bodies []Body) (string, error) {
	texts := make([]string, 0, len(bodies))
	for _, b := range bodies {
		v, err := r.Value(b)
		if err != nil {
			return "", err
		}
		texts = append(texts, v.Text())
	}
	return strings.Join(texts, "\n"), nil
}

// Tree is the tree that records span which name the one before them, so that a
// conversation can be taken back and go on elsewhere.
type Tree struct {
	links map[string]link
	leaf  string
}

type link struct {
	parent string
	pos    Position
}

// Add takes in a record, and tells whether its id is new. A record without an id
// stands outside the tree.
func (t *Tree) Add(id, parent string, pos Position) bool {
	if id == "" {
		return true
	}
	if _, twice := t.links[id]; twice {
		return false
	}
	if t.links == nil {
		t.links = map[string]link{}
	}
	t.links[id], t.leaf = link{parent, pos}, id
	return true
}

// Live tells of a turn whether it is on the branch that ends in the last record. A
// branch whose beginning is missing goes on in whatever stands before it.
func (t *Tree) Live() func(Turn) bool {
	path := map[string]bool{}
	var floor Position
	for at := t.leaf; at != "" && !path[at]; {
		l, ok := t.links[at]
		if !ok {
			break
		}
		path[at], at = true, l.parent
		if _, ok := t.links[l.parent]; l.parent != "" && !ok {
			floor = l.pos
		}
	}
	return func(turn Turn) bool { return turn.ID == "" || path[turn.ID] || turn.Pos.Before(floor) }
}
