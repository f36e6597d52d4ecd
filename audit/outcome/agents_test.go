package outcome

import (
	"strconv"
	"testing"
)

// TestOf_Refusals is how agents word that a call never ran. Their readers flag such
// a call as failed, as the agents do.
func TestOf_Refusals(t *testing.T) {
	for text, want := range map[string]Kind{
		"The user rejected permission to use this specific tool call.":                                                     Denied, // opencode
		"The user rejected permission to use this specific tool call with the following feedback: no":                      Denied, // opencode
		"The user has specified a rule which prevents you from using this specific tool call.":                             Denied, // opencode
		"Qwen Code requires permission to use \"write_file\", but that permission was declined. Matching deny rule: \"x\"": Denied, // Qwen Code
		"Tool execution denied by policy.":                           Denied,    // Gemini CLI
		"[Operation Cancelled] Reason: User did not allow tool call": Cancelled, // Gemini CLI, Qwen Code
		"user rejected MCP tool call":                                Denied,    // Codex
		"This command requires approval":                             Denied,    // Claude Code
		"File not found: x":                                          Error,
		"Tool execution aborted":                                     Error, // opencode: it had begun
	} {
		run, c := first(t, call("x", `"isError":true,"result":`+strconv.Quote(text)))
		if o, err := Of(run, c); err != nil || o.Kind != want {
			t.Errorf("%q: %s, %v, want %s", text, o.Kind, err, want)
		}
	}
}
