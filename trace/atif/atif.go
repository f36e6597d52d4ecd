// Package atif reads and writes trajectories in the Agent Trajectory Interchange
// Format (Harbor's RFC 0001, versions 1.0 to 1.8): one JSON document a run, or one a
// line.
//
// The format has no field that says how a call ended, so a result alone says
// nothing: its call's Status is unknown. What is trusted are additions under a
// step's or a result's extra: tool_result_is_error, which Harbor's converters
// write, and ok, is_error, exit_code and status, which Write adds.
//
// Steps that are marked as copied context belong to another trajectory. Where an
// agent step has an observation but no calls, its commands stand in the text of its
// message, which is no record of a call: a gap. So is what goes on in another file.
// No end of a run is recorded, except by Write: NoEndRecords.
package atif

import (
	"context"
	"fmt"
	"iter"
	"math"
	"path/filepath"
	"strings"
	"time"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "atif"

// maxDepth is how deep trajectories of sub-agents are followed.
const maxDepth = 8

// IsDocument tells whether a JSON text is a trajectory.
func IsDocument(doc trace.Value) bool {
	if doc.Get("steps").Kind() != trace.KindArray {
		return false
	}
	return strings.HasPrefix(doc.Get("schema_version").Text(), "ATIF") || doc.Get("agent").Get("name").Given() && doc.Get("session_id").Given()
}

// Read reads a trace of this format: a Run for each trajectory.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		runs, err := readFile(ctx, src, 0)
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

func readFile(ctx context.Context, src trace.Source, depth int) ([]*trace.Run, error) {
	document, err := trace.SpansLines(src)
	if err != nil {
		return nil, err
	}
	if document {
		doc, err := trace.ReadDocument(ctx, src)
		if err != nil {
			return nil, err
		}
		if doc.Kind() != trace.KindAbsent {
			r := newReader(ctx, src, depth, doc.LineOf)
			r.run.SHA256 = doc.SHA256
			r.trajectory(doc.Value)
			return []*trace.Run{r.run}, nil
		}
	}
	return readLines(ctx, src, depth)
}

// readLines reads a trajectory a line.
func readLines(ctx context.Context, src trace.Source, depth int) ([]*trace.Run, error) {
	var runs []*trace.Run
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		rec := sc.Record()
		r := newReader(ctx, src, depth, func(trace.Value) int { return rec.Pos.Line })
		r.trajectory(rec.Value)
		runs = append(runs, r.run)
	}
	if len(runs) == 0 { // damaged throughout: a run that says so
		runs = append(runs, newReader(ctx, src, depth, nil).run)
	}
	for _, run := range runs {
		if err := sc.Finish(run); err != nil {
			return nil, err
		}
	}
	return runs, nil
}

// reader reads one trajectory.
type reader struct {
	ctx    context.Context
	src    trace.Source
	depth  int
	lineOf func(trace.Value) int
	run    *trace.Run
	spoken bool // a gap says that commands stand in messages
	subs   []sub
}

// sub is a sub-agent's trajectory that a call refers to.
type sub struct {
	call int
	path string
}

func newReader(ctx context.Context, src trace.Source, depth int, lineOf func(trace.Value) int) *reader {
	r := &reader{ctx: ctx, src: src, depth: depth, lineOf: lineOf, run: trace.NewRun(src, Format)}
	r.run.NoEndRecords = true
	r.run.Agent = Format
	return r
}

func (r *reader) place(v trace.Value) trace.Position {
	return trace.Position{Line: r.lineOf(v), Offset: v.Body().Offset}
}

func (r *reader) bad(v trace.Value, reason string) {
	r.run.BadLines = append(r.run.BadLines, trace.BadLine{Line: r.lineOf(v), Reason: reason})
}

func (r *reader) gap(v trace.Value, reason string) {
	r.run.Gaps = append(r.run.Gaps, trace.Gap{Pos: r.place(v), Reason: reason})
}

