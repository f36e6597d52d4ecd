package geminicli

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of a session's.
func IsRecord(rec trace.Value) bool {
	if rec.Get("sessionId").Given() && rec.Get("projectHash").Given() {
		return true
	}
	if rec.Get("$set").Kind() == trace.KindObject || rec.Get("$rewindTo").Given() {
		return true
	}
	return rec.Get("type").Text() == "gemini" && rec.Get("id").Given()
}

// IsDocument tells whether a file that is one JSON text is a session, or a saved
// checkpoint.
func IsDocument(doc trace.Value) bool {
	if doc.Get("sessionId").Given() && doc.Get("messages").Kind() == trace.KindArray {
		return doc.Get("projectHash").Given() || hasGemini(doc.Get("messages"))
	}
	return isContents(doc) || isContents(doc.Get("history"))
}

func hasGemini(list trace.Value) bool {
	for m := range list.Elements() {
		if m.Get("type").Text() == "gemini" {
			return true
		}
	}
	return false
}

// isContents tells whether a value is a list of contents.
func isContents(list trace.Value) bool {
	for m := range list.Elements() {
		role := m.Get("role").Text()
		return (role == "user" || role == "model") && m.Get("parts").Kind() == trace.KindArray
	}
	return false
}
