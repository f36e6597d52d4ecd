package messages

import (
	"iter"

	"nightaudit/trace"
)

// looked is how many elements of a list are looked at to know what it is.
const looked = 8

// IsRecord tells whether a record is a message, an item or a conversation. Other
// formats use the same messages within their own records: they are asked first.
func IsRecord(rec trace.Value) bool { return isTurn(rec) || isConversation(rec) }

// IsDocument tells whether a file that is one JSON text holds conversations.
func IsDocument(doc trace.Value) bool {
	if doc.Kind() != trace.KindArray {
		return IsRecord(doc)
	}
	if isTurns(doc) {
		return true
	}
	for e := range first(doc) {
		if isTurns(e) || isConversation(e) {
			return true
		}
	}
	return false
}

// isTurn tells whether a value is a message or an item.
func isTurn(v trace.Value) bool {
	switch v.Get("role").Text() {
	case "system", "developer", "user", "assistant":
		kind := v.Get("type")
		return (v.Get("content").Kind() != trace.KindAbsent || v.Get("tool_calls").Given() || v.Get("function_call").Given()) &&
			(!kind.Given() || kind.Text() == "message")
	case "tool":
		return v.Get("content").Kind() != trace.KindAbsent && !v.Get("type").Given()
	case "function":
		return v.Get("name").Given() && v.Get("content").Kind() != trace.KindAbsent
	}
	switch v.Get("type").Text() {
	case "function_call":
		return v.Get("name").Given() && v.Get("arguments").Given()
	case "function_call_output", "custom_tool_call_output", "shell_call_output", "apply_patch_call_output":
		return v.Get("call_id").Given()
	case "mcp_call":
		return v.Get("name").Given() && v.Get("server_label").Given()
	}
	return false
}

// isTurns tells whether a value is a list of messages.
func isTurns(v trace.Value) bool {
	for e := range first(v) {
		if isTurn(e) {
			return true
		}
	}
	return false
}

// isConversation tells whether an object holds messages.
func isConversation(v trace.Value) bool {
	n := 0
	for part := range parts(v) {
		if isTurn(part) {
			return true
		}
		if n++; n == looked {
			break
		}
	}
	return false
}

// first walks the first elements of a list.
func first(v trace.Value) iter.Seq[trace.Value] {
	return func(yield func(trace.Value) bool) {
		n := 0
		for e := range v.Elements() {
			if n++; n > looked || !yield(e) {
				return
			}
		}
	}
}

// parts walks the messages of a conversation, wherever they stand in its object.
func parts(v trace.Value) iter.Seq[trace.Value] {
	return func(yield func(trace.Value) bool) { walk(v, 0, yield) }
}

// wrappers are the members in which a conversation's object may stand, maxNested is
// how deep.
var wrappers = []string{"request", "response", "body"}

const maxNested = 3

// walk returns false where yield did.
func walk(v trace.Value, depth int, yield func(trace.Value) bool) bool {
	if v.Kind() != trace.KindObject || depth > maxNested {
		return true
	}
	for _, name := range []string{"messages", "traj", "trajectory", "conversation", "history", "items"} {
		if list := v.Get(name); isTurns(list) { // one of them: the others repeat it
			if !each(list, yield) {
				return false
			}
			break
		}
	}
	if !each(v.Get("input"), yield) || !each(v.Get("output"), yield) {
		return false
	}
	for choice := range v.Get("choices").Elements() {
		if m := choice.Get("message"); isTurn(m) && !yield(m) {
			return false
		}
		break // the others are alternatives
	}
	for _, name := range wrappers {
		inner := v.Get(name)
		if isTurn(inner) {
			if !yield(inner) {
				return false
			}
			continue
		}
		if !walk(inner, depth+1, yield) {
			return false
		}
	}
	return true
}

func each(list trace.Value, yield func(trace.Value) bool) bool {
	for e := range list.Elements() {
		if !yield(e) {
			return false
		}
	}
	return true
}
