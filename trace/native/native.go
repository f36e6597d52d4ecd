// Package native reads nightaudit's own trace format: one JSON object a line
// (tool_call, tool_result, action, claim, summary, …), tool envelopes without a
// type, or one whole document {"steps": […]} that holds the same records.
//
// The flags it hands on are those of the record: ok, isError (is_error),
// exit_code and status mean what their writer says, and nothing is derived from
// text. A tool_result joins the tool_call of its call_id; one that finds none, or
// finds a call that already has its result, stands alone as a ResultOnly call.
package native

import (
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "native"

// NothingKnown is the reason of the gap in a run none of whose records is known.
const NothingKnown = "none of its records is of a kind that is known"

// Read reads a native trace: always one Run. A file without any readable record
// is a Run without records, whose BadLines say why.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		r := &reader{run: trace.NewRun(src, Format), open: map[trace.ID]int{}}
		read := r.lines
		document, err := trace.SpansLines(src)
		if document {
			read = r.document
		}
		if err == nil {
			err = read(ctx, src)
		}
		if err != nil {
			yield(nil, err)
			return
		}
		yield(r.finish(), nil)
	}
}

type reader struct {
	run   *trace.Run
	open  map[trace.ID]int // the latest call of an id
	gone  map[int]bool     // stand-alone results that a later call has taken over
	steps bool             // a {"steps": …} document was read
}

// lines reads JSON Lines. The first record may be a whole document on one line.
func (r *reader) lines(ctx context.Context, src trace.Source) error {
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		rec := sc.Record()
		steps := rec.Get("steps")
		if r.run.Records > 0 || steps.Kind() == trace.KindAbsent || rec.Get("type").Kind() != trace.KindAbsent {
			r.record(rec)
			continue
		}
		r.readSteps(steps, func(trace.Value) int { return rec.Pos.Line })
	}
	return sc.Finish(r.run)
}

// document reads the file as one JSON text over several lines; a file that only
// looked like one is read as lines.
func (r *reader) document(ctx context.Context, src trace.Source) error {
	doc, err := trace.ReadDocument(ctx, src)
	if err != nil {
		return err
	}
	steps := doc.Get("steps")
	if steps.Kind() == trace.KindAbsent {
		return r.lines(ctx, src)
	}
	r.run.SHA256 = doc.SHA256
	r.readSteps(steps, doc.LineOf)
	return nil
}

// readSteps reads the records of a document. Elements that are no objects are
// bad lines; a steps that is no list holds nothing.
func (r *reader) readSteps(steps trace.Value, lineOf func(trace.Value) int) {
	r.steps = true
	r.run.Records++ // the document itself was understood
	if steps.Kind() != trace.KindArray {
		r.badLine(lineOf(steps), "steps is no list")
	}
	for step := range steps.Elements() {
		line := lineOf(step)
		if step.Kind() != trace.KindObject {
			r.badLine(line, "a step that is no JSON object")
			continue
		}
		if err := step.UniqueNames(); err != nil {
			r.badLine(line, err.Error())
			continue
		}
		r.record(trace.Record{Value: step, Pos: trace.Position{Line: line, Offset: step.Body().Offset}})
	}
}

func (r *reader) badLine(line int, reason string) {
	r.run.BadLines = append(r.run.BadLines, trace.BadLine{Line: line, Reason: reason})
}

