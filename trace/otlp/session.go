package otlp

import (
	"time"

	"nightaudit/trace"
)

// source is what kind of record something is known from. One call has at most one
// of each: a second one under its id is another call.
type source uint8

const (
	fromChat source = 1 << iota
	fromSpan
	fromExecution
	fromResult
	fromDecision
)

// facts is what one record says of a call.
type facts struct {
	from   source
	id     trace.ID
	tool   string
	pos    trace.Position
	ended  bool
	args   trace.Body
	result trace.Body
	err    trace.Body
	record trace.Body
	failed trace.Flag // true: it failed; false: it succeeded
	hasExit
	status string // one of audit/outcome's words, "" for none
	start  time.Time
	sig    string // the arguments in compact form, "" where none are recorded
	span   string
	batch  string
	mcp    bool   // of the protocol below a tool
	job    string // a process that goes on, and by whose id another call may end it
	ends   string // the job that this call has ended
}

type hasExit struct {
	known bool
	code  int32
}

// take adds what another record says of the same call: a failure outweighs a
// success, and what is known is kept.
func (f *facts) take(other *facts) {
	if other.failed == trace.FlagTrue || f.failed == trace.FlagAbsent {
		f.failed = other.failed
	}
	if !f.err.Present() {
		f.err = other.err
	}
	if !f.result.Present() {
		f.result = other.result
	}
	if !f.args.Present() {
		f.args = other.args
	}
}

// session is one run while its events are played.
type session struct {
	run      *trace.Run
	pairs    *trace.Pairs
	talk     trace.Talk
	prompted bool            // the first prompt is known
	sigs     []string        // of each call, its arguments
	seen     []source        // of each call
	spans    map[string]int  // calls by their spans
	jobs     map[string]int  // calls that go on, by their jobs
	denied   map[string]bool // spans of calls that were refused
}

func newSession(run *trace.Run, conv string) *session {
	run.NoEndRecords = true
	run.ID = conv
	return &session{run: run, pairs: trace.NewPairs(run), spans: map[string]int{}, jobs: map[string]int{}, denied: map[string]bool{}}
}

// call takes in what a record says of a call.
func (s *session) call(f *facts) {
	if f.from == fromChat && s.pairs.Repeats(&trace.Call{ID: f.id, Tool: f.tool, Args: f.args}) {
		return // told once more by the span around it
	}
	i, ok := s.find(f)
	if !ok {
		i = s.pairs.Add(trace.Call{ID: f.id, Pos: f.pos, Batch: f.batch, Start: f.start})
		s.seen, s.sigs = append(s.seen, 0), append(s.sigs, f.sig)
	}
	if f.from == fromChat {
		s.talk.Called()
	}
	s.seen[i] |= f.from
	s.fill(&s.run.Calls[i], f)
	if f.span != "" {
		s.spans[f.span] = i
	}
	if f.job != "" {
		s.jobs[f.job] = i
	}
	if other, ok := s.jobs[f.ends]; ok && f.ends != "" && other != i {
		s.fill(&s.run.Calls[other], &facts{ended: true, pos: f.pos, failed: f.failed, hasExit: f.hasExit})
		s.run.Calls[other].Status = ""
		delete(s.jobs, f.ends)
	}
}

// find returns the call that a record is about: the latest under its id that no
// record of its kind has told of. Where it has no id, it is the first of its tool
// and arguments that a message announced and nothing ended; without arguments the
// only one of its tool.
func (s *session) find(f *facts) (int, bool) {
	if f.id != "" {
		known := s.pairs.Known(f.id)
		for k := len(known) - 1; k >= 0; k-- {
			if i := known[k]; s.seen[i]&f.from == 0 {
				return i, true
			}
		}
		return 0, false
	}
	if f.from == fromChat {
		return 0, false
	}
	found := -1
	for i := range s.run.Calls {
		c := &s.run.Calls[i]
		if s.seen[i] != fromChat || c.Tool != f.tool || c.ResultPos.Set() || f.sig != "" && s.sigs[i] != f.sig {
			continue
		}
		if f.sig != "" {
			return i, true
		}
		if found >= 0 {
			return 0, false // which of them, nothing tells
		}
		found = i
	}
	return found, found >= 0
}

// fill writes into a call what a record says of it.
func (s *session) fill(c *trace.Call, f *facts) {
	if c.Tool == "" {
		c.Tool = f.tool
	}
	for to, from := range map[*trace.Body]*trace.Body{&c.Args: &f.args, &c.Result: &f.result, &c.Error: &f.err, &c.Record: &f.record} {
		if !to.Present() {
			*to = *from
		}
	}
	if f.failed == trace.FlagTrue || c.IsError == trace.FlagAbsent {
		c.IsError = f.failed
	}
	if f.known {
		c.HasExit, c.ExitCode = true, f.code
	}
	if f.status != "" {
		c.Status = f.status
	}
	if f.ended && !c.ResultPos.Set() {
		c.ResultPos = f.pos
	}
	if c.Start.IsZero() {
		c.Start = f.start
	}
	if s.run.Started.IsZero() {
		s.run.Started = f.start
	}
}

// result ends a call that is known from the messages of a conversation; nothing
// tells whether it succeeded.
func (s *session) result(id trace.ID, pos trace.Position, body trace.Body) {
	known := s.pairs.Known(id)
	if len(known) == 0 {
		return // of a part of the conversation that is not recorded
	}
	c := &s.run.Calls[known[len(known)-1]]
	if !c.ResultPos.Set() {
		c.Result, c.ResultPos = body, pos
	}
}

// gap notes once what is known to be missing.
func (s *session) gap(pos trace.Position, reason string) {
	for _, g := range s.run.Gaps {
		if g.Reason == reason {
			return
		}
	}
	s.run.Gaps = append(s.run.Gaps, trace.Gap{Pos: pos, Reason: reason})
}

// finish draws what only the whole conversation tells.
func (s *session) finish(parents map[string]string) {
	for span := range s.denied {
		if i, ok := s.spans[span]; ok {
			s.run.Calls[i].Status = denied
		}
	}
	children := map[int]bool{}
	for span, i := range s.spans {
		if outer, ok := s.above(span, parents); ok && outer != i {
			s.run.Calls[i].Parent = s.run.Calls[outer].ID
			children[outer] = true
		}
	}
	for i := range s.run.Calls {
		c := &s.run.Calls[i]
		if c.Tool == "" {
			c.ResultOnly = true
		}
		if c.ResultPos.Set() && c.Status == "" && c.IsError == trace.FlagAbsent && !c.HasExit {
			c.Status = unknown
		}
		if delegating[c.Tool] && c.Status != denied && !children[i] {
			c.Delegates = true
		}
	}
	s.talk.Finish(s.run)
}

// above finds the call within whose span another lies.
func (s *session) above(span string, parents map[string]string) (int, bool) {
	for range maxDepth {
		span = parents[span]
		if span == "" {
			break
		}
		if i, ok := s.spans[span]; ok {
			return i, true
		}
	}
	return 0, false
}

// delegating are the tools that hand work to another agent.
var delegating = map[string]bool{"Task": true, "Agent": true, "spawn_agent": true}
