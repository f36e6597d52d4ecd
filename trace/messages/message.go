package messages

import (
	"fmt"
	"strings"

	"nightaudit/trace"
)

// The words for Call.Status that this reader sets.
const (
	unknown = "unknown"
	running = "running"
)

// message reads a message of either API; false for what is none.
func (c *conversation) message(m trace.Value) bool {
	switch m.Get("role").Text() {
	case "system", "developer":
	case "user":
		c.user(m)
	case "assistant":
		c.assistant(m)
	case "tool", "function":
		c.tool(m)
	default:
		return false
	}
	return true
}

// user reads a prompt, or the results that stand in the user's name.
func (c *conversation) user(m trace.Value) {
	content := m.Get("content")
	results := false
	for block := range content.Elements() {
		switch kind := block.Get("type").Text(); {
		case strings.HasSuffix(kind, "tool_result"):
			results = true
			c.block(block)
		case odd(kind):
			c.gap(block, "block")
		}
	}
	if !results {
		c.talk.Prompt(textOf(content))
	}
}

// assistant reads what the agent said and called. Where both stand in one message,
// it said it before it called.
func (c *conversation) assistant(m trace.Value) {
	if model := m.Get("model").Text(); model != "" {
		c.run.Model = model
	}
	if reason := m.Get("stop_reason").Text(); reason != "" {
		c.run.EndReason = reason
	}
	c.spend(m.Get("usage"), m.Get("model").Text())
	content := m.Get("content")
	if content.Kind() == trace.KindString {
		c.talk.Said(content.Text(), c.texts.Place(content))
	}
	var calls []trace.Call
	for block := range content.Elements() {
		switch kind := block.Get("type").Text(); {
		case kind == "text" || kind == "output_text":
			c.talk.Said(block.Get("text").Text(), c.texts.Place(block))
		case strings.HasSuffix(kind, "tool_use"):
			calls = c.add(calls, block, block.Get("id"), block.Get("name"), block.Get("input").Body())
		case strings.HasSuffix(kind, "tool_result"): // of a tool that the server ran
			c.batch(m, calls)
			calls = nil
			c.block(block)
		case odd(kind):
			c.gap(block, "block")
		}
	}
	for tc := range m.Get("tool_calls").Elements() {
		calls = c.toolCall(calls, tc)
	}
	if fc := m.Get("function_call"); fc.Kind() == trace.KindObject {
		_, args := fc.Get("arguments").Inner()
		calls = c.add(calls, fc, trace.Value{}, fc.Get("name"), args)
	}
	c.batch(m, calls)
}

// toolCall reads one of a chat message's tool_calls.
func (c *conversation) toolCall(calls []trace.Call, tc trace.Value) []trace.Call {
	if custom := tc.Get("custom"); custom.Kind() == trace.KindObject {
		return c.add(calls, tc, tc.Get("id"), custom.Get("name"), custom.Get("input").Body())
	}
	of := tc.Get("function")
	if of.Kind() != trace.KindObject {
		of = tc // some writers leave the function's object out
	}
	_, args := of.Get("arguments").Inner()
	return c.add(calls, tc, tc.Get("id"), of.Get("name"), args)
}

// add appends a call to those of its message.
func (c *conversation) add(calls []trace.Call, record, id, name trace.Value, args trace.Body) []trace.Call {
	pos := c.texts.Place(record)
	if name.Text() == "" {
		c.run.BadLines = append(c.run.BadLines, trace.BadLine{Line: pos.Line, Reason: "a call without a name"})
		return calls
	}
	return append(calls, trace.Call{ID: id.ID(), Tool: name.Text(), Pos: pos, Args: args, Record: record.Body()})
}

// batch takes in the calls of a message.
func (c *conversation) batch(m trace.Value, calls []trace.Call) {
	if len(calls) > 0 {
		c.talk.Called()
		c.pairs.AddBatch(fmt.Sprintf("message at %d", m.Body().Offset), calls)
	}
}

// tool reads a chat message that holds a result. Old ones (role function) name the
// function only.
func (c *conversation) tool(m trace.Value) {
	id := m.Get("tool_call_id").ID()
	content := oneText(m.Get("content"))
	var call *trace.Call
	if i, ok := c.openByName(m.Get("name").Text()); id == "" && ok {
		call = &c.run.Calls[i]
		call.Result, call.ResultPos = content.Body(), c.texts.Place(m)
	} else if call, ok = c.pairs.Result(id, c.texts.Place(m), content, m); !ok {
		return
	} else if call.ResultOnly {
		call.Tool = m.Get("name").Text()
	}
	call.IsError = firstFlag(m, "is_error", "isError")
	switch {
	case m.Get("status").Text() == "error":
		call.IsError = trace.FlagTrue
	case call.IsError == trace.FlagAbsent:
		call.Status = unknown
	}
}

// openByName finds the call of a function that has no id and no result yet.
func (c *conversation) openByName(name string) (int, bool) {
	for i := len(c.run.Calls) - 1; i >= 0; i-- {
		if call := &c.run.Calls[i]; call.Tool == name && call.ID == "" && !call.ResultPos.Set() {
			return i, true
		}
	}
	return 0, false
}

// block reads a tool_result block.
func (c *conversation) block(b trace.Value) {
	id := b.Get("tool_use_id").ID()
	content := b.Get("content")
	i, open := c.pairs.Open(id)
	call, ok := c.pairs.Result(id, c.texts.Place(b), content, b)
	if !ok {
		return
	}
	if !open || id == "" {
		i = len(c.run.Calls) - 1
	}
	call.IsError = b.Get("is_error").Flag()
	server := b.Get("type").Text() != "tool_result"
	switch {
	case strings.HasSuffix(content.Get("type").Text(), "_error"):
		call.IsError = trace.FlagTrue
	case call.IsError != trace.FlagAbsent:
		c.flagged = c.flagged || call.IsError != trace.FlagInvalid
	case server:
		call.IsError = trace.FlagFalse // the API itself reports its tools' errors
	default:
		c.silent = append(c.silent, i)
	}
}

func firstFlag(v trace.Value, names ...string) trace.Flag {
	for _, n := range names {
		if f := v.Get(n).Flag(); f != trace.FlagAbsent {
			return f
		}
	}
	return trace.FlagAbsent
}

// odd tells whether a block's kind sounds like a call or a result and is none that
// is known.
func odd(kind string) bool {
	kind = strings.ToLower(kind)
	return strings.Contains(kind, "tool") || strings.Contains(kind, "function")
}

// textOf joins the texts of a message; a plain string is one.
func textOf(content trace.Value) string {
	if content.Kind() == trace.KindString {
		return content.Text()
	}
	var texts []string
	for block := range content.Elements() {
		if kind := block.Get("type").Text(); kind == "text" || kind == "input_text" || kind == "output_text" {
			texts = append(texts, block.Get("text").Text())
		}
	}
	return strings.Join(texts, "\n")
}

// oneText returns the text of a list that holds one text and nothing else, and any
// other content as it is.
func oneText(content trace.Value) trace.Value {
	only, n := content, 0
	for part := range content.Elements() {
		only = part.Get("text")
		n++
	}
	if n == 1 && only.Kind() == trace.KindString {
		return only
	}
	return content
}