// record reads one record by its type.
func (r *reader) record(rec trace.Record) {
	run := r.run
	kind := rec.Get("type")
	if kind.Kind() == trace.KindAbsent && isEnvelope(rec.Value) {
		run.Records++
		r.envelope(rec)
		return
	}
	known := true
	switch kind.Text() {
	case "tool_call":
		known = r.toolCall(rec)
	case "tool_result":
		r.toolResult(rec)
	case "run_start":
		run.ID = textOr(rec.Get("run"), run.ID)
		run.Agent = textOr(rec.Get("agent"), run.Agent)
		run.Model = textOr(rec.Get("model"), run.Model)
		run.Task = textOr(rec.Get("task"), run.Task)
		run.Cwd = textOr(rec.Get("cwd"), run.Cwd)
		run.Started = timestamp(rec.Get("ts"))
		// What was converted from a format that records no ends has none to record.
		run.NoEndRecords = run.NoEndRecords || rec.Get("no_end_records").Flag() == trace.FlagTrue
	case "action":
		run.Statements = append(run.Statements, trace.Statement{Pos: rec.Pos, Body: rec.Body(), Action: true})
	case "claim", "claims":
		run.Statements = append(run.Statements, trace.Statement{Pos: rec.Pos, Body: rec.Body()})
	case "assistant_text", "summary":
		if text := rec.Get("text").Text(); text != "" && !run.Ended {
			run.Summary, run.SummaryPos = text, rec.Pos
		}
	case "usage":
		r.usage(rec)
	case "run_end":
		run.Ended = true
		run.EndReason = rec.Get("stop_reason").Text()
	case "gap":
		run.Gaps = append(run.Gaps, trace.Gap{Pos: rec.Pos, Reason: textOr(rec.Get("reason"), "a gap is recorded")})
	default:
		run.Ignored++
		run.Records++
		return
	}
	if known {
		run.Records++
	}
}

// isEnvelope tells whether a record without a type is a tool envelope.
func isEnvelope(v trace.Value) bool {
	for _, name := range []string{"schema_sha256", "idempotency_key", "request", "response"} {
		if v.Get(name).Kind() != trace.KindAbsent {
			return true
		}
	}
	return false
}

// envelope reads a line in the envelope form. It may be incomplete: the audit
// looks at the record again where a claim asks for whole envelopes.
func (r *reader) envelope(rec trace.Record) {
	c := trace.Call{
		Tool: rec.Get("tool").Text(), Pos: rec.Pos, Record: rec.Body(), Envelope: true,
		Args: rec.Get("request").Body(), Start: timestamp(rec.Get("ts")),
	}
	if resp := rec.Get("response"); resp.Given() {
		c.Result, c.ResultPos = resp.Body(), rec.Pos
	}
	r.run.Calls = append(r.run.Calls, c)
}

// toolCall reads a call, with its result where it stands in the same record. It
// returns false for a call without a tool, which is a bad line.
func (r *reader) toolCall(rec trace.Record) bool {
	tool := textOr(rec.Get("tool"), rec.Get("name").Text())
	if tool == "" {
		r.badLine(rec.Pos.Line, "a tool_call without a tool")
		return false
	}
	c := trace.Call{
		ID: rec.Get("id").ID(), Tool: tool, Pos: rec.Pos, Record: rec.Body(),
		Args:   firstGiven(rec.Value, "args", "arguments", "request").Body(),
		Parent: rec.Get("parent").ID(), Batch: string(rec.Get("batch").ID()),
		Cwd: rec.Get("cwd").Text(), Start: timestamp(rec.Get("ts")),
	}
	if child := rec.Get("child"); child.Kind() == trace.KindObject {
		c.Child = child.Body()
	}
	if setResult(&c, rec.Value, "result", "content", "response") {
		c.ResultPos = rec.Pos
	}
	if i, ok := r.open[c.ID]; ok && c.ID != "" && r.run.Calls[i].ResultOnly && !c.ResultPos.Set() {
		takeOver(&c, &r.run.Calls[i])
		if r.gone == nil {
			r.gone = map[int]bool{}
		}
		r.gone[i] = true
	}
	r.add(c)
	return true
}

// toolResult joins a result to its call.
func (r *reader) toolResult(rec trace.Record) {
	id := rec.Get("call_id").ID()
	if i, ok := r.open[id]; ok && id != "" {
		if c := &r.run.Calls[i]; !c.ResultPos.Set() {
			if unfinished(c.Status) {
				c.Status = "" // true when it was written; the result says what came of it
			}
			setResult(c, rec.Value, "result", "content", "response")
			c.ResultPos = rec.Pos
			return
		}
	}
	c := trace.Call{ID: id, Tool: rec.Get("tool").Text(), Pos: rec.Pos, ResultPos: rec.Pos, Record: rec.Body(), Cwd: rec.Get("cwd").Text(), ResultOnly: true}
	setResult(&c, rec.Value, "result", "content", "response")
	r.run.Calls = append(r.run.Calls, c)
	if _, ok := r.open[id]; !ok && id != "" {
		r.open[id] = len(r.run.Calls) - 1
	}
}

