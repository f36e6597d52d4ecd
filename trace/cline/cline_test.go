package cline

import (
	"maps"
	"os"
	"slices"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/tracetest"
)

var testdata = os.DirFS("testdata")

func kind(run *trace.Run, c *trace.Call) (string, error) {
	o, err := outcome.Of(run, c)
	return string(o.Kind), err
}

func TestRead_Samples(t *testing.T) {
	for _, tt := range []struct {
		file, task, summary, command string
		calls                        []string
	}{
		{"native.json", "Fix it and deploy", "All tests pass.", "npm test", []string{
			"sh-bad execute_command error 1", "rd-ok read_file ok 1", "rd-bad read_file error 2", "ed-ok apply_diff ok 2", "ed-odd write_to_file unknown 2",
			"sh-ok execute_command ok 3", "sh-run execute_command pending 3", "no execute_command denied 3", "mcp-bad use_mcp_tool error 4", "open browser_action pending 4",
		}},
		{"xml.json", "Fix it", "It is fixed.", "npm test", []string{
			"1 execute_command unknown", "2 write_to_file ok", "3 read_file error", "4 execute_command error 1", "5 execute_command pending 1",
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			run := tracetest.File(t, Read, testdata, tt.file)[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Task != tt.task || run.Summary != tt.summary || !run.NoEndRecords {
				t.Errorf("task %q, summary %q, run %+v", run.Task, run.Summary, run)
			}
			if args, err := run.Value(run.Calls[0].Args); err != nil || args.Get("command").Text() != tt.command {
				t.Errorf("arguments %s, %v", args.Raw(), err)
			}
			if len(run.Gaps)+len(run.BadLines) > 0 {
				t.Errorf("gaps %v, bad lines %v", run.Gaps, run.BadLines)
			}
		})
	}
}

func TestRead_Odd(t *testing.T) {
	const act = `{"role":"assistant","content":"<list_files><path>a</path></list_files>"},`
	for _, tt := range []struct {
		name, text, summary string
		calls               []string
		gaps, bad           int
	}{
		{"a result alone", `{"role":"user","content":[{"type":"text","text":"[list_files for 'a'] Result:\nb"}]}`, "", []string{"list_files ok alone"}, 1, 0},
		{"a heading of two lines", `{"role":"assistant","content":"<execute_command><command>a\nb</command></execute_command>"},{"role":"user","content":"[execute_command for 'a\nb'] Result:\nCommand executed successfully (exit code 0).\nOutput:\nx"}`, "", []string{"1 execute_command ok"}, 0, 0},
		{"nothing behind the heading", act + `{"role":"user","content":[{"type":"text","text":"[list_files for 'a'] Result:"},{"type":"text","text":"<environment_details>"}]}`, "", []string{"1 list_files ok"}, 0, 0},
		{"cut off within a use", `{"role":"assistant","content":"I list.<list_files><path>a</path>"}`, "I list.", nil, 0, 0},
		{"skipped", act + `{"role":"user","content":"[list_files for 'a'] Result:\nSkipping tool [list_files] due to user rejecting a previous tool."}`, "", []string{"1 list_files cancelled"}, 0, 0},
		{"a result once more", `{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"x"}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","is_error":true},{"type":"tool_result","tool_use_id":"c"}]}`, "", []string{"c x error"}, 0, 0},
		{"what the user answers is a prompt", `{"role":"assistant","content":"<attempt_completion><result>One.</result></attempt_completion>"},{"role":"user","content":"[attempt_completion] Result:\n<feedback>\nNo.\n</feedback>"},{"role":"assistant","content":"Two."}`, "Two.", nil, 0, 0},
		{"no name", `{"role":"assistant","content":[{"type":"tool_use","id":"c"}]}`, "", nil, 0, 1},
		{"a message that is none", `7`, "", nil, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := tracetest.Read(t, Read, []byte("["+tt.text+"]"))[0]
			if got := tracetest.Calls(t, run, kind); !slices.Equal(got, tt.calls) {
				t.Errorf("got  %q\nwant %q", got, tt.calls)
			}
			if run.Summary != tt.summary || len(run.Gaps) != tt.gaps || len(run.BadLines) != tt.bad {
				t.Errorf("summary %q, gaps %v, bad lines %v", run.Summary, run.Gaps, run.BadLines)
			}
		})
	}
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		name, text, said string
		tools            []string
		params           map[string]string // of the first
	}{
		{"text", "I <b>think</b>.", "I <b>think</b>.", nil, nil},
		{"a use", "Go.<read_file>\n<path>a</path>\n</read_file>", "Go.", []string{"read_file"}, map[string]string{"path": "a"}},
		{"a content that holds its own tags", "<write_to_file><path>a</path><content>\n</content>\n<path>no</path>\n</content></write_to_file>", "", []string{"write_to_file"}, map[string]string{"path": "a", "content": "</content>\n<path>no</path>"}},
		{"a use while thinking", "<thinking><read_file><path>a</path></read_file></thinking>Well.", "Well.", nil, nil},
		{"a parameter that does not close", "<read_file><x><path>a</path></read_file>", "", []string{"read_file"}, map[string]string{"path": "a"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, uses := parse(tt.text)
			var tools []string
			for _, u := range uses {
				tools = append(tools, u.tool)
			}
			if said != tt.said || !slices.Equal(tools, tt.tools) {
				t.Errorf("said %q, used %q", said, tools)
			}
			if len(uses) > 0 && !maps.Equal(uses[0].params, tt.params) {
				t.Errorf("parameters %q", uses[0].params)
			}
		})
	}
}

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
