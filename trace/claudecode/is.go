package claudecode

import "nightaudit/trace"

// IsRecord tells whether a record can only be one of this format's. It wants what
// stands around the type as well: "user" and "system" are types in many formats.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
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
