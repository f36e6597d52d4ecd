package geminicli

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of this format's.
func IsRecord(rec trace.Value) bool {
	switch {
	case rec.Get("sessionId").Given() && rec.Get("projectHash").Given():
		return true
	case rec.Get("$set").Kind() == trace.KindObject:
		set := rec.Get("$set")
		return set.Get("lastUpdated").Given() || set.Get("messages").Given()
	default:
		return rec.Get("type").Text() == "gemini" && rec.Get("id").Given() && rec.Get("content").Given()
	}
}

// IsDocument tells whether a file that is one JSON text is a session of the older
// form.
func IsDocument(doc trace.Value) bool {
	return doc.Get("sessionId").Given() && doc.Get("projectHash").Given() && doc.Get("messages").Kind() == trace.KindArray
}
