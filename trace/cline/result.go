package cline

import (
	"regexp"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// talks are the tools whose result is what the user answered.
var talks = map[string]bool{
	"attempt_completion": true, "plan_mode_respond": true, "act_mode_respond": true, "ask_followup_question": true,
}

var announced = regexp.MustCompile(`(?s)^\[([a-z_]+)(?: .*?)?\] Result:`)

// heading reads the line that announces a result: the tool's name, and what follows.
func heading(text string) (tool, rest string, ok bool) {
	m := announced.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1], text[len(m[0]):], true
}

var (
	environment = regexp.MustCompile(`(?s)<environment_details>.*?(?:</environment_details>|$)`)
	wrapped     = regexp.MustCompile(`(?s)^<(task|feedback|user_message|answer)>\s*(.*?)\s*</(?:task|feedback|user_message|answer)>`)
)

// prompt is what a person said in a text of the user's.
func prompt(text string) string {
	text = strings.TrimSpace(environment.ReplaceAllString(text, ""))
	if m := wrapped.FindStringSubmatch(text); m != nil {
		return m[2]
	}
	return text
}

var (
	failed   = "The tool execution failed with the following error"
	refused  = regexp.MustCompile(`^(The user denied this operation|User denied|\{"status":"denied")`)
	skipped  = regexp.MustCompile(`^(Skipping tool \[|Tool \[[^\n]*\] was not executed because)`)
	running  = regexp.MustCompile(`^Command is still running|^Command executed in (the )?background`)
	exitCode = regexp.MustCompile(`(?i)\bexit code:? (-?\d+)`)
	saved    = regexp.MustCompile(`(?i)^[^\n]*\bsuccessfully (saved|applied|edited|inserted|written|created|updated|modified)\b`)
)

// reads are the tools that wrap every error of theirs.
var reads = map[string]bool{
	"read_file": true, "list_files": true, "search_files": true, "list_code_definition_names": true, "codebase_search": true,
}

// edits are the tools that say that they have done it.
var edits = map[string]bool{
	"write_to_file": true, "replace_in_file": true, "apply_diff": true, "insert_content": true, "search_and_replace": true, "edit_file": true,
}

// end writes into a call what the text of its result says of its end.
func end(c *trace.Call, said string) {
	switch {
	case refused.MatchString(said):
		c.Status = "denied"
	case skipped.MatchString(said):
		c.Status = "cancelled"
	case strings.HasPrefix(said, failed):
		c.IsError = trace.FlagTrue
	case c.IsError == trace.FlagTrue:
	case c.Tool == "execute_command":
		ran(c, said)
	case c.IsError == trace.FlagFalse:
	case edits[c.Tool] && saved.MatchString(said), reads[c.Tool] && !strings.Contains(said, "<error>"):
		c.IsError = trace.FlagFalse
	case c.Tool == "use_mcp_tool" && strings.HasPrefix(said, "Error:"):
		c.IsError = trace.FlagTrue // so it writes MCP's isError
	case c.Tool == "use_mcp_tool":
		c.IsError = trace.FlagFalse
	default:
		c.Status = "unknown"
	}
}

// ran reads how a command ended, from what stands before its output.
func ran(c *trace.Call, said string) {
	c.IsError = trace.FlagAbsent
	head, _, _ := strings.Cut(said, "\nOutput:")
	head, _, _ = strings.Cut(head, "\n<")
	m := exitCode.FindStringSubmatch(head)
	switch {
	case running.MatchString(said):
		c.Status = "running"
	case m != nil && strings.HasPrefix(said, "Command"):
		code, err := strconv.ParseInt(m[1], 10, 32)
		if c.HasExit = err == nil; c.HasExit {
			c.ExitCode = int32(code)
		}
	default:
		c.Status = "unknown"
	}
}
