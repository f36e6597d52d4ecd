package qwen

import (
	"strings"

	"nightaudit/trace"
)

// IsRecord tells whether a record can only be one of Qwen Code's.
func IsRecord(rec trace.Value) bool {
	if !rec.Get("uuid").Given() || !rec.Get("sessionId").Given() {
		return false
	}
	switch rec.Get("type").Text() {
	case "user", "assistant", "tool_result":
		return rec.Path("message", "parts").Kind() == trace.KindArray
	case "system":
		return rec.Get("systemPayload").Given()
	}
	return false
}

// IsIFlowRecord tells whether a record can only be one of iFlow's: as Claude Code
// writes them, under session ids that Claude Code does not give.
func IsIFlowRecord(rec trace.Value) bool {
	kind := rec.Get("type").Text()
	return (kind == "user" || kind == "assistant") && rec.Get("uuid").Given() && rec.Get("message").Given() &&
		strings.HasPrefix(rec.Get("sessionId").Text(), "session-")
}
