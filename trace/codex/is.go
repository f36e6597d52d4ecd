package codex

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of this format's: a line in its
// envelope, or the head of a file from before there was one.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
	case "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "token_usage_record":
		return rec.Get("payload").Kind() == trace.KindObject
	case "":
		if rec.Get("record_type").Text() == "state" {
			return true
		}
		return rec.Get("id").Given() && rec.Get("timestamp").Given() && rec.Get("instructions").Kind() != trace.KindAbsent
	default:
		return false
	}
}

// IsDocument tells whether a file that is one JSON text is a rollout of the first
// versions, which wrote {"session", "items"}.
func IsDocument(doc trace.Value) bool {
	session := doc.Get("session")
	return session.Get("id").Given() && session.Get("timestamp").Given() && doc.Get("items").Kind() == trace.KindArray
}