func (r *reader) trajectory(doc trace.Value) {
	run := r.run
	if !IsDocument(doc) {
		r.bad(doc, "no trajectory")
		return
	}
	agent := doc.Get("agent")
	run.Records++
	run.ID = doc.Get("session_id").Text()
	run.Model = agent.Get("model_name").Text()
	if name := agent.Get("name").Text(); name != "" {
		run.Agent = strings.TrimSpace(name + " " + agent.Get("version").Text())
	}
	for step := range doc.Get("steps").Elements() {
		if step.Kind() != trace.KindObject || step.UniqueNames() != nil {
			r.bad(step, "a step that cannot be read")
			continue
		}
		run.Records++
		if step.Get("is_copied_context").Flag() != trace.FlagTrue {
			r.step(step)
		}
	}
	if next := doc.Get("continued_trajectory_ref"); next.Given() {
		r.gap(next, "the run goes on in another trajectory")
	}
	r.metrics(doc.Get("final_metrics"))
	r.written(doc.Get("extra"))
	for i := len(r.subs) - 1; i >= 0; i-- {
		r.attach(r.subs[i])
	}
}

// metrics reads what was spent; prompt tokens include those that were cached.
func (r *reader) metrics(m trace.Value) {
	n := func(name string) int64 {
		i, _ := m.Get(name).Int()
		return max(i, 0)
	}
	u := trace.Usage{Model: r.run.Model, Cached: n("total_cached_tokens"), Completion: n("total_completion_tokens")}
	u.Prompt = max(n("total_prompt_tokens")-u.Cached, 0)
	if u.Total = u.Prompt + u.Cached + u.Completion; u.Total > 0 {
		r.run.AddUsage(u)
	}
}

func (r *reader) step(step trace.Value) {
	run := r.run
	text := textOf(step.Get("message"))
	at, _ := time.Parse(time.RFC3339, step.Get("timestamp").Text())
	if run.Started.IsZero() {
		run.Started = at
	}
	switch source := step.Get("source").Text(); {
	case source == "user" && run.Task == "":
		run.Task = text
	case source == "agent" && text != "":
		run.Summary, run.SummaryPos = text, r.place(step)
	}
	first := len(run.Calls)
	list := step.Get("tool_calls")
	for call := range list.Elements() {
		r.call(call, step, at)
	}
	if len(run.Calls)-first > 1 {
		for i := first; i < len(run.Calls); i++ {
			run.Calls[i].Batch = "step " + string(step.Get("step_id").ID()) + fmt.Sprintf(" at %d", step.Body().Offset)
		}
	}
	extra := step.Get("extra")
	if len(run.Calls)-first == 1 {
		r.additions(&run.Calls[first], extra)
	}
	r.results(step, first)
	if extra.Get("no_id").Flag() == trace.FlagTrue && len(run.Calls) > first {
		run.Calls[first].ID = ""
	}
}

// textOf is a message: a text, or a list of parts.
func textOf(v trace.Value) string {
	if v.Kind() == trace.KindString {
		return v.Text()
	}
	var parts []string
	for part := range v.Elements() {
		if t := part.Get("text").Text(); t != "" {
			parts = append(parts, t)
		}
	}
	return strings.Join(parts, "\n")
}

func (r *reader) call(call, step trace.Value, at time.Time) {
	tool := call.Get("function_name").Text()
	if tool == "" {
		r.bad(call, "a tool call without a function_name")
		return
	}
	_, args := call.Get("arguments").Inner()
	r.run.Calls = append(r.run.Calls, trace.Call{
		ID: call.Get("tool_call_id").ID(), Tool: tool, Pos: r.place(call), Args: args, Record: call.Body(), Start: at,
	})
}