// setResult reads what ends a call and tells whether anything does.
func setResult(c *trace.Call, v trace.Value, results ...string) bool {
	c.OK = v.Get("ok").Flag()
	c.IsError = v.Get("isError").Flag()
	if c.IsError == trace.FlagAbsent {
		c.IsError = v.Get("is_error").Flag()
	}
	c.ExitCode, c.HasExit = v.Get("exit_code").ExitCode()
	c.Status = textOr(v.Get("status"), c.Status)
	result := firstGiven(v, results...)
	c.Result = result.Body()
	c.Envelope = result.Given() && result.Body() == v.Get("response").Body()
	c.Structured = v.Get("structuredContent").Body()
	if e := v.Get("error"); e.Given() {
		c.Error = e.Body()
	}
	boolean := func(f trace.Flag) bool { return f == trace.FlagTrue || f == trace.FlagFalse }
	return boolean(c.OK) || boolean(c.IsError) || c.HasExit || c.Result.Present() || c.Structured.Present() || c.Error.Present()
}

// takeOver moves a result that was recorded before its call into the call.
func takeOver(c, result *trace.Call) {
	c.OK, c.IsError, c.HasExit, c.ExitCode = result.OK, result.IsError, result.HasExit, result.ExitCode
	c.Result, c.Structured, c.Error, c.ResultPos = result.Result, result.Structured, result.Error, result.ResultPos
	c.Envelope = result.Envelope
	if c.Status == "" || unfinished(c.Status) {
		c.Status = result.Status
	}
}

// unfinished tells whether a status says that a call has not ended yet.
func unfinished(status string) bool {
	switch strings.ToLower(status) {
	case "running", "in_progress", "pending", "started", "background", "backgrounded", "timeout", "timed_out":
		return true
	}
	return false
}

func (r *reader) add(c trace.Call) {
	r.run.Calls = append(r.run.Calls, c)
	if c.ID != "" {
		r.open[c.ID] = len(r.run.Calls) - 1
	}
}

// usage adds up what the agent reported, by model.
func (r *reader) usage(rec trace.Record) {
	n := func(names ...string) int64 {
		i, _ := firstGiven(rec.Value, names...).Int()
		return max(i, 0)
	}
	u := trace.Usage{
		Model:  rec.Get("model").Text(),
		Prompt: n("prompt_tokens", "prompt"), Cached: n("cached_tokens", "cached"),
		Completion: n("completion_tokens", "completion"), Total: n("total_tokens", "total"),
	}
	for i := range r.run.Usage {
		if have := &r.run.Usage[i]; have.Model == u.Model {
			have.Prompt += u.Prompt
			have.Cached += u.Cached
			have.Completion += u.Completion
			have.Total += u.Total
			return
		}
	}
	r.run.Usage = append(r.run.Usage, u)
}

func (r *reader) finish() *trace.Run {
	if len(r.gone) > 0 {
		kept := r.run.Calls[:0]
		for i, c := range r.run.Calls {
			if !r.gone[i] {
				kept = append(kept, c)
			}
		}
		r.run.Calls = kept
	}
	// The scanner's come behind the reader's own.
	slices.SortStableFunc(r.run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	if r.run.Records == r.run.Ignored && r.run.Ignored > 0 {
		// Nothing in it is of this format: that no call stands there says nothing.
		r.run.Gaps = append(r.run.Gaps, trace.Gap{Reason: NothingKnown})
	}
	if r.steps {
		r.run.NoEndRecords = true // documents of steps have no end to record
	}
	return r.run
}

func firstGiven(v trace.Value, names ...string) trace.Value {
	for _, n := range names {
		if m := v.Get(n); m.Given() {
			return m
		}
	}
	return trace.Value{}
}

func textOr(v trace.Value, otherwise string) string {
	if s := v.Text(); s != "" {
		return s
	}
	return otherwise
}

// timestamp reads seconds since 1970 or RFC 3339; anything else is the zero time.
func timestamp(v trace.Value) time.Time {
	if v.Kind() == trace.KindNumber {
		sec, frac := math.Modf(v.Float())
		if math.Abs(sec) > 1e11 {
			return time.Time{}
		}
		return time.Unix(int64(sec), int64(frac*1e9)).UTC()
	}
	t, err := time.Parse(time.RFC3339, v.Text())
	if err != nil {
		return time.Time{}
	}
	return t
}
