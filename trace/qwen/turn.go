package qwen

import (
	"fmt"
	"strings"

	"nightaudit/trace"
)

// turn is one message as far as task and summary are concerned.
type turn struct {
	uuid   string
	pos    trace.Position
	prompt bool // a person's, or what stands for one
	agent  bool
	acted  bool // it holds calls
	texts  []trace.Body
}

// link is a record's place in the tree that parentUuid spans.
type link struct {
	parent string
	pos    trace.Position
}

// conclude finds task and summary on the live branch.
func (s *session) conclude() error {
	live := s.live()
	var talk trace.Talk
	for _, t := range s.turns {
		if !live(t) {
			continue
		}
		if t.acted {
			talk.Called()
			continue
		}
		text, err := s.text(t)
		if err != nil {
			return err
		}
		if t.agent {
			talk.Said(text, t.pos)
		} else {
			talk.Prompt(text)
		}
	}
	talk.Finish(s.run)
	return nil
}

func (s *session) text(t turn) (string, error) {
	texts := make([]string, 0, len(t.texts))
	for _, b := range t.texts {
		v, err := s.run.Value(b)
		if err != nil {
			return "", fmt.Errorf("read what was said: %w", err)
		}
		texts = append(texts, v.Text())
	}
	return strings.Join(texts, "\n"), nil
}

// live tells of a turn whether it is on the branch that ends in the last record. A
// branch whose beginning is missing goes on in whatever stands before it.
func (s *session) live() func(turn) bool {
	if !s.tree {
		return func(turn) bool { return true }
	}
	path := map[string]bool{}
	var floor trace.Position
	for at := s.leaf; at != "" && !path[at]; {
		l, ok := s.links[at]
		if !ok {
			break
		}
		path[at], at = true, l.parent
		if _, ok := s.links[l.parent]; l.parent != "" && !ok {
			floor = l.pos
		}
	}
	return func(t turn) bool { return t.uuid == "" || path[t.uuid] || t.pos.Before(floor) }
}
