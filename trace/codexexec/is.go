package codexexec

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of this format's.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
	case "thread.started":
		return rec.Get("thread_id").Given()
	case "turn.started", "turn.completed", "turn.failed":
		return true
	case "item.started", "item.updated", "item.completed":
		item := rec.Get("item")
		return item.Get("id").Given() && item.Get("type").Given()
	default:
		return false
	}
}
