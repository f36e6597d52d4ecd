package geministream

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of this format's.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
	case "init":
		return rec.Get("session_id").Given() && rec.Get("model").Given()
	case "message":
		return rec.Get("role").Given() && rec.Get("content").Kind() == trace.KindString && rec.Get("timestamp").Given()
	case "tool_use":
		return rec.Get("tool_id").Given() && rec.Get("tool_name").Given()
	case "tool_result":
		return rec.Get("tool_id").Given() && rec.Get("status").Given()
	case "result":
		return rec.Get("status").Given() && rec.Get("timestamp").Given()
	default:
		return false
	}
}
