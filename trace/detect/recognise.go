package detect

import (
	"nightaudit/trace"
	"nightaudit/trace/claudecode"
	"nightaudit/trace/native"
)

// recognise names the format that a record can only belong to, "" where it says
// too little.
func recognise(rec trace.Value) string {
	kind := rec.Get("type")
	switch {
	case isNative(rec, kind):
		return native.Format
	case isClaudeCode(rec, kind.Text()):
		return claudecode.Format
	default:
		return ""
	}
}

func isNative(rec, kind trace.Value) bool {
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
	if rec.Get("steps").Kind() == trace.KindArray {
		return true
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

// isClaudeCode wants what stands around the type as well: "user" and "system"
// are types in many formats.
func isClaudeCode(rec trace.Value, kind string) bool {
	switch kind {
	case "user", "assistant", "system", "attachment", "progress":
		return rec.Get("sessionId").Given() && rec.Get("uuid").Given()
	case "summary":
		return rec.Get("leafUuid").Given()
	case "file-history-snapshot":
		return rec.Get("messageId").Given() || rec.Get("snapshot").Given()
	case "queue-operation":
		return rec.Get("operation").Given() && rec.Get("sessionId").Given()
	case "last-prompt", "custom-title", "ai-title", "agent-name", "permission-mode", "mode",
		"atis-latch", "bridge-session", "worktree-state":
		return rec.Get("sessionId").Given()
	default:
		return false
	}
}
