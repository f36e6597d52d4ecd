// Package qwen reads the sessions of two relatives of Gemini CLI that write records
// like Claude Code's: Qwen Code (~/.qwen/projects/<folder>/chats/<id>.jsonl) and
// iFlow (~/.iflow/projects/<folder>/session-<id>.jsonl). One file in, one Run out. It
// judges nothing.
//
// Qwen Code writes Gemini's parts within the records, iFlow Anthropic's blocks with
// Gemini's responses in them. What they record of a call's end is what Gemini CLI
// records, and is trusted as there (package geminicli): status error and a response
// under error are failures, the status of a shell call says nothing, and its exit
// code stands behind its output. Beside it, errorType execution_denied means that the
// call was refused.
//
// Qwen Code's records span a tree by parentUuid, whose live branch ends in the last
// record; calls of other branches were made all the same. iFlow writes a message
// again while it grows, with the calls that are there already.
//
// No end of a session is recorded: NoEndRecords. What a sub-agent did is not in the
// file (Call.Delegates).
package qwen

import (
	"context"
	"iter"

	"nightaudit/trace"
	"nightaudit/trace/geminicli"
)

// The names of the formats.
const (
	Format      = "qwen-code"
	IFlowFormat = "iflow"
)

// Read reads a session of Qwen Code as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return read(ctx, src, Format)
}

// ReadIFlow reads a session of iFlow as one Run.
func ReadIFlow(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return read(ctx, src, IFlowFormat)
}

func read(ctx context.Context, src trace.Source, format string) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readSession(ctx, src, format))
	}
}

func readSession(ctx context.Context, src trace.Source, format string) (*trace.Run, error) {
	run := trace.NewRun(src, format)
	run.NoEndRecords, run.Agent = true, format
	s := &session{run: run, pairs: trace.NewPairs(run), once: format == Format}
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		s.take(sc.Record())
	}
	s.pairs.Finish()
	if err := sc.Finish(run); err != nil {
		return nil, err
	}
	counts := s.tree.Live()
	if format == IFlowFormat { // parentUuid is the prompt's there
		counts = func(trace.Turn) bool { return true }
	}
	if err := run.Conclude(s.turns, counts); err != nil {
		return nil, err
	}
	return run, nil
}

// session is what is remembered of a file while it is read.
type session struct {
	run   *trace.Run
	pairs *trace.Pairs
	tree  trace.Tree
	once  bool // a call is recorded once
	turns []trace.Turn
}

// take takes in one record.
func (s *session) take(rec trace.Record) {
	uuid := rec.Get("uuid").Text()
	if !s.tree.Add(uuid, rec.Get("parentUuid").Text(), rec.Pos) {
		s.run.Ignored++ // copied by a resume or a fork
		return
	}
	switch rec.Get("type").Text() {
	case "user", "assistant", "tool_result":
		s.run.Records++
		s.header(rec)
		s.message(rec, uuid)
	default: // telemetry and commands of the user; a compression takes nothing from the file
		s.run.Ignored++
	}
}

// header reads what every message says of the run.
func (s *session) header(rec trace.Record) {
	run := s.run
	if id := rec.Get("sessionId").Text(); id != "" {
		run.ID = id
	}
	if v := rec.Get("version").Text(); v != "" {
		run.Agent = run.Format + " " + v
	}
	if run.Cwd == "" {
		run.Cwd = rec.Get("cwd").Text()
	}
	if run.Started.IsZero() {
		run.Started = rec.Get("timestamp").Time()
	}
	for _, v := range []trace.Value{rec.Get("model"), rec.Path("message", "model")} {
		if v.Text() != "" {
			run.Model = v.Text()
		}
	}
}

// message reads a prompt, what the agent said and called, or results. Parts are
// Gemini's, blocks Anthropic's.
func (s *session) message(rec trace.Record, uuid string) {
	msg := rec.Get("message")
	kind := rec.Get("type").Text()
	t := trace.Turn{ID: uuid, Pos: rec.Pos, Agent: kind == "assistant"}
	speaks := t.Agent || kind == "user" && !rec.Get("subtype").Given()
	var calls []trace.Call
	if content := msg.Get("content"); content.Kind() == trace.KindString {
		t.Texts = append(t.Texts, content.Body())
	}
	for _, list := range []trace.Value{msg.Get("parts"), msg.Get("content")} {
		for part := range list.Elements() {
			calls = s.part(rec, part, &t, calls)
		}
	}
	s.pairs.AddBatch(uuid, calls)
	if t.Agent {
		s.spend(rec)
	}
	if speaks {
		s.turns = append(s.turns, t)
	}
}

