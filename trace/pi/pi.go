// Package pi reads the sessions of the Pi coding agent, which OpenClaw and others
// write as well (~/.pi/agent/sessions/<folder>/<time>_<id>.jsonl): one file in, one
// Run out. It judges nothing.
//
// isError of a toolResult is trusted: true is a failure, of a command that ended with
// another code than 0 as of a tool that is not there. The code itself stands in the
// last line of a failed command's output (`Command exited with code N`).
//
// Records span a tree by parentId, whose live branch ends in the last record; calls
// of other branches were made all the same. What the user ran (bashExecution) is no
// call of the agent's. No end of a session is recorded: NoEndRecords.
package pi

import (
	"context"
	"iter"
	"regexp"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "pi"

// Read reads a session as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readSession(ctx, src))
	}
}

func readSession(ctx context.Context, src trace.Source) (*trace.Run, error) {
	run := trace.NewRun(src, Format)
	run.NoEndRecords, run.Agent = true, Format
	s := &session{run: run, pairs: trace.NewPairs(run)}
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		s.take(sc.Record())
	}
	s.pairs.Finish()
	if err := sc.Finish(run); err != nil {
		return nil, err
	}
	if err := run.Conclude(s.turns, s.tree.Live()); err != nil {
		return nil, err
	}
	return run, nil
}

// session is what is remembered of a file while it is read.
type session struct {
	run   *trace.Run
	pairs *trace.Pairs
	tree  trace.Tree
	turns []trace.Turn
}

// take takes in one record. Changes of settings, labels and what extensions keep
// carry no evidence, nor does a summary that takes the place of messages for the
// model: they stay in the file.
func (s *session) take(rec trace.Record) {
	kind := rec.Get("type").Text()
	if kind == "session" {
		s.run.Records++
		s.header(rec)
		return
	}
	id := rec.Get("id").ID().String()
	if !s.tree.Add(id, rec.Get("parentId").ID().String(), rec.Pos) || kind != "message" {
		s.run.Ignored++
		return
	}
	msg := rec.Get("message")
	turn := trace.Turn{ID: id, Pos: rec.Pos}
	switch msg.Get("role").Text() {
	case "user":
		turn.Texts = texts(msg.Get("content"))
		s.turns = append(s.turns, turn)
	case "assistant":
		s.assistant(rec, msg, turn)
	case "toolResult":
		s.result(rec, msg)
	default:
		s.run.Ignored++
		return
	}
	s.run.Records++
}

func (s *session) header(rec trace.Record) {
	if id := rec.Get("id").Text(); id != "" {
		s.run.ID = id
	}
	if s.run.Cwd == "" {
		s.run.Cwd = rec.Get("cwd").Text()
	}
	if s.run.Started.IsZero() {
		s.run.Started = rec.Get("timestamp").Time()
	}
}

// texts finds the texts of a message, which may be one itself.
func texts(content trace.Value) []trace.Body {
	if content.Kind() == trace.KindString {
		return []trace.Body{content.Body()}
	}
	var out []trace.Body
	for block := range content.Elements() {
		if block.Get("type").Text() == "text" && block.Get("text").Kind() == trace.KindString {
			out = append(out, block.Get("text").Body())
		}
	}
	return out
}

// assistant reads what the agent said and called.
func (s *session) assistant(rec trace.Record, msg trace.Value, turn trace.Turn) {
	turn.Agent, turn.Texts = true, texts(msg.Get("content"))
	var calls []trace.Call
	for block := range msg.Get("content").Elements() {
		if block.Get("type").Text() != "toolCall" {
			continue
		}
		turn.Acted = true
		name := block.Get("name").Text()
		if name == "" {
			s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: rec.Pos.Line, Reason: "a tool call without a name"})
			continue
		}
		calls = append(calls, trace.Call{
			ID: block.Get("id").ID(), Tool: name, Args: block.Get("arguments").Body(), Record: block.Body(),
			Pos:   trace.Position{Line: rec.Pos.Line, Offset: block.Body().Offset},
			Start: rec.Get("timestamp").Time(), Delegates: name == "subagent",
		})
	}
	s.pairs.AddBatch(turn.ID, calls)
	s.turns = append(s.turns, turn)
	if model := msg.Get("model").Text(); model != "" {
		s.run.Model = model
	}
	s.run.EndReason = msg.Get("stopReason").Text()
	u := msg.Get("usage")
	s.run.Spend(trace.Usage{
		Model: msg.Get("model").Text(), Prompt: u.Tokens("input") + u.Tokens("cacheWrite"), Cached: u.Tokens("cacheRead"),
		Completion: u.Tokens("output"), Total: u.Tokens("totalTokens"),
	})
}

// exited is how the shell tool says which code a command ended with.
var exited = regexp.MustCompile(`(?:^|\n)Command exited with code (-?\d+)\s*$`)

// result joins a result to its call.
func (s *session) result(rec trace.Record, msg trace.Value) {
	content := msg.Get("content")
	c, ok := s.pairs.Result(msg.Get("toolCallId").ID(), rec.Pos, content, rec.Value)
	if !ok {
		return
	}
	if c.ResultOnly {
		c.Tool = msg.Get("toolName").Text()
	}
	c.IsError = msg.Get("isError").Flag()
	if details := msg.Get("details"); details.Kind() == trace.KindObject {
		c.Structured = details.Body()
	}
	switch {
	case c.IsError == trace.FlagAbsent:
		c.Status = "unknown"
	case c.IsError == trace.FlagTrue && c.Tool == "bash":
		var all []string
		for block := range content.Elements() {
			all = append(all, block.Get("text").Text())
		}
		if m := exited.FindStringSubmatch(strings.Join(all, "\n")); m != nil {
			code, err := strconv.ParseInt(m[1], 10, 32)
			c.HasExit, c.ExitCode = err == nil && code != 0, int32(code)
		}
	}
}

// IsRecord tells whether a record can only be one of this format's.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
	case "session":
		return rec.Get("id").Given() && rec.Get("cwd").Given() && rec.Get("timestamp").Given()
	case "message":
		role := rec.Path("message", "role").Text()
		return role == "toolResult" && rec.Path("message", "toolCallId").Given() ||
			role != "" && rec.Get("id").Given() && rec.Get("parentId").Kind() != trace.KindAbsent
	}
	return false
}
