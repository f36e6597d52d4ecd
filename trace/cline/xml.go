package cline

import (
	"encoding/json"
	"regexp"
	"strings"

	"nightaudit/trace"
)

// use is one use of a tool: of a block, or of XML within a text.
type use struct {
	id     trace.ID
	tool   string
	input  trace.Value       // of a block
	params map[string]string // of XML, else nil
}

// text is a parameter of the use.
func (u use) text(name string) string {
	if u.params != nil {
		return u.params[name]
	}
	return u.input.Get(name).Text()
}

func (u use) args() []byte {
	raw, err := json.Marshal(u.params)
	if err != nil {
		return nil
	}
	return raw
}

// tag opens a tool's XML. A tag that is no tool's is text.
var tag = regexp.MustCompile(`<(execute_command|read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|edit_file|` +
	`search_files|list_files|list_code_definition_names|codebase_search|browser_action|use_mcp_tool|access_mcp_resource|web_fetch|web_search|` +
	`ask_followup_question|plan_mode_respond|act_mode_respond|attempt_completion|new_task|condense|switch_mode|fetch_instructions|` +
	`update_todo_list|run_slash_command|generate_image|load_mcp_documentation|new_rule|report_bug)>`)

var (
	thinking  = regexp.MustCompile(`(?s)<thinking>.*?</thinking>`)
	parameter = regexp.MustCompile(`<([a-z_]+)>`)
)

// parse splits what the agent wrote into what it said and the tools that it used. A
// use that does not close was cut off, and is none.
func parse(text string) (said string, uses []use) {
	text = thinking.ReplaceAllString(text, "")
	for {
		m := tag.FindStringSubmatchIndex(text)
		if m == nil {
			return said + text, uses
		}
		tool := text[m[2]:m[3]]
		said += text[:m[0]]
		inner, rest, ok := closed(text[m[1]:], tool, tool == "write_to_file")
		if !ok {
			return said, uses
		}
		uses = append(uses, use{tool: tool, params: parameters(inner)})
		text = rest
	}
}

// closed cuts a text at the tag that closes name: the first, or the last where what
// is inside may hold such a tag itself.
func closed(text, name string, last bool) (inner, rest string, ok bool) {
	end := "</" + name + ">"
	at := strings.Index(text, end)
	if last {
		at = strings.LastIndex(text, end)
	}
	if at < 0 {
		return "", "", false
	}
	return text[:at], text[at+len(end):], true
}

// maxParameters is how many tags of a use are looked at.
const maxParameters = 256

// parameters reads the parameters of a use.
func parameters(text string) map[string]string {
	out := map[string]string{}
	for range maxParameters {
		m := parameter.FindStringSubmatchIndex(text)
		if m == nil {
			return out
		}
		name := text[m[2]:m[3]]
		inner, rest, ok := closed(text[m[1]:], name, name == "content" || name == "diff")
		if !ok {
			text = text[m[1]:]
			continue
		}
		out[name], text = strings.Trim(inner, "\n"), rest
	}
	return out
}
