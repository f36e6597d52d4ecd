// Package openhands reads the events of OpenHands: those of version 0 (action and
// observation), as a list, one a line, or as the histories of an evaluation's
// output.jsonl, each of whose lines is a run; and those of version 1 (ActionEvent,
// ObservationEvent). It judges nothing.
//
// What is trusted, and why:
//
//   - The exit code of a command; -1 means that it has not ended (it was left running
//     when its time was up), and a later command that types into it or waits for it
//     tells its end.
//   - success, is_error, an error of the observation, and an observation or event that
//     is an error itself, where there is no exit code.
//   - Reading and editing have no flag. Their tool says that it failed by beginning
//     with `ERROR:`; what does not begin so has succeeded.
//   - user_rejected and UserRejectObservation mean that the call was refused.
//
// Everything else records no outcome: unknown. A call is finish's neighbour, not
// finish itself: what the agent says there is its summary. The arguments are those
// that the model gave, where its answer is kept beside the action.
//
// finish ends a run, but a run may end without it: NoEndRecords.
package openhands

import (
	"context"
	"iter"
	"slices"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "openhands"

// Read reads the runs of a file.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		r := &reader{src: src, texts: trace.NewTexts(ctx, src)}
		r.next(trace.Position{Line: 1})
		for r.texts.Next() {
			r.take(r.texts.Record())
		}
		runs, err := r.finish()
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

// reader gathers the runs of a file.
type reader struct {
	src    trace.Source
	texts  *trace.Texts
	runs   []*history
	starts []trace.Position
}

// next begins a run.
func (r *reader) next(pos trace.Position) *history {
	h := newHistory(r.src, r.texts)
	r.runs, r.starts = append(r.runs, h), append(r.starts, pos)
	return h
}

// take takes in one record: an event, a list of them, or a run that holds one.
func (r *reader) take(rec trace.Record) {
	h := r.runs[len(r.runs)-1]
	events := rec.Value
	if list := historyOf(rec.Value); list.Kind() == trace.KindArray {
		if h.run.Records > 0 {
			h = r.next(rec.Pos)
		}
		h.header(rec.Value)
		events = list
	}
	if events.Kind() != trace.KindArray {
		h.event(events, rec.Pos)
		return
	}
	for e := range events.Elements() {
		h.element(e)
	}
}

// historyOf finds the events that an object holds.
func historyOf(v trace.Value) trace.Value {
	for _, name := range []string{"history", "trajectory", "events"} {
		if list := v.Get(name); list.Kind() == trace.KindArray {
			return list
		}
	}
	return trace.Value{}
}

func (r *reader) finish() ([]*trace.Run, error) {
	var runs []*trace.Run
	for _, h := range r.runs {
		h.pairs.Finish()
		if h.failed && !h.run.Ended {
			h.run.EndReason = "error"
		}
		h.alone()
		runs = append(runs, h.run)
	}
	if err := trace.FinishAll(r.texts, runs, r.starts); err != nil {
		return nil, err
	}
	for _, h := range r.runs {
		if err := h.run.Conclude(h.turns, func(trace.Turn) bool { return true }); err != nil {
			return nil, err
		}
		slices.SortStableFunc(h.run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	}
	return runs, nil
}

// history is what is remembered of one run while it is read.
type history struct {
	run   *trace.Run
	texts *trace.Texts
	pairs *trace.Pairs
	turns []trace.Turn

	answers map[string]bool // the model's answers that were counted
	running int             // the command that has not ended, -1 for none
	polls   bool            // the last command types into it
	failed  bool            // the evaluation says that the run failed
	cwd     string          // where the last command left the shell
}

func newHistory(src trace.Source, texts *trace.Texts) *history {
	run := trace.NewRun(src, Format)
	run.NoEndRecords, run.Agent = true, Format
	return &history{run: run, texts: texts, pairs: trace.NewPairs(run), answers: map[string]bool{}, running: -1}
}

// header reads what an evaluation says of a run.
func (h *history) header(v trace.Value) {
	h.run.Records++
	if id := v.Get("instance_id").ID(); id != "" {
		h.run.ID = id.String()
	}
	if agent := v.Path("metadata", "agent_class").Text(); agent != "" {
		h.run.Agent = Format + " " + agent
	}
	h.run.Model = v.Path("metadata", "llm_config", "model").Text()
	if v.Get("error").Given() {
		h.failed = true
	}
}

// element reads an element of a list: an event, or an action with its observation.
func (h *history) element(v trace.Value) {
	if v.Kind() == trace.KindArray {
		for e := range v.Elements() {
			h.element(e)
		}
		return
	}
	pos := h.texts.Place(v)
	if v.Kind() != trace.KindObject {
		h.bad(pos, "an event that is no JSON object")
		return
	}
	if err := v.UniqueNames(); err != nil {
		h.bad(pos, err.Error())
		return
	}
	h.event(v, pos)
}

func (h *history) bad(pos trace.Position, reason string) {
	h.run.BadLines = append(h.run.BadLines, trace.BadLine{Line: pos.Line, Reason: reason})
}

// event reads one event of either version.
func (h *history) event(v trace.Value, pos trace.Position) {
	known := true
	switch {
	case v.Get("kind").Kind() == trace.KindString:
		known = h.event1(v, pos)
	case v.Get("observation").Kind() == trace.KindString:
		known = h.observation(v, pos)
	case v.Get("action").Kind() == trace.KindString:
		known = h.action(v, pos)
	default:
		known = false
	}
	if !known {
		h.run.Ignored++
		return
	}
	h.run.Records++
	if h.run.Started.IsZero() {
		h.run.Started = v.Get("timestamp").Time()
	}
}

// say adds what somebody said. A prompt means that the run goes on.
func (h *history) say(agent bool, text trace.Value, pos trace.Position) {
	t := trace.Turn{Agent: agent, Pos: pos}
	if text.Kind() == trace.KindString {
		t.Texts = []trace.Body{text.Body()}
	}
	for block := range text.Elements() {
		if block.Get("text").Kind() == trace.KindString {
			t.Texts = append(t.Texts, block.Get("text").Body())
		}
	}
	h.turns = append(h.turns, t)
	if !agent {
		h.run.Ended, h.run.EndReason = false, ""
	}
}

// finished ends the run with the first of the texts that says something.
func (h *history) finished(pos trace.Position, texts ...trace.Value) {
	for _, text := range texts {
		if text.Text() != "" {
			h.say(true, text, pos)
			break
		}
	}
	h.run.Ended, h.run.EndReason = true, "finish"
}

func (h *history) add(c trace.Call) int {
	h.turns = append(h.turns, trace.Turn{Agent: true, Acted: true, Pos: c.Pos})
	return h.pairs.Add(c)
}

// alone takes the batch from calls that share it with none.
func (h *history) alone() {
	n := map[string]int{}
	for _, c := range h.run.Calls {
		n[c.Batch]++
	}
	for i := range h.run.Calls {
		if c := &h.run.Calls[i]; n[c.Batch] == 1 {
			c.Batch = ""
		}
	}
}

// first returns the first value that is given.
func first(values ...trace.Value) trace.Value {
	for _, v := range values {
		if v.Given() {
			return v
		}
	}
	return trace.Value{}
}