// results joins the results of a step to its calls: by id, else by their order where
// there are as many.
func (r *reader) results(step trace.Value, first int) {
	run := r.run
	results := step.Get("observation").Get("results")
	var list []trace.Value
	for result := range results.Elements() {
		list = append(list, result)
	}
	calls := len(run.Calls) - first
	for n, result := range list {
		i := -1
		id := result.Get("source_call_id").ID()
		for k := first; k < first+calls && id != ""; k++ {
			if run.Calls[k].ID == id && !run.Calls[k].ResultPos.Set() {
				i = k
				break
			}
		}
		if id == "" && calls == len(list) {
			i = first + n
		}
		r.result(result, step, i)
	}
}

// result reads the result of call i; -1: of none of the step's.
func (r *reader) result(result, step trace.Value, i int) {
	refs := result.Get("subagent_trajectory_ref")
	if i < 0 {
		extra := step.Get("extra")
		switch alone := extra.Get("result_only").Flag() == trace.FlagTrue; {
		case refs.Given() && !alone:
			r.gap(result, "delegated work of no recorded call")
			return
		case !alone:
			if step.Get("source").Text() == "agent" && !r.spoken {
				r.spoken = true
				r.gap(result, "commands stand in the text of messages, and not in calls")
			}
			return
		}
		r.run.Calls = append(r.run.Calls, trace.Call{
			ID: result.Get("source_call_id").ID(), Tool: extra.Get("tool").Text(), Pos: r.place(result), Record: result.Body(), ResultOnly: true,
		})
		i = len(r.run.Calls) - 1
		r.additions(&r.run.Calls[i], extra)
	}
	c := &r.run.Calls[i]
	c.ResultPos = r.place(result)
	if !c.Result.Present() && result.Get("content").Given() {
		c.Result = result.Get("content").Body()
	}
	r.additions(c, result.Get("extra"))
	if c.OK == trace.FlagAbsent && c.IsError == trace.FlagAbsent && !c.HasExit && c.Status == "" {
		c.Status = "unknown"
	}
	for ref := range refs.Elements() {
		c.Delegates = true
		if name := ref.Get("trajectory_path").Text(); name != "" {
			r.subs = append(r.subs, sub{i, name})
		}
	}
}

// additions reads what converters, and Write, say of a call under extra.
func (r *reader) additions(c *trace.Call, extra trace.Value) {
	if extra.Kind() != trace.KindObject {
		return
	}
	if f := extra.Get("ok").Flag(); f != trace.FlagAbsent {
		c.OK = f
	}
	for _, name := range []string{"is_error", "tool_result_is_error"} {
		if f := extra.Get(name).Flag(); f != trace.FlagAbsent {
			c.IsError = f
		}
	}
	if code, ok := extra.Get("exit_code").Int(); ok {
		c.HasExit, c.ExitCode = true, int32(max(math.MinInt32, min(code, math.MaxInt32)))
	}
	for name, into := range map[string]*string{"status": &c.Status, "cwd": &c.Cwd, "batch": &c.Batch} {
		if text := extra.Get(name).Text(); text != "" {
			*into = text
		}
	}
	for name, into := range map[string]*trace.Body{"result": &c.Result, "structured_content": &c.Structured, "error": &c.Error, "child": &c.Child} {
		if v := extra.Get(name); v.Given() {
			*into = v.Body()
		}
	}
	if id := extra.Get("parent").ID(); id != "" {
		c.Parent = id
	}
	if envelope := extra.Get("envelope"); envelope.Kind() == trace.KindObject {
		c.Envelope, c.Record = true, envelope.Body()
		c.Args, c.Result = envelope.Get("request").Body(), envelope.Get("response").Body()
	}
}

// attach reads the trajectory of a sub-agent. One that cannot be read leaves its
// call marked.
func (r *reader) attach(s sub) {
	name := filepath.ToSlash(s.path)
	if r.depth >= maxDepth || r.src.Sibling == nil {
		return
	}
	src, err := r.src.Reopened(name)
	if err != nil {
		return
	}
	src.Sibling = r.src.Sibling
	runs, err := readFile(r.ctx, src, r.depth+1)
	if err != nil || len(runs) != 1 {
		return
	}
	r.run.Attach(s.call, runs[0], name)
}