// part reads one part of a message. Calls are gathered, so that those of one message
// are known for a batch.
func (s *session) part(rec trace.Record, part trace.Value, t *trace.Turn, calls []trace.Call) []trace.Call {
	response := part.Get("functionResponse")
	switch {
	case part.Get("functionCall").Kind() == trace.KindObject:
		v := part.Get("functionCall")
		return s.call(rec, v, v.Get("args"), t, calls)
	case part.Get("type").Text() == "tool_use":
		return s.call(rec, part, part.Get("input"), t, calls)
	case response.Kind() == trace.KindObject:
		s.result(rec, response, rec.Get("toolCallResult"))
	case part.Get("type").Text() == "tool_result":
		s.block(rec, part)
	case part.Get("text").Kind() == trace.KindString && part.Get("thought").Flag() != trace.FlagTrue:
		t.Texts = append(t.Texts, part.Get("text").Body())
	}
	return calls
}

// agents are the tools that hand work to a sub-agent.
var agents = map[string]bool{"task": true, "agent": true, "Task": true, "Agent": true}

func (s *session) call(rec trace.Record, v, args trace.Value, t *trace.Turn, calls []trace.Call) []trace.Call {
	t.Acted = true
	name := v.Get("name").Text()
	if name == "" {
		s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: rec.Pos.Line, Reason: "a tool call without a name"})
		return calls
	}
	c := trace.Call{
		ID: v.Get("id").ID(), Tool: name, Args: args.Body(), Record: v.Body(),
		Pos: trace.Position{Line: rec.Pos.Line, Offset: v.Body().Offset},
		Cwd: rec.Get("cwd").Text(), Start: rec.Get("timestamp").Time(), Delegates: agents[name],
	}
	if !s.once && c.ID != "" && s.pairs.Repeats(&c) {
		return calls
	}
	return append(calls, c)
}

// result joins a functionResponse to its call. Said is what the record says of the
// call's end; it speaks of one call.
func (s *session) result(rec trace.Record, response, said trace.Value) {
	id := response.Get("id").ID()
	if of := said.Get("callId").ID(); id == "" {
		id = of
	} else if of != "" && of != id {
		said = trace.Value{}
	}
	s.end(rec, id, response, geminicli.Outcome{Status: said.Get("status").Text(), Display: said.Get("resultDisplay")}, said)
}

// block joins a tool_result of iFlow's to its call.
func (s *session) block(rec trace.Record, block trace.Value) {
	content := block.Get("content")
	response := content.Path("responseParts", "functionResponse")
	for part := range content.Get("responseParts").Elements() {
		if r := part.Get("functionResponse"); r.Given() && !response.Given() {
			response = r
		}
	}
	said := rec.Get("toolUseResult")
	s.end(rec, block.Get("tool_use_id").ID(), response, geminicli.Outcome{Status: said.Get("status").Text(), Display: content.Get("resultDisplay")}, said)
}

// end writes into a call how it ended.
func (s *session) end(rec trace.Record, id trace.ID, response trace.Value, o geminicli.Outcome, said trace.Value) {
	o.Tool, o.Response, o.Pos = response.Get("name").Text(), response.Get("response"), rec.Pos
	c, ok := s.pairs.Result(id, rec.Pos, geminicli.Output(o.Response), rec.Value)
	if !ok {
		return
	}
	if c.ResultOnly {
		c.Tool, c.Cwd = o.Tool, rec.Get("cwd").Text()
	}
	c.ResultPos = trace.Position{}
	o.End(c)
	if said.Get("errorType").Text() == "execution_denied" {
		c.Status = "denied"
	}
}

// spend reads what a message cost. The thoughts are among the candidates with some
// servers and beside them with others; the total tells.
func (s *session) spend(rec trace.Record) {
	u := rec.Get("usageMetadata")
	prompt, cached, total := u.Tokens("promptTokenCount"), u.Tokens("cachedContentTokenCount"), u.Tokens("totalTokenCount")
	s.run.Spend(trace.Usage{
		Model: s.run.Model, Prompt: max(0, prompt-cached), Cached: cached, Completion: max(total-prompt, u.Tokens("candidatesTokenCount")), Total: total,
	})
	u = rec.Path("message", "usage")
	in, out := u.Tokens("input_tokens"), u.Tokens("output_tokens")
	s.run.Spend(trace.Usage{Model: s.run.Model, Prompt: in, Completion: out, Total: in + out})
}
