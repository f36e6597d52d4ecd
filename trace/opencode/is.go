package opencode

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of a printed log.
func IsRecord(rec trace.Value) bool {
	if !rec.Get("sessionID").Given() {
		return false
	}
	switch rec.Get("type").Text() {
	case "tool_use", "text", "reasoning", "step_start", "step_finish":
		return rec.Get("part").Kind() == trace.KindObject
	case "error":
		return rec.Get("error").Given()
	default:
		return false
	}
}

// IsDocument tells whether a file that is one JSON text is an export.
func IsDocument(doc trace.Value) bool {
	return doc.Path("info", "id").Given() && doc.Get("messages").Kind() == trace.KindArray
}
