package openhands

import "nightaudit/trace"

// maxEvents is how many events of a list are looked at.
const maxEvents = 64

// IsRecord tells whether a record can only be one of this format's: an event, or a
// run of an evaluation.
func IsRecord(rec trace.Value) bool { return isEvent(rec) || isHistory(historyOf(rec)) }

// IsDocument tells whether a file that is one JSON text is of this format.
func IsDocument(doc trace.Value) bool { return isHistory(doc) || isHistory(historyOf(doc)) }

func isHistory(list trace.Value) bool {
	n := 0
	for e := range list.Elements() {
		if e.Kind() == trace.KindArray && isHistory(e) || isEvent(e) {
			return true
		}
		if n++; n == maxEvents {
			break
		}
	}
	return false
}

func isEvent(v trace.Value) bool {
	if v.Kind() != trace.KindObject {
		return false
	}
	switch v.Get("kind").Text() {
	case "MessageEvent":
		return v.Get("llm_message").Given()
	case "ActionEvent", "ObservationEvent", "UserRejectObservation", "AgentErrorEvent":
		return v.Get("tool_call_id").Given()
	}
	switch {
	case v.Get("action").Kind() == trace.KindString:
		return v.Get("args").Kind() == trace.KindObject && v.Get("source").Given()
	case v.Get("observation").Kind() == trace.KindString:
		return v.Get("extras").Kind() == trace.KindObject && v.Get("content").Given()
	}
	return false
}
