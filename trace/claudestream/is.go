package claudestream

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of a stream. Qwen's differ in
// their init record only, so that one is asked for before.
func IsRecord(rec trace.Value) bool {
	if !rec.Get("session_id").Given() {
		return false
	}
	switch rec.Get("type").Text() {
	case "system":
		return rec.Get("subtype").Given()
	case "assistant", "user":
		return rec.Path("message", "role").Given() || rec.Path("message", "content").Given()
	case "result":
		return rec.Get("subtype").Given()
	case "stream_event":
		return rec.Get("event").Kind() == trace.KindObject
	default:
		return false
	}
}

// IsQwenRecord tells whether a record can only be one of Qwen's.
func IsQwenRecord(rec trace.Value) bool {
	return IsRecord(rec) && rec.Get("qwen_code_version").Given()
}

// IsDocument tells whether a file that is one JSON text is a list of such records,
// or a result.
func IsDocument(doc trace.Value) bool { return isDocument(doc, IsRecord) }

// IsQwenDocument is IsDocument for Qwen's.
func IsQwenDocument(doc trace.Value) bool { return isDocument(doc, IsQwenRecord) }

func isDocument(doc trace.Value, is func(trace.Value) bool) bool {
	if doc.Kind() == trace.KindObject {
		return is(doc)
	}
	for v := range doc.Elements() {
		return is(v)
	}
	return false
}
