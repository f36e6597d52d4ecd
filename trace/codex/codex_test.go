package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightaudit/trace"
)

func source(data []byte) trace.Source {
	return trace.Source{Name: "rollout.jsonl", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

func readAll(t *testing.T, src trace.Source) *trace.Run {
	t.Helper()
	var run *trace.Run
	for r, err := range Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		if run != nil {
			t.Fatal("more than one run")
		}
		run = r
	}
	checkBodies(t, run)
	return run
}

func readFile(t *testing.T, name string) *trace.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return readAll(t, source(data))
}

// checkBodies reads every body again.
func checkBodies(t *testing.T, run *trace.Run) {
	t.Helper()
	for i := range run.Calls {
		c := &run.Calls[i]
		for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record} {
			if raw, err := run.Body(b); err != nil || b.Present() && !json.Valid(raw) {
				t.Errorf("a body of call %s is %q, %v", c.ID, raw, err)
			}
		}
	}
}

// show is a call in short: id, tool, how it ended.
func show(t *testing.T, run *trace.Run, c *trace.Call) string {
	t.Helper()
	parts := []string{c.ID.String(), c.Tool}
	switch {
	case c.IsError == trace.FlagTrue || c.OK == trace.FlagFalse:
		parts = append(parts, "error")
	case c.IsError == trace.FlagFalse || c.OK == trace.FlagTrue:
		parts = append(parts, "fine")
	}
	if c.HasExit {
		parts = append(parts, fmt.Sprint("exit ", c.ExitCode))
	}
	if c.Status != "" {
		parts = append(parts, c.Status)
	}
	if !c.ResultPos.Set() {
		parts = append(parts, "open")
	}
	if c.Batch != "" {
		parts = append(parts, "in "+c.Batch)
	}
	if c.ResultOnly {
		parts = append(parts, "alone")
	}
	if c.Delegates {
		parts = append(parts, "delegates")
	}
	return strings.Join(parts, " ")
}

func shown(t *testing.T, run *trace.Run) []string {
	t.Helper()
	var out []string
	for i := range run.Calls {
		out = append(out, show(t, run, &run.Calls[i]))
	}
	return out
}

