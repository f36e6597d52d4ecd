// Package messages reads plain lists of messages as programs keep them that talk
// to a model themselves: OpenAI chat messages, items of OpenAI's Responses API and
// Anthropic messages. They come as a JSON list; as an object that holds one
// (messages, traj, input and output, …), alone, in a list or one a line, each a
// Run; or as one message a line, all of one Run.
//
// What is trusted, and why:
//
//   - Chat messages (role tool) and function_call_output items carry no flag: what
//     came of the call is unknown (Status), unless its text begins like an error,
//     which audit/outcome sees. An is_error or isError beside them is taken.
//   - is_error on an Anthropic tool_result is a failure. Left out it means success
//     for the API; but a program that never sets it may not know of it. So it is
//     read as false only in a conversation in which the flag is set at all, and
//     is unknown elsewhere.
//   - Items of tools that OpenAI runs itself (mcp_call, web_search_call, …) have
//     an error or a status that tells. The outcome of each command of a shell_call
//     is its exit code.
//
// A log of requests writes the conversation so far again and again: what a later one
// begins with is no run of its own.
//
// A list of messages records no end: NoEndRecords. The last role is often the user,
// so the summary is what the agent said last in the last turn that it answered.
package messages

import (
	"context"
	"fmt"
	"iter"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "messages"

// Read reads the conversations of a file in their order.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		f := &file{src: src, texts: trace.NewTexts(ctx, src), byID: map[string]*conversation{}}
		for f.texts.Next() {
			f.take(f.texts.Record())
		}
		runs, err := f.finish()
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

// file is what is remembered of a file while it is read.
type file struct {
	src    trace.Source
	texts  *trace.Texts
	talks  []*conversation
	starts []trace.Position
	single *conversation            // the one whose messages stand one a line
	byID   map[string]*conversation // by the id of a response that another goes on from
	others int                      // records that are neither
}

// take reads one record: conversations, or a message of the one conversation that
// the lines make.
func (f *file) take(rec trace.Record) {
	switch {
	case rec.Kind() == trace.KindArray:
		f.list(rec.Value)
	case isTurn(rec.Value):
		if f.single == nil {
			f.single = f.begin(rec.Value)
		}
		f.single.take(rec.Value)
	case isConversation(rec.Value):
		f.conversation(rec.Value)
	default:
		f.others++
	}
}

// list reads a list of messages, or of conversations.
func (f *file) list(list trace.Value) {
	if isTurns(list) {
		c := f.begin(list)
		for turn := range list.Elements() {
			c.take(turn)
		}
		return
	}
	for e := range list.Elements() {
		switch {
		case isTurns(e):
			f.list(e)
		case isConversation(e):
			f.conversation(e)
		default:
			f.others++
		}
	}
}

// conversation reads an object that holds messages. A response that goes on from
// another one of the file belongs to its conversation.
func (f *file) conversation(v trace.Value) {
	before := find(v, "previous_response_id", 0)
	c, goesOn := f.byID[before]
	if !goesOn {
		c = f.begin(v)
		if before != "" {
			c.run.Gaps = append(c.run.Gaps, trace.Gap{Pos: f.texts.Place(v), Reason: "it goes on from a response that is not in this file"})
		}
	}
	if id := find(v, "id", 0); id != "" {
		f.byID[id] = c
	}
	c.header(v, 0)
	for part := range parts(v) {
		c.take(part)
	}
}

// find returns the text of a member of a response, wherever in its object it stands.
func find(v trace.Value, name string, depth int) string {
	if text := v.Get(name).Text(); text != "" || depth > maxNested {
		return text
	}
	for _, w := range wrappers {
		if text := find(v.Get(w), name, depth+1); text != "" {
			return text
		}
	}
	return ""
}

// begin starts a conversation at a value.
func (f *file) begin(v trace.Value) *conversation {
	run := trace.NewRun(f.src, Format)
	run.NoEndRecords = true
	c := &conversation{run: run, pairs: trace.NewPairs(run), texts: f.texts}
	f.talks = append(f.talks, c)
	f.starts = append(f.starts, f.texts.Place(v))
	return c
}

// finish draws what only the whole file tells.
func (f *file) finish() ([]*trace.Run, error) {
	if len(f.talks) == 0 {
		f.begin(trace.Value{})
	}
	repeated := f.repeated()
	var runs []*trace.Run
	var starts []trace.Position
	for i, c := range f.talks {
		c.finish()
		if !repeated[i] {
			runs, starts = append(runs, c.run), append(starts, f.starts[i])
		}
	}
	runs[0].Ignored += f.others
	if err := trace.FinishAll(f.texts, runs, starts); err != nil {
		return nil, err
	}
	return runs, nil
}

// repeated tells of each conversation whether a later one begins with all of it:
// who logs every request to a model writes the conversation so far again and again.
// What it cost is added to the later one's.
func (f *file) repeated() []bool {
	out := make([]bool, len(f.talks))
	ends := map[sum]int{} // conversations by all of their messages
	for i, c := range f.talks {
		for _, part := range c.sums[:max(len(c.sums)-1, 0)] {
			if at, ok := ends[part]; ok && !out[at] {
				out[at] = true
				for _, u := range f.talks[at].run.Usage {
					c.run.Spend(u)
				}
			}
		}
		if n := len(c.sums); n > 0 {
			ends[c.sums[n-1]] = i
		}
	}
	return out
}

// conversation is one run while it is read.
type conversation struct {
	run   *trace.Run
	pairs *trace.Pairs
	talk  trace.Talk
	texts *trace.Texts

	sums    []sum // of the messages up to each
	flagged bool  // an is_error flag stands somewhere
	silent  []int // calls whose result might have had one
}

// header reads what a conversation's object says of the run, and what the request
// and the response in it do.
func (c *conversation) header(v trace.Value, depth int) {
	run := c.run
	for _, name := range []string{"id", "session_id", "conversation_id", "thread_id", "instance_id", "task_id"} {
		if id := v.Get(name).ID(); id != "" && run.ID == "" {
			run.ID = id.String()
		}
	}
	if trial := v.Get("trial").ID(); trial != "" && run.ID != "" {
		run.ID += "#" + trial.String()
	}
	if model := v.Get("model").Text(); model != "" {
		run.Model = model
	}
	if prompt := v.Get("input"); prompt.Kind() == trace.KindString {
		c.talk.Prompt(prompt.Text())
	}
	if !isTurn(v) { // its own usage is read with it
		c.spend(v.Get("usage"), run.Model)
	}
	for _, name := range wrappers {
		if depth < maxNested {
			c.header(v.Get(name), depth+1)
		}
	}
}

// take reads one message or item.
func (c *conversation) take(v trace.Value) {
	if v.Kind() != trace.KindObject {
		c.run.BadLines = append(c.run.BadLines, trace.BadLine{Line: c.texts.Place(v).Line, Reason: "a message that is no JSON object"})
		return
	}
	if err := v.UniqueNames(); err != nil {
		c.run.BadLines = append(c.run.BadLines, trace.BadLine{Line: c.texts.Place(v).Line, Reason: err.Error()})
		return
	}
	if c.message(v) || c.item(v) {
		c.run.Records++
		c.sums = append(c.sums, c.sum(v))
		return
	}
	c.run.Ignored++
}

// gap notes something that may be a call and is not understood.
func (c *conversation) gap(v trace.Value, what string) {
	c.run.Gaps = append(c.run.Gaps, trace.Gap{Pos: c.texts.Place(v), Reason: fmt.Sprintf("a %s of an unknown kind (%.40s)", what, v.Get("type").Text())})
}

// finish draws what only the whole conversation tells.
func (c *conversation) finish() {
	for _, i := range c.silent {
		if c.flagged {
			c.run.Calls[i].IsError = trace.FlagFalse
		} else {
			c.run.Calls[i].Status = unknown
		}
	}
	c.pairs.Finish()
	c.talk.Finish(c.run)
}

// spend adds what a message or a response reports. The two APIs count what came
// from the cache differently: OpenAI as a part of the prompt, Anthropic beside it.
func (c *conversation) spend(u trace.Value, model string) {
	spent := trace.Usage{Model: model, Completion: u.Tokens("completion_tokens", "output_tokens")}
	spent.Prompt = u.Tokens("prompt_tokens", "input_tokens")
	if u.Get("cache_read_input_tokens").Given() || u.Get("cache_creation_input_tokens").Given() {
		spent.Prompt += u.Tokens("cache_creation_input_tokens")
		spent.Cached = u.Tokens("cache_read_input_tokens")
	} else {
		details := u.Get("prompt_tokens_details")
		if !details.Given() {
			details = u.Get("input_tokens_details")
		}
		spent.Cached = min(details.Tokens("cached_tokens"), spent.Prompt)
		spent.Prompt -= spent.Cached
	}
	spent.Total = spent.Prompt + spent.Cached + spent.Completion
	c.run.Spend(spent)
}
