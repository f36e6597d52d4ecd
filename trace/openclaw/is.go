package openclaw

import "nightaudit/trace"

// IsRecord tells whether a record can only be an event of this telemetry.
func IsRecord(rec trace.Value) bool {
	switch rec.Get("type").Text() {
	case "tool.start", "tool.end":
		return rec.Get("toolName").Given()
	case "agent.start", "agent.end":
		return rec.Get("sessionKey").Given() && rec.Get("agentId").Given()
	case "message.in", "message.out", "message.sending":
		return rec.Get("channel").Given() && rec.Get("content").Given()
	}
	return false
}
