package claudecode

import (
	"fmt"
	"strings"

	"nightaudit/trace"
)

// turn is one message as far as the end of the run is concerned.
type turn struct {
	uuid   string
	pos    trace.Position
	side   bool
	prompt bool         // a real prompt: what was said before it is no longer the last word
	acted  bool         // it holds calls
	said   []trace.Body // its texts behind the last call
	ends   bool         // it is the agent's, so that the run may end with it
	reason string       // stop_reason, "" where the version does not write it
}

// conclude finds the summary: what the agent said on the live branch after its
// last call, in the last turn that it answered. What it adds after a
// notification or a stop hook without calling anything belongs to it: it
// comments on the summary and does not take its place. A turn that ends with
// calls has no summary.
func (s *session) conclude() error {
	live := s.live()
	onlySide := !s.began // the file of a sub-agent: its side chain is the run
	if onlySide {
		s.run.Task = s.sideTask
	}
	var said []trace.Body
	var first trace.Position
	next := false // a prompt waits for its answer
	for _, t := range s.turns {
		if t.side != onlySide || !live(t) {
			continue
		}
		if t.ends {
			s.run.EndReason = t.reason
		}
		if t.prompt {
			next = true
			continue
		}
		if t.acted || next && len(t.said) > 0 {
			said, next = nil, false
		}
		if len(said) == 0 && len(t.said) > 0 {
			first = t.pos
		}
		said = append(said, t.said...)
	}
	if len(said) == 0 {
		return nil
	}
	texts := make([]string, 0, len(said))
	for _, b := range said {
		v, err := s.run.Value(b)
		if err != nil {
			return fmt.Errorf("read summary: %w", err)
		}
		texts = append(texts, strings.TrimSpace(v.Text()))
	}
	s.run.Summary, s.run.SummaryPos = strings.Join(texts, "\n\n"), first
	return nil
}

// live tells of a message whether it is on the branch that ends in the last
// leaf. A branch whose beginning is missing is taken to go on in whatever stands
// before it.
func (s *session) live() func(turn) bool {
	path, floor := s.walk(s.leaf)
	if _, ok := s.links[s.told]; ok && !path[s.told] {
		// The leaf that was named last and is no ancestor of the last message: a
		// rewind after which nothing was said.
		path, floor = s.walk(s.told)
	}
	onlySide := !s.began
	return func(t turn) bool {
		return onlySide || t.uuid == "" || path[t.uuid] || t.pos.Before(floor)
	}
}

// walk follows parentUuid up from a leaf. The floor is the first record's place
// where its parent is not in the file.
func (s *session) walk(leaf string) (path map[string]bool, floor trace.Position) {
	path = map[string]bool{}
	for at := leaf; at != "" && !path[at]; {
		l, ok := s.links[at]
		if !ok {
			break
		}
		path[at] = true
		if _, ok := s.links[l.parent]; l.parent != "" && !ok {
			floor = l.pos
		}
		at = l.parent
	}
	return path, floor
}

// breach is a compaction, and what must be in the file for nothing to be missing.
type breach struct {
	pos     trace.Position
	parent  string
	started bool // messages stood before it
}

// system reads the one system record that carries evidence: the compaction, which
// replaces the messages before it for the agent, not in the file.
func (s *session) system(rec *record) bool {
	if rec.Get("subtype").Text() != "compact_boundary" {
		return false
	}
	parent := rec.Get("logicalParentUuid").Text()
	s.breaks = append(s.breaks, breach{pos: rec.Pos, parent: parent, started: s.began})
	return true
}

// compactSummary tells whether a message is the summary of a compaction, and
// notes the compaction where no boundary record did.
func (s *session) compactSummary(rec *record) bool {
	if !rec.is("isCompactSummary") {
		return false
	}
	if len(s.breaks) == 0 {
		s.breaks = append(s.breaks, breach{pos: rec.Pos, parent: rec.Get("parentUuid").Text(), started: s.began})
	}
	return true
}

// findGaps names what the file itself shows to be missing from it.
func (s *session) findGaps() {
	for _, b := range s.breaks {
		_, there := s.links[b.parent]
		if there || b.parent == "" && b.started {
			continue
		}
		s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: b.pos, Reason: "compacted: the part before it is not in this file"})
	}
	if s.orphan.Line > 0 {
		s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: s.orphan, Reason: "a result whose call is not in this file"})
	}
}