// body reads a body as text.
func body(t *testing.T, run *trace.Run, b trace.Body) string {
	t.Helper()
	raw, err := run.Body(b)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// item, event and the others below write one line each.
func line(kind string, payload map[string]any) string {
	raw, err := json.Marshal(map[string]any{"timestamp": "2026-03-01T02:00:00.000Z", "type": kind, "payload": payload})
	if err != nil {
		panic(err)
	}
	return string(raw) + "\n"
}

func call(id, tool, args string) string {
	return line("response_item", map[string]any{"type": "function_call", "id": "fc_x", "name": tool, "arguments": args, "call_id": id})
}

func told(id string, output any) string {
	return line("response_item", map[string]any{"type": "function_call_output", "call_id": id, "output": output})
}

func event(kind string, more map[string]any) string {
	p := map[string]any{"type": kind}
	for k, v := range more {
		p[k] = v
	}
	return line("event_msg", p)
}

func item(kind, id, status string, more map[string]any) string {
	it := map[string]any{"type": kind, "id": id, "status": status}
	for k, v := range more {
		it[k] = v
	}
	return event("item_completed", map[string]any{"item": it})
}

func message(role, text string) string {
	return line("response_item", map[string]any{"type": "message", "role": role, "content": []any{map[string]any{"type": "text", "text": text}}})
}

func TestRead_Calls(t *testing.T) {
	run := readFile(t, "calls.jsonl")
	want := []string{
		"bad exec_command exit 1", "good shell exit 0", "refused exec_command denied", "patch apply_patch error",
		"fetch mcp__web__get error", "late exec_command exit 2", "open view_image open",
	}
	if got := shown(t, run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if run.ID != "t1" || run.Agent != "codex 0.171.0" || run.Model != "m-1" || run.Cwd != "/w" || run.Task != "Fix and deploy" || run.Started.IsZero() {
		t.Errorf("%+v", run)
	}
	if run.Summary != "All tests pass." || !run.Ended || run.EndReason != "task_complete" || run.NoEndRecords || run.Child || !run.Whole() {
		t.Errorf("summary %q, ended %v %q, gaps %v", run.Summary, run.Ended, run.EndReason, run.Gaps)
	}
	late := run.Calls[5]
	if !run.SummaryPos.Before(late.ResultPos) {
		t.Errorf("the late end stands at %v, the summary at %v", late.ResultPos, run.SummaryPos)
	}
	for got, want := range map[string]string{
		body(t, run, run.Calls[0].Args):   `{"cmd": "go test"}`,
		body(t, run, run.Calls[0].Result): `"no"`,
		body(t, run, run.Calls[1].Result): `{"output":"a\n","metadata":{"exit_code":0}}`,
		body(t, run, run.Calls[4].Result): `[{"type":"text","text":"404"}]`,
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestRead_Bare(t *testing.T) {
	want := []string{"bad shell exit 2", "good local_shell exit 0"}
	for file, id := range map[string]string{"bare.jsonl": "t2", "document.json": "t3"} {
		run := readFile(t, file)
		if got := shown(t, run); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", file, got, want)
		}
		if run.ID != id || run.Task != "List it" || run.Summary != "Listed." || !run.NoEndRecords || run.Ended || len(run.BadLines) > 0 {
			t.Errorf("%s: %+v", file, run)
		}
	}
}

// TestRead_Text is what the text alone tells that the model was given.
func TestRead_Text(t *testing.T) {
	for _, tt := range []struct {
		name, tool string
		output     any
		want       string
	}{
		{"exit 1", "exec_command", "Chunk ID: 1\nWall time: 1.0 seconds\nProcess exited with code 1\nOutput:\nx", "exit 1"},
		{"exit 0", "exec_command", "Chunk ID: 1\r\nProcess exited with code 0\r\nOutput:\r\nx", "exit 0"},
		{"killed", "exec_command", "Process exited with code -9\nOutput:\n", "exit -9"},
		{"a code that no int holds", "exec_command", "Process exited with code 99999999999999999999\n", "exit 2147483647"},
		{"no code", "exec_command", "Process exited with code \nOutput:\n", "unknown"},
		{"older words", "shell_command", "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds", "exit 124"},
		{"a patch as a command", "exec_command", "Wall time: 0.0 seconds\nOutput:\nExit code: 1\nWall time: 0 seconds\nOutput:\nno", "exit 1"},
		{"the output speaks of codes", "exec_command", "Wall time: 0.0 seconds\nOutput:\nProcess exited with code 0", "unknown"},
		{"running", "exec_command", "Wall time: 1.0 seconds\nProcess running with session ID 5\nOutput:\n", "running"},
		{"aborted", "exec_command", "Wall time: 5.6 seconds\naborted by user", "error"},
		{"aborted, older", "shell", "aborted by user after 3.2s", "error"},
		{"JSON", "shell", `{"output":"","metadata":{"exit_code":2,"duration_seconds":0.1}}`, "exit 2"},
		{"JSON with a bad code", "shell", `{"output":"","metadata":{"exit_code":"none"}}`, "unknown"},
		{"JSON without metadata", "shell", `{"output":""}`, "unknown"},
		{"sandbox", "shell", "failed in sandbox MacosSeatbelt with execution error: sandbox denied exec error, exit code: 2, stdout: , stderr: no", "exit 2"},
		{"sandbox without a code", "shell", "failed in sandbox LinuxSeccomp with execution error: x", "error"},
		{"execution error", "shell", `execution error: Io(Os { code: 2 })`, "error"},
		{"patch does not fit", "apply_patch", "apply_patch verification failed: no", "error"},
		{"patch refused", "apply_patch", "patch rejected by user", "denied"},
		{"command refused", "exec_command", "exec command rejected by user", "denied"},
		{"no one to ask", "exec_command", "approval policy is Never; reject command", "denied"},
		{"MCP call refused", "mcp__fs__write", "user rejected MCP tool call", "denied"},
		{"unknown tool", "x", "unsupported call: x", "error"},
		{"bad arguments", "exec_command", "failed to parse function arguments: EOF", "error"},
		{"other words of a shell", "shell", "total 4", "unknown"},
		{"a shell may print anything", "shell", "failed to open", "unknown"},
		{"an MCP tool tells nothing", "mcp__fs__read", "Wall time: 1 seconds\nOutput:\n{}", "unknown"},
		{"an MCP tool of old", "fs__read", "{}", "unknown"},
		{"blocks", "mcp__fs__read", []any{map[string]any{"type": "input_text", "text": "user rejected MCP tool call"}}, "denied"},
		{"Codex's own tool", "update_plan", "Plan updated", ""},
		{"Codex's own tool fails", "view_image", "unable to locate image at `x`", "error"},
		{"no output", "shell", nil, "unknown"},
		{"a number", "shell", 7, "unknown"},
	} {
		run := readAll(t, source([]byte(call("c", tt.tool, `{"x":1}`)+told("c", tt.output))))
		want := strings.TrimSpace("c " + tt.tool + " " + tt.want)
		if got := show(t, run, &run.Calls[0]); got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
}

// TestRead_Items is what the item of a call tells; the text before or behind it
// does not matter.
func TestRead_Items(t *testing.T) {
	type m = map[string]any
	for _, tt := range []struct{ name, tool, item, want string }{
		{"failed", "exec_command", item("CommandExecution", "c", "failed", m{"exit_code": 3, "aggregated_output": "x"}), "c exec_command exit 3"},
		{"completed", "exec_command", item("CommandExecution", "c", "completed", m{"exit_code": 0, "stdout": "x"}), "c exec_command exit 0"},
		{"declined", "exec_command", item("CommandExecution", "c", "declined", nil), "c exec_command denied"},
		{"declined, in older words", "exec_command", event("exec_command_end", m{"call_id": "c", "exit_code": -1, "aggregated_output": "exec command rejected by user"}), "c exec_command denied"},
		{"it prints such words", "exec_command", event("exec_command_end", m{"call_id": "c", "exit_code": 1, "aggregated_output": "command rejected"}), "c exec_command exit 1"},
		{"no code", "exec_command", item("CommandExecution", "c", "failed", nil), "c exec_command error"},
		{"no status", "exec_command", item("CommandExecution", "c", "", nil), "c exec_command unknown"},
		{"patch", "exec_command", item("FileChange", "c", "completed", m{"stdout": "Success"}), "c exec_command fine"},
		{"patch fails", "apply_patch", item("FileChange", "c", "failed", m{"stderr": "no"}), "c apply_patch error"},
		{"MCP", "read", item("McpToolCall", "c", "completed", m{"server": "fs", "tool": "read", "result": m{"content": []any{}, "structuredContent": m{"a": 1}}}), "c mcp__fs__read fine"},
		{"MCP says error", "mcp__fs__read", item("McpToolCall", "c", "completed", m{"server": "fs", "tool": "read", "result": m{"isError": true}}), "c mcp__fs__read error"},
		{"MCP fails", "mcp__fs__read", item("McpToolCall", "c", "failed", m{"server": "fs", "tool": "read", "error": m{"message": "gone"}}), "c mcp__fs__read error"},
		{"dynamic", "x", item("DynamicToolCall", "c", "completed", m{"tool": "x", "success": false}), "c x error"},
		{"spawned", "spawn_agent", item("CollabAgentToolCall", "c", "completed", m{"tool": "spawnAgent"}), "c spawn_agent fine delegates"},
		{"not spawned", "spawn_agent", item("CollabAgentToolCall", "c", "failed", m{"tool": "spawnAgent"}), "c spawn_agent error"},
		{"event of a command", "exec_command", event("exec_command_end", m{"call_id": "c", "exit_code": 4, "stdout": "", "aggregated_output": "x"}), "c exec_command exit 4"},
		{"event of a patch", "apply_patch", event("patch_apply_end", m{"call_id": "c", "success": false, "stderr": "no", "stdout": ""}), "c apply_patch error"},
		{"event of a good patch", "apply_patch", event("patch_apply_end", m{"call_id": "c", "success": true, "stderr": "", "stdout": "ok"}), "c apply_patch fine"},
		{"event of an MCP call", "fs__read", event("mcp_tool_call_end", m{"call_id": "c", "invocation": m{"server": "fs", "tool": "read"}, "result": m{"Ok": m{"content": []any{}}}}), "c mcp__fs__read fine"},
		{"event of a bad MCP call", "fs__read", event("mcp_tool_call_end", m{"call_id": "c", "invocation": m{"server": "fs", "tool": "read"}, "result": m{"Ok": m{"content": []any{}, "isError": true}}}), "c mcp__fs__read error"},
		{"event of an MCP call that never came back", "fs__read", event("mcp_tool_call_end", m{"call_id": "c", "invocation": m{"server": "fs", "tool": "read"}, "result": m{"Err": "gone"}}), "c mcp__fs__read error"},
		{"event of a tool of the host", "x", event("dynamic_tool_call_response", m{"call_id": "c", "tool": "x", "success": true}), "c x fine"},
	} {
		text := told("c", "whatever it says")
		for order, lines := range map[string]string{
			"before the text": call("c", tt.tool, "{}") + tt.item + text,
			"behind the text": call("c", tt.tool, "{}") + text + message("assistant", "done") + tt.item,
			"twice":           call("c", tt.tool, "{}") + tt.item + text + tt.item,
		} {
			run := readAll(t, source([]byte(lines)))
			if got := strings.Join(shown(t, run), "; "); got != tt.want {
				t.Errorf("%s, %s: %q, want %q", tt.name, order, got, tt.want)
			}
		}
	}
}

func TestRead_ItemsWithoutCalls(t *testing.T) {
	type m = map[string]any
	run := readAll(t, source([]byte(
		item("CommandExecution", "a", "completed", m{"command": []any{"bash", "-lc", "ls"}, "exit_code": 0, "aggregated_output": "x"})+
			item("CommandExecution", "b", "completed", m{"source": "user_shell", "exit_code": 0})+
			item("McpToolCall", "c", "failed", m{"server": "fs", "tool": "read", "arguments": m{"p": 1}})+
			event("patch_apply_end", m{"call_id": "d", "success": true, "changes": m{"x": m{}}})+
			item("CommandExecution", "e", "inProgress", nil)+
			item("AgentMessage", "f", "", nil)+
			told("g", "Process exited with code 1\n"))))
	want := []string{"a exec_command exit 0", "c mcp__fs__read error", "d apply_patch fine", "e exec_command open", "g  exit 1 alone"}
	if got := shown(t, run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := body(t, run, run.Calls[1].Args); got != `{"p":1}` {
		t.Errorf("arguments %s", got)
	}
	if got := body(t, run, run.Calls[2].Args); !strings.Contains(got, `"changes":{"x":{}}`) {
		t.Errorf("arguments %s", got)
	}
	if len(run.Gaps) != 1 || run.Gaps[0].Pos.Line != 7 {
		t.Errorf("gaps %v", run.Gaps)
	}
}

func TestRead_Processes(t *testing.T) {
	start := call("run", "exec_command", `{"cmd":"make"}`) + told("run", "Process running with session ID 5\nOutput:\none")
	look := func(id, said string) string {
		return call(id, "write_stdin", `{"session_id":5}`) + told(id, said)
	}
	still := "Process running with session ID 5\nOutput:\n"
	over := item("CommandExecution", "run", "failed", map[string]any{"exit_code": 2})
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"never ends", start + look("l1", still), []string{"run exec_command running", "l1 write_stdin running"}},
		{"a look ends it", start + look("l1", still) + look("l2", "Process exited with code 1\nOutput:\ntwo"), []string{"run exec_command exit 1", "l1 write_stdin fine", "l2 write_stdin fine"}},
		{"its item ends it", start + look("l1", still) + over, []string{"run exec_command exit 2", "l1 write_stdin fine"}},
		{"the item outranks the look", start + look("l1", "Process exited with code 0\n") + over, []string{"run exec_command exit 2", "l1 write_stdin fine"}},
		{"the item came first", start + over + look("l1", "Process exited with code 0\n"), []string{"run exec_command exit 2", "l1 write_stdin exit 0"}},
		{"the look fails", start + look("l1", "write_stdin failed: Unknown process id 5"), []string{"run exec_command running", "l1 write_stdin error"}},
		{"of a part that is not there", look("l1", "Process exited with code 3\n"), []string{"l1 write_stdin exit 3"}},
		{"number as text", start + call("l1", "write_stdin", `{"session_id":"5"}`) + told("l1", "Process exited with code 0\n"), []string{"run exec_command exit 0", "l1 write_stdin fine"}},
	} {
		run := readAll(t, source([]byte(tt.text)))
		if got := shown(t, run); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	run := readAll(t, source([]byte(start+look("l1", "Process exited with code 1\nOutput:\ntwo"))))
	if c := run.Calls[0]; c.ResultPos.Line != 4 || !strings.Contains(body(t, run, c.Result), "two") {
		t.Errorf("ended on line %d with %s", c.ResultPos.Line, body(t, run, c.Result))
	}
}

// TestRead_Ids pairs calls and ends whose ids are used again, or missing.
func TestRead_Ids(t *testing.T) {
	good, bad := told("a", "Exit code: 0\n"), told("a", "Exit code: 1\n")
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"used again", call("a", "shell", "{}") + bad + call("a", "shell", "{}") + good, []string{"a shell exit 1", "a shell exit 0"}},
		{"a late item between", call("a", "shell", "{}") + told("a", "aborted by user") + item("CommandExecution", "a", "failed", map[string]any{"exit_code": -1}) + call("a", "shell", "{}") + good, []string{"a shell exit -1", "a shell exit 0"}},
		{"repeated while open", call("a", "shell", "{}") + call("a", "shell", "{}") + good, []string{"a shell exit 0"}},
		{"another while open", call("a", "shell", "{}") + call("a", "shell", `{"x":1}`) + good + bad, []string{"a shell exit 1 in batch 1", "a shell exit 0 in batch 1"}},
		{"result repeated", call("a", "shell", "{}") + good + good, []string{"a shell exit 0"}},
		{"two results", call("a", "shell", "{}") + good + bad, []string{"a shell exit 0", "a  exit 1 alone"}},
		{"result first", bad + call("a", "shell", "{}"), []string{"a  exit 1 alone", "a shell open"}},
		{"no id", call("", "shell", "{}") + told("", "Exit code: 0\n"), []string{"fc_x shell open", "  exit 0 alone"}},
		{"no name", call("a", "", "{}"), nil},
		{"arguments that are no JSON", call("a", "shell", `{"command":`) + told("a", "failed to parse function arguments: EOF"), []string{"a shell error"}},
		{"parallel", call("a", "x", "{}") + call("b", "x", "{}") + good + call("c", "x", "{}"), []string{"a x exit 0 in batch 1", "b x open in batch 1", "c x open"}},
	} {
		run := readAll(t, source([]byte(tt.text)))
		if got := shown(t, run); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
	if run := readAll(t, source([]byte(call("a", "", "{}")))); len(run.BadLines) != 1 {
		t.Errorf("a call without a name: bad lines %v", run.BadLines)
	}
	run := readAll(t, source([]byte(call("a", "shell", `{"command":`))))
	if got := body(t, run, run.Calls[0].Args); got != `"{\"command\":"` {
		t.Errorf("arguments %s", got)
	}
}

func TestRead_Hosted(t *testing.T) {
	search := func(status string) string {
		return line("response_item", map[string]any{"type": "web_search_call", "id": "w" + status, "status": status, "action": map[string]any{"query": "x"}})
	}
	run := readAll(t, source([]byte(search("completed")+search("failed")+search("in_progress")+
		line("response_item", map[string]any{"type": "tool_search_call", "call_id": "t", "arguments": map[string]any{"q": 1}})+
		line("response_item", map[string]any{"type": "tool_search_output", "call_id": "t", "status": "completed", "tools": []any{}}))))
	want := []string{
		"wcompleted web_search completed in batch 1", "wfailed web_search error failed in batch 1",
		"win_progress web_search in_progress open in batch 1", "t tool_search in batch 1",
	}
	if got := shown(t, run); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRead_Summary(t *testing.T) {
	started, ask := event("task_started", nil), message("user", "Do it")
	done := func(last any) string { return event("task_complete", map[string]any{"last_agent_message": last}) }
	aborted := event("turn_aborted", map[string]any{"reason": "interrupted"})
	act := call("a", "x", "{}") + told("a", "ok")
	for _, tt := range []struct{ name, text, summary, end string }{
		{"final answer", started + ask + message("assistant", "Looking.") + act + message("assistant", "Done.") + done("Done."), "Done.", "task_complete"},
		{"said in two parts", ask + act + message("assistant", "One.") + message("assistant", "Two."), "One.\n\nTwo.", ""},
		{"ends with a call", ask + message("assistant", "Looking.") + act, "", ""},
		{"only the end has it", started + ask + act + done("Done."), "Done.", "task_complete"},
		{"the end has none", started + ask + act + done(nil), "", "task_complete"},
		{"interrupted", started + ask + message("assistant", "Starting.") + act + message("user", "<turn_aborted>\nx") + aborted, "", "interrupted"},
		{"resumed", started + ask + message("assistant", "One.") + done("One.") + started + ask + message("assistant", "Two.") + done("Two."), "Two.", "task_complete"},
		{"the next turn is not answered", started + ask + message("assistant", "One.") + done("One.") + started + ask, "One.", ""},
		{"a sub-agent reports", ask + act + message("assistant", "One.") + message("user", "<subagent_notification>\n{}"), "One.", ""},
	} {
		run := readAll(t, source([]byte(tt.text)))
		if run.Summary != tt.summary || run.EndReason != tt.end || run.Ended != (tt.end != "") {
			t.Errorf("%s: summary %q, end %q %v", tt.name, run.Summary, run.EndReason, run.Ended)
		}
		if run.NoEndRecords == strings.Contains(tt.text, "task_") {
			t.Errorf("%s: no end records: %v", tt.name, run.NoEndRecords)
		}
	}
}

func TestRead_Prompts(t *testing.T) {
	kinds := func(text string, list ...any) string {
		return line("response_item", map[string]any{
			"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text", "text": text}},
			"internal_chat_message_metadata_passthrough": map[string]any{"content_item_kinds": list},
		})
	}
	for text, want := range map[string]string{
		message("developer", "rules") + message("user", "<environment_context>x") + message("user", "Go"): "Go",
		kinds("Context", "environments.environment_context") + kinds("<b>Go</b>", "user.text"):            "<b>Go</b>",
		message("user", strings.Repeat("é", maxTask)):                                                     strings.Repeat("é", maxTask/2),
		message("user", " "): "",
	} {
		if run := readAll(t, source([]byte(text))); run.Task != want {
			t.Errorf("task %.40q, want %.40q", run.Task, want)
		}
	}
}

func TestRead_Usage(t *testing.T) {
	u := func(in, cached, out int) map[string]any {
		return map[string]any{"input_tokens": in, "cached_input_tokens": cached, "output_tokens": out, "total_tokens": in + out}
	}
	total := func(sum, last map[string]any) string {
		return event("token_count", map[string]any{"info": map[string]any{"total_token_usage": sum, "last_token_usage": last}})
	}
	model := func(name string) string { return line("turn_context", map[string]any{"model": name}) }
	record := func(v any) string { return line("token_usage_record", map[string]any{"usage": v}) }
	meta := func(more map[string]any) string { return line("session_meta", more) }
	for _, tt := range []struct {
		name, text string
		want       []trace.Usage
	}{
		{"totals grow", model("a") + total(u(10, 4, 1), nil) + total(u(10, 4, 1), nil) + total(u(30, 14, 3), nil), []trace.Usage{{Model: "a", Prompt: 16, Cached: 14, Completion: 3, Total: 33}}},
		{"a total begins anew", model("a") + total(u(10, 0, 1), nil) + total(u(5, 0, 1), nil), []trace.Usage{{Model: "a", Prompt: 15, Completion: 2, Total: 17}}},
		{"two models", model("a") + total(u(10, 0, 1), nil) + model("b") + total(u(15, 0, 3), nil), []trace.Usage{{Model: "a", Prompt: 10, Completion: 1, Total: 11}, {Model: "b", Prompt: 5, Completion: 2, Total: 7}}},
		{"a fork", meta(map[string]any{"id": "x", "forked_from_id": "y"}) + total(u(100, 0, 9), u(10, 0, 1)) + total(u(120, 0, 10), nil), []trace.Usage{{Prompt: 30, Completion: 2, Total: 32}}},
		{"records go before totals", record(u(7, 3, 2)) + total(u(100, 0, 9), nil) + record(u(7, 3, 2)), []trace.Usage{{Prompt: 8, Cached: 6, Completion: 4, Total: 18}}},
		{"damage", record(map[string]any{"input_tokens": -1, "output_tokens": 1e15, "cached_input_tokens": "x"}), []trace.Usage{{}}},
		{"no info", event("token_count", map[string]any{"info": nil}), nil},
	} {
		if run := readAll(t, source([]byte(tt.text))); !slices.Equal(run.Usage, tt.want) {
			t.Errorf("%s: %+v, want %+v", tt.name, run.Usage, tt.want)
		}
	}
}

func TestRead_Child(t *testing.T) {
	for text, want := range map[string]bool{
		`{"id":"a","source":"exec"}`:                                    false,
		`{"id":"a","source":{"subagent":{"thread_spawn":{"depth":1}}}}`: true,
		`{"id":"a","source":{"subagent":"review"}}`:                     true,
		`{"id":"a","thread_source":"subagent"}`:                         true,
	} {
		run := readAll(t, source([]byte(`{"type":"session_meta","payload":`+text+"}\n")))
		if run.Child != want || run.ID != "a" {
			t.Errorf("%s: child %v", text, run.Child)
		}
	}
}

// TestRead_Ordinals: numbered lines show what was taken out.
func TestRead_Ordinals(t *testing.T) {
	n := func(list ...string) string {
		var b strings.Builder
		for _, o := range list {
			if o != "" {
				o = `"ordinal":` + o + ","
			}
			b.WriteString("{" + o + `"type":"world_state","payload":{}}` + "\n")
		}
		return b.String()
	}
	for text, gaps := range map[string]int{
		n("0", "1", "2"): 0, n("0", "1", "3"): 1, n("5", "6"): 1, n("0", "", "2"): 0, n("0", "", "1"): 0, n("0", "", "4"): 1,
		n("0", "0", "1"): 0, n("", ""): 0, n("0", "99999999999999999999", "1"): 0, n("0", "-7"): 0,
	} {
		if run := readAll(t, source([]byte(text))); len(run.Gaps) != gaps {
			t.Errorf("%s: gaps %v, want %d", text, run.Gaps, gaps)
		}
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, errors.New("broken") }

func TestRead_UnreadableFile(t *testing.T) {
	for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: 10, ReaderAt: broken{}}) {
		if run != nil || err == nil {
			t.Errorf("got %v, %v", run, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for run, err := range Read(ctx, source([]byte("{}\n"))) {
		if run != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", run, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"calls.jsonl", "bare.jsonl", "document.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(call("a", "write_stdin", `{"session_id":1}`) + told("a", "Process running with session ID 1")))
	f.Fuzz(func(t *testing.T, data []byte) {
		run := readAll(t, source(data))
		last := int64(-1)
		for i := range run.Calls {
			if c := &run.Calls[i]; c.Pos.Offset < last || c.Pos.Line < 1 {
				t.Errorf("call %d stands at %+v, behind one at %d", i, c.Pos, last)
			} else {
				last = c.Pos.Offset
			}
		}
	})
}
