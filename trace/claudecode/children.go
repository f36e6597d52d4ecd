package claudecode

import (
	"bytes"

	"nightaudit/trace"
)

// side is one side chain in the file: the messages of a sub-agent. Old versions
// write them between those of the main chain, newer ones to a file of their own.
type side struct {
	agent  string   // agentId, "" in old versions
	parent trace.ID // as a record names it
	prompt string   // what its first message says
	calls  []int
}

// children is what is known of delegated work.
type children struct {
	agents  []int            // the calls that start a sub-agent
	prompts map[string][]int // them by the prompt that they give
	byAgent map[string]int   // by the agentId of their results
	idle    map[int]bool     // those whose sub-agent made no calls
	sides   []*side          // in order of their beginnings
	byRoot  map[string]*side
	names   map[int]string // the agentId of a call's result
}

func newChildren() children {
	return children{prompts: map[string][]int{}, byAgent: map[string]int{}, idle: map[int]bool{}, byRoot: map[string]*side{}, names: map[int]string{}}
}

// delegating tells whether a tool starts a sub-agent; Task became Agent in 2.1.63.
func delegating(tool string) bool { return tool == "Task" || tool == "Agent" }

// delegated notes what the result of a delegating call says of the sub-agent.
func (s *session) delegated(i int, content, twin trace.Value) {
	c := &s.run.Calls[i]
	if twin.Kind() == trace.KindObject {
		c.Child = twin.Body()
	}
	if a := twin.Get("agentId").Text(); a != "" {
		s.children.byAgent[a], s.children.names[i] = i, a
	}
	if n, ok := twin.Get("totalToolUseCount").Int(); ok && n == 0 && twin.Get("status").Text() == completed {
		s.children.idle[i] = true
	}
	if c.IsError == trace.FlagTrue && bytes.HasPrefix(content.Raw(), []byte(`"<tool_use_error>`)) {
		s.children.idle[i] = true // refused: no such agent, bad arguments
	}
}

// joinSide adds a record to its side chain. call is the index of a call that it
// holds, or -1.
func (s *session) joinSide(rec *record, call int) {
	if !rec.side {
		return
	}
	root := s.links[rec.uuid].root
	if s.stream != nil {
		root = rec.Get("parent_tool_use_id").ID().String()
	}
	sd := s.children.byRoot[root]
	if sd == nil {
		sd = &side{}
		s.children.byRoot[root] = sd
		s.children.sides = append(s.children.sides, sd)
		if rec.kind == "user" {
			sd.prompt = textOf(rec.Path("message", "content"))
		}
	}
	if a := rec.Get("agentId").Text(); a != "" {
		sd.agent = a
	}
	for _, name := range []string{"parentToolUseID", "parent_tool_use_id"} {
		if id := rec.Get(name).ID(); id != "" {
			sd.parent = id
		}
	}
	if call >= 0 {
		sd.calls = append(sd.calls, call)
	}
}

// joinChildren gives the calls of each side chain their parent, and marks the
// delegating calls whose sub-agent's calls are not in this file.
func (s *session) joinChildren() {
	found := map[int]bool{}
	for _, sd := range s.children.sides {
		i, ok := s.parentOf(sd, found)
		if !ok {
			continue
		}
		found[i] = true
		for _, c := range sd.calls {
			s.run.Calls[c].Parent = s.run.Calls[i].ID
		}
	}
	for _, i := range s.children.agents {
		c := &s.run.Calls[i]
		ran := c.Status != denied && c.Status != cancelled && !s.children.idle[i]
		c.Delegates = ran && !found[i]
	}
}

// parentOf finds the call that started a side chain: by name, by the agent's id,
// else the first one with its prompt that has no chain yet.
func (s *session) parentOf(sd *side, found map[int]bool) (int, bool) {
	if under := s.calls[sd.parent]; len(under) > 0 {
		return under[len(under)-1], true
	}
	if i, ok := s.children.byAgent[sd.agent]; ok && sd.agent != "" {
		return i, true
	}
	if sd.prompt == "" {
		return 0, false
	}
	for _, i := range s.children.prompts[sd.prompt] {
		if !found[i] {
			return i, true
		}
	}
	return 0, false
}
