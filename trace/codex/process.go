package codex

import "nightaudit/trace"

// process is a command that goes on after its call has returned. What ends it is
// recorded with the call of a write_stdin, or by the item of the call.
type process struct {
	call  int
	looks []int // the write_stdin calls that found it running
}

// procID is the number of a process as text; the model writes it as it likes.
func procID(v trace.Value) string {
	if t := v.Text(); t != "" {
		return t
	}
	return v.ID().String()
}

// running notes that call i has left a process running, or has found it running.
func (s *session) running(i int, id string) {
	if s.states[i].proc == "" {
		s.procs[id] = &process{call: i}
		return
	}
	if p := s.procs[id]; p != nil {
		p.looks = append(p.looks, i)
	}
}

// looked reads what a write_stdin was told of a process that no longer runs. The
// exit code is the command's, whose call has begun it; looking has succeeded.
func (s *session) looked(i int, body trace.Body) {
	c := &s.run.Calls[i]
	p := s.procs[s.states[i].proc]
	if p == nil || !c.HasExit {
		return // a process of a part that is not in this file, or a look that failed
	}
	code := c.ExitCode
	c.HasExit, c.ExitCode, c.IsError = false, 0, trace.FlagFalse
	begun := &s.run.Calls[p.call]
	if !s.states[p.call].final {
		begun.HasExit, begun.ExitCode, begun.IsError, begun.Status = true, code, trace.FlagAbsent, ""
		begun.Result, begun.ResultPos = body, s.pos
	}
	s.over(s.states[i].proc)
}

// over ends the looks at a process that has ended: they were answered.
func (s *session) over(id string) {
	p := s.procs[id]
	if p == nil {
		return
	}
	for _, i := range p.looks {
		look := &s.run.Calls[i]
		look.Status, look.IsError, look.ResultPos = "", trace.FlagFalse, s.pos
	}
	delete(s.procs, id)
}

// ended is over for the process that a call has begun.
func (s *session) ended(call int) {
	for id, p := range s.procs {
		if p.call == call {
			s.over(id)
			return
		}
	}
}
