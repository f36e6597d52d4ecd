// Package cline reads the conversations of Cline and of Roo Code
// (tasks/<id>/api_conversation_history.json in the editor's storage): one file in,
// one Run out. It judges nothing.
//
// A call is a tool_use block, or XML within the agent's text. Its result is a
// tool_result block, or a text of the user's that begins with the tool's name
// (`[execute_command for 'npm test'] Result:`), and then stands for the first call of
// that tool that has none. What is trusted, and why:
//
//   - Cline and Roo wrap every error of a tool in a text of their own (`The tool
//     execution failed with the following error:`), and every refusal (`The user
//     denied this operation.`); an is_error counts where there is one.
//   - A command's exit code stands in the text before its output, in Roo always, in
//     Cline in newer versions only. Without it a command's end is unknown.
//   - An edit has succeeded where its tool says so; reading and searching where no
//     error is wrapped. Every other tool without a flag is unknown.
//
// What is said in attempt_completion is the summary, and no call. No end of a
// conversation is recorded: NoEndRecords.
package cline

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "cline"

// Read reads a conversation as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readConversation(ctx, src))
	}
}

func readConversation(ctx context.Context, src trace.Source) (*trace.Run, error) {
	r := &reader{texts: trace.NewTexts(ctx, src), known: map[trace.ID]bool{}}
	r.run = trace.NewRun(r.spill.Source(src), Format)
	r.run.Agent, r.run.NoEndRecords = Format, true
	for r.texts.Next() {
		r.take(r.texts.Record().Value)
	}
	if r.orphan.Set() {
		r.run.Gaps = append(r.run.Gaps, trace.Gap{Pos: r.orphan, Reason: "a result whose call is not in this file"})
	}
	r.talk.Finish(r.run)
	if err := r.texts.Finish(r.run); err != nil {
		return nil, err
	}
	slices.SortStableFunc(r.run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	return r.run, nil
}

// maxOpen is how many calls without a result are remembered; only a broken file has
// more.
const maxOpen = 256

// reader is what is remembered of a conversation while it is read.
type reader struct {
	run    *trace.Run
	spill  trace.Spill
	texts  *trace.Texts
	talk   trace.Talk
	open   []int // the last calls that have no result yet, oldest first
	known  map[trace.ID]bool
	orphan trace.Position
}

// take takes in a list of messages, or one.
func (r *reader) take(v trace.Value) {
	if v.Kind() != trace.KindArray {
		r.message(v)
		return
	}
	for m := range v.Elements() {
		r.message(m)
	}
}

func (r *reader) message(m trace.Value) {
	pos := r.texts.Place(m)
	if m.Kind() != trace.KindObject {
		r.bad(pos, "a message that is no JSON object")
		return
	}
	switch m.Get("role").Text() {
	case "assistant":
		r.run.Records++
		r.assistant(m)
	case "user":
		r.run.Records++
		r.user(m)
	default:
		r.run.Ignored++
		return
	}
	if r.run.Started.IsZero() {
		r.run.Started = m.Get("ts").Time()
	}
}

func (r *reader) bad(pos trace.Position, reason string) {
	r.run.BadLines = append(r.run.BadLines, trace.BadLine{Line: pos.Line, Reason: reason})
}

// blocks are the blocks of a message, whose content may be one text.
func blocks(m trace.Value) []trace.Value {
	content := m.Get("content")
	if content.Kind() == trace.KindString {
		return []trace.Value{content}
	}
	return slices.Collect(content.Elements())
}

// textOf is what a block says: itself, its text, or the texts in it.
func textOf(block trace.Value) string {
	if block.Kind() == trace.KindString {
		return block.Text()
	}
	if text := block.Get("text"); text.Given() {
		return text.Text()
	}
	var all []string
	for part := range block.Elements() {
		all = append(all, part.Get("text").Text())
	}
	return strings.Join(all, "\n")
}

// bodyOf is where a block's text stands.
func bodyOf(block trace.Value) trace.Body {
	if text := block.Get("text"); text.Given() {
		return text.Body()
	}
	return block.Body()
}

// assistant reads what the agent said and called.
func (r *reader) assistant(m trace.Value) {
	first := len(r.run.Calls)
	for _, block := range blocks(m) {
		pos := r.texts.Place(block)
		if block.Get("type").Text() == "tool_use" {
			name := block.Get("name").Text()
			if name == "" {
				r.bad(pos, "a tool_use without a name")
				continue
			}
			r.use(m, pos, use{tool: name, input: block.Get("input"), id: block.Get("id").ID()})
			continue
		}
		said, uses := parse(textOf(block))
		r.talk.Said(said, pos)
		for _, u := range uses {
			r.use(m, pos, u)
		}
	}
	if len(r.run.Calls) > first+1 {
		for i := first; i < len(r.run.Calls); i++ {
			r.run.Calls[i].Batch = strconv.FormatInt(r.texts.Place(m).Offset, 10)
		}
	}
}

// use reads one use of a tool. Some tools only talk to the user.
func (r *reader) use(m trace.Value, pos trace.Position, u use) {
	switch u.tool {
	case "attempt_completion":
		r.talk.Said(u.text("result"), pos)
		return
	case "plan_mode_respond", "act_mode_respond":
		r.talk.Said(u.text("response"), pos)
		return
	case "ask_followup_question":
		r.talk.Said(u.text("question"), pos)
		return
	}
	if u.id == "" {
		u.id = trace.ID(strconv.Itoa(len(r.run.Calls) + 1))
	}
	c := trace.Call{ID: u.id, Tool: u.tool, Pos: pos, Record: m.Body(), Start: m.Get("ts").Time(), Delegates: u.tool == "new_task"}
	c.Args = u.input.Body()
	if u.params != nil {
		c.Args = r.spill.Add(u.args())
	}
	r.talk.Called()
	r.known[u.id] = true
	r.open = append(r.open[max(0, len(r.open)-maxOpen):], len(r.run.Calls))
	r.run.Calls = append(r.run.Calls, c)
}

// user reads results, and what a person said.
func (r *reader) user(m trace.Value) {
	list := blocks(m)
	for i := 0; i < len(list); i++ {
		block, said := list[i], textOf(list[i])
		if block.Get("type").Text() == "tool_result" {
			r.toolResult(block)
			continue
		}
		tool, rest, ok := heading(said)
		switch {
		case !ok:
			r.talk.Prompt(prompt(said))
			continue
		case strings.TrimSpace(rest) == "" && i+1 < len(list) && follows(list[i+1]):
			i++ // the result is a block of its own
			block, rest = list[i], textOf(list[i])
		}
		if talks[tool] {
			r.talk.Prompt(prompt(rest))
			continue
		}
		at := slices.IndexFunc(r.open, func(i int) bool { return r.run.Calls[i].Tool == tool })
		r.result(at, "", tool, r.texts.Place(block), bodyOf(block), rest, trace.FlagAbsent)
	}
}

// follows tells whether a block can be the result that the block before it announces.
func follows(block trace.Value) bool {
	text := textOf(block)
	_, _, ok := heading(text)
	return !ok && block.Get("type").Text() == "text" && !strings.HasPrefix(text, "<environment_details>")
}

// toolResult joins a tool_result to its call.
func (r *reader) toolResult(block trace.Value) {
	id, content := block.Get("tool_use_id").ID(), block.Get("content")
	at := slices.IndexFunc(r.open, func(i int) bool { return id != "" && r.run.Calls[i].ID == id })
	said := textOf(content)
	if tool, rest, ok := heading(said); ok {
		said = rest
		if talks[tool] {
			r.talk.Prompt(prompt(said))
			return
		}
	}
	if at < 0 && r.known[id] {
		return // a result once more
	}
	r.result(at, id, "", r.texts.Place(block), content.Body(), said, block.Get("is_error").Flag())
}

// result ends the call at a place of open, -1 for one that is not there.
func (r *reader) result(at int, id trace.ID, tool string, pos trace.Position, body trace.Body, said string, flag trace.Flag) {
	i := len(r.run.Calls)
	if at >= 0 {
		i = r.open[at]
		r.open = slices.Delete(r.open, at, at+1)
	} else {
		if !r.orphan.Set() {
			r.orphan = pos
		}
		r.run.Calls = append(r.run.Calls, trace.Call{ID: id, Tool: tool, Pos: pos, ResultOnly: true})
	}
	c := &r.run.Calls[i]
	c.Result, c.ResultPos = body, pos
	c.IsError = flag
	end(c, strings.TrimSpace(said))
}
