// Package openclaw reads OpenClaw's telemetry (~/.openclaw/logs/telemetry.jsonl):
// tool.start and tool.end events, the beginnings and ends of agents, and what went
// out to people. The log goes on for as long as the gateway runs, so each prompt
// begins a Run, which holds the calls of the sub-agents that were started in it; a
// message from one session to another is no prompt.
//
// What is trusted, and why:
//
//   - success of tool.end: false is a failure, true a success, except of exec: it
//     succeeds whatever the command's exit code is. There only an exit code tells,
//     which the messages of agent.end hold (details.exitCode); without one the
//     outcome is unknown.
//   - isError of a toolResult in the messages of agent.end: true is a failure,
//     false as little as success is.
//   - Most versions write no id of a call. The k-th end of a tool belongs to the
//     k-th start in the same session; where several ran at once and did not end
//     alike, nobody knows which failed, and all of them are unknown.
//
// The messages of agent.end repeat the whole session: of them only the calls since
// the last prompt count as calls of the run. An agent that was cut off has no
// agent.end: NoEndRecords.
package openclaw

import (
	"context"
	"iter"
	"strings"
	"time"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "openclaw"

// Read reads the runs of a log in order.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		l := &log{src: src, texts: trace.NewTexts(ctx, src), sessions: map[string]*session{}, roots: map[string]*turn{}}
		for l.texts.Next() {
			l.take(l.texts.Record())
		}
		runs, err := l.finish()
		if err != nil {
			yield(nil, err)
			return
		}
		for _, run := range runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

// log is what is remembered of a file while it is read.
type log struct {
	src      trace.Source
	texts    *trace.Texts
	turns    []*turn
	latest   *turn
	roots    map[string]*turn // the current turn of each agent
	sessions map[string]*session
	ignored  int
}

// turn is one run while it is read.
type turn struct {
	run   *trace.Run
	start trace.Position
	talk  trace.Talk
	said  string // the last that was said
}

// session is the conversation of a sub-agent, or all of an agent's own: events of
// one prompt bear the names of several.
type session struct {
	sub     bool
	turn    *turn // of a sub-agent: the one that it was started in
	prompt  string
	fresh   bool             // nothing has come since the prompt
	open    map[string]group // calls that ran at the same time, by session and tool
	seen    map[trace.ID]bool
	byID    map[trace.ID]ref
	unnamed []ref // calls without an id
}

// ref is a place in the runs.
type ref struct {
	run   *trace.Run
	index int
}

func (r ref) call() *trace.Call { return &r.run.Calls[r.index] }

// group is the calls of a tool since it last had none open.
type group struct {
	calls []ref
	ended int
}

// session returns the session of a record.
func (l *log) session(rec trace.Record) *session {
	key := rec.Get("sessionKey").Text()
	sub := strings.Contains(key, ":subagent:")
	if !sub {
		key = rec.Get("agentId").Text()
	}
	s := l.sessions[key]
	if s == nil {
		s = &session{sub: sub, open: map[string]group{}, seen: map[trace.ID]bool{}, byID: map[trace.ID]ref{}}
		l.sessions[key] = s
		if s.sub {
			s.turn = l.root(rec)
		}
	}
	return s
}

// root is the turn that an agent is in.
func (l *log) root(rec trace.Record) *turn {
	agent := rec.Get("agentId").Text()
	if l.roots[agent] == nil {
		l.roots[agent] = l.begin(rec)
	}
	return l.roots[agent]
}

// turnOf is the turn that a record of a session belongs to.
func (l *log) turnOf(s *session, rec trace.Record) *turn {
	if s.sub {
		return s.turn
	}
	return l.root(rec)
}

func (l *log) begin(rec trace.Record) *turn {
	run := trace.NewRun(l.src, Format)
	run.Agent = "openclaw"
	run.NoEndRecords = true
	run.Started = firstTime(rec)
	t := &turn{run: run, start: rec.Pos}
	l.turns = append(l.turns, t)
	l.latest = t
	return t
}

// take reads one event.
func (l *log) take(rec trace.Record) {
	switch rec.Get("type").Text() {
	case "tool.start":
		l.toolStart(rec)
	case "tool.end":
		l.toolEnd(rec)
	case "agent.start":
		l.agentStart(rec)
	case "agent.end":
		l.agentEnd(rec)
	case "message.out":
		if l.latest == nil {
			l.ignored++
			return
		}
		l.latest.say(rec.Get("content").Text(), rec.Pos)
		l.latest.run.Records++
	default:
		l.ignored++
	}
}

// say takes in what the agent said, which stands in the log up to three times.
func (t *turn) say(text string, pos trace.Position) {
	if text = strings.TrimSpace(text); text != "" && text != t.said {
		t.talk.Called() // an earlier message was an interim one
		t.talk.Said(text, pos)
		t.said = text
	}
}

// agentStart begins a turn. The event is written twice, without messages and with.
func (l *log) agentStart(rec trace.Record) {
	s := l.session(rec)
	prompt := rec.Get("prompt").Text()
	repeated := s.fresh && s.prompt == prompt
	s.fresh, s.prompt = true, prompt
	if !s.sub && !repeated && !strings.HasPrefix(prompt, "[Inter-session message]") {
		t := l.begin(rec)
		l.roots[rec.Get("agentId").Text()] = t
		t.run.ID = rec.Get("sessionKey").Text()
		t.talk.Prompt(prompt)
	}
	l.turnOf(s, rec).run.Records++
}

func (l *log) toolStart(rec trace.Record) {
	s := l.session(rec)
	s.fresh = false
	t := l.turnOf(s, rec)
	name := rec.Get("toolName").Text()
	if name == "" {
		t.run.BadLines = append(t.run.BadLines, trace.BadLine{Line: rec.Pos.Line, Reason: "a tool.start without a tool"})
		return
	}
	if !s.sub {
		t.talk.Called()
		t.said = ""
	}
	c := ref{t.run, len(t.run.Calls)}
	id := rec.Get("toolCallId").ID()
	if old, twice := s.byID[id]; twice && id != "" && !old.call().ResultPos.Set() {
		t.run.Ignored++
		return
	}
	t.run.Calls = append(t.run.Calls, trace.Call{
		ID: id, Tool: name, Pos: rec.Pos, Args: rec.Get("params").Body(), Record: rec.Body(), Start: firstTime(rec),
	})
	t.run.Records++
	if id != "" {
		s.byID[id], s.seen[id] = c, true
		return
	}
	s.unnamed = append(s.unnamed, c)
	g := s.open[kind(rec)]
	g.calls = append(g.calls, c)
	s.open[kind(rec)] = g
}

func (l *log) toolEnd(rec trace.Record) {
	s := l.session(rec)
	s.fresh = false
	t := l.turnOf(s, rec)
	t.run.Records++
	id, name := rec.Get("toolCallId").ID(), rec.Get("toolName").Text()
	if c, ok := s.byID[id]; ok && id != "" && !c.call().ResultPos.Set() {
		end(c.call(), rec)
		return
	}
	if g := s.open[kind(rec)]; id == "" && g.ended < len(g.calls) {
		end(g.calls[g.ended].call(), rec)
		if g.ended++; g.ended == len(g.calls) {
			settle(g)
			g = group{}
		}
		s.open[kind(rec)] = g
		return
	}
	t.run.Calls = append(t.run.Calls, trace.Call{ID: id, Tool: name, Pos: rec.Pos, Record: rec.Body(), ResultOnly: true})
	end(&t.run.Calls[len(t.run.Calls)-1], rec)
	t.run.Gaps = append(t.run.Gaps, trace.Gap{Pos: rec.Pos, Reason: "an end of a call whose start is not in this file"})
}

// kind names what a start and an end without an id have in common.
func kind(rec trace.Record) string {
	return rec.Get("sessionKey").Text() + "\x00" + rec.Get("toolName").Text()
}

// end reads how a call ended.
func end(c *trace.Call, rec trace.Record) {
	c.ResultPos = rec.Pos
	c.OK = rec.Get("success").Flag()
	if e := rec.Get("error"); e.Given() {
		c.Error = e.Body()
	}
	if r := rec.Get("result"); r.Given() {
		c.Result = r.Body()
	}
	if c.OK == trace.FlagAbsent && !c.Error.Present() {
		c.Status = unknown
	}
}

// settle looks at calls of one tool that ran at the same time: unless all of them
// ended alike, which is which cannot be told.
func settle(g group) {
	alike := g.ended == len(g.calls)
	for _, c := range g.calls {
		alike = alike && c.call().OK == g.calls[0].call().OK
	}
	if alike || len(g.calls) < 2 {
		return
	}
	for _, c := range g.calls {
		if c := c.call(); c.ResultPos.Set() && c.IsError == trace.FlagAbsent {
			c.OK, c.Status = trace.FlagAbsent, unknown
			c.Error = trace.Body{}
		}
	}
}

func firstTime(rec trace.Record) (t time.Time) {
	for _, name := range []string{"ts", "timestamp"} {
		if t = rec.Get(name).Time(); !t.IsZero() {
			return t
		}
	}
	return t
}

// finish draws what only the whole log tells.
func (l *log) finish() ([]*trace.Run, error) {
	if len(l.turns) == 0 {
		l.begin(trace.Record{})
	}
	subs := map[*turn]int{}
	for _, s := range l.sessions {
		for _, g := range s.open {
			settle(g)
		}
		if s.sub {
			subs[s.turn]++
		}
	}
	runs := make([]*trace.Run, 0, len(l.turns))
	starts := make([]trace.Position, 0, len(l.turns))
	for _, t := range l.turns {
		for i := range t.run.Calls {
			c := &t.run.Calls[i]
			blind(c)
			if c.Tool == "sessions_spawn" && c.OK != trace.FlagFalse && c.IsError != trace.FlagTrue {
				subs[t]--
				c.Delegates = subs[t] < 0 // more were started than there are sessions of
			}
		}
		t.talk.Finish(t.run)
		runs, starts = append(runs, t.run), append(starts, t.start)
	}
	runs[0].Ignored = l.ignored
	if err := trace.FinishAll(l.texts, runs, starts); err != nil {
		return nil, err
	}
	return runs, nil
}

// blind takes back a success of a command whose exit code is not known.
func blind(c *trace.Call) {
	if (c.Tool == "exec" || c.Tool == "bash" || c.Tool == "process") && c.ResultPos.Set() && !c.HasExit &&
		c.OK != trace.FlagFalse && c.IsError != trace.FlagTrue && c.Status == "" {
		c.OK, c.IsError, c.Status = trace.FlagAbsent, trace.FlagAbsent, unknown
	}
}
