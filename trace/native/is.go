package native

import "nightaudit/trace"

// IsDocument tells whether a file that is one JSON text is the document form of
// this format.
func IsDocument(doc trace.Value) bool {
	return !doc.Get("type").Given() && doc.Get("steps").Kind() == trace.KindArray && !doc.Get("schema_version").Given()
}

// IsRecord tells whether a record can only be one of this format's.
func IsRecord(rec trace.Value) bool {
	kind := rec.Get("type")
	switch kind.Text() {
	case "tool_call":
		return rec.Get("tool").Given() || rec.Get("name").Given()
	case "tool_result":
		return rec.Get("call_id").Given()
	case "action":
		return rec.Get("decision").Given() || rec.Get("grounds").Given()
	case "run_start", "run_end", "assistant_text", "claim", "claims", "gap":
		return true
	case "usage":
		return !rec.Get("uuid").Given()
	case "summary":
		return rec.Get("text").Given()
	}
	if kind.Given() {
		return false
	}
	// The envelope form has no type. One damaged field does not hide it.
	fields := 0
	for _, name := range []string{"tool", "request", "response", "schema_sha256", "idempotency_key"} {
		if rec.Get(name).Kind() != trace.KindAbsent {
			fields++
		}
	}
	return fields >= 2
}
