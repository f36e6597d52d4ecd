package outcome

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"nightaudit/trace"
	"nightaudit/trace/native"
)

// first reads text as a native run and returns its first call.
func first(t *testing.T, text string) (*trace.Run, *trace.Call) {
	t.Helper()
	src := trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
	for run, err := range native.Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		if len(run.Calls) == 0 {
			t.Fatalf("no call in %s", text)
		}
		return run, &run.Calls[0]
	}
	return nil, nil
}

// call writes a tool_call of a tool with some fields.
func call(tool, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"type":"tool_call","id":"c1","tool":"` + tool + `"` + fields + `}`
}

type sample struct {
	name, tool, fields string
	kind               Kind
	evidence           Evidence
}

func checkSamples(t *testing.T, samples []sample) {
	t.Helper()
	for _, s := range samples {
		run, c := first(t, call(s.tool, s.fields))
		o, err := Of(run, c)
		if err != nil {
			t.Fatal(err)
		}
		if o.Kind != s.kind || s.evidence != "" && o.Evidence != s.evidence {
			t.Errorf("%s: %s by %s (%s), want %s by %s", s.name, o.Kind, o.Evidence, o.Detail, s.kind, s.evidence)
		}
	}
}

func TestOf_Rule1_Pending(t *testing.T) {
	checkSamples(t, []sample{
		{"nothing ends it", "x", ``, Pending, NoEnd},
		{"status running", "x", `"status":"running"`, Pending, NoEnd},
		{"running although ok", "x", `"ok":true,"status":"running"`, Pending, NoEnd},
		{"timed out", "x", `"ok":false,"error":"timeout","status":"timed_out"`, Pending, NoEnd},
		{"in the background", "Bash", `"result":"started","status":"Background"`, Pending, NoEnd},
		{"a flag that is no boolean", "x", `"ok":"yes"`, Pending, NoEnd},
		{"null everywhere", "x", `"ok":null,"result":null,"error":null`, Pending, NoEnd},
		{"a boolean ends it", "x", `"ok":true`, OK, Flag},
		{"isError ends it", "x", `"isError":false`, OK, Flag},
		{"an exit code ends it", "x", `"exit_code":0`, OK, ExitCode},
		{"a result ends it", "x", `"result":"done"`, OK, Recorded},
		{"an empty result ends it", "x", `"result":""`, OK, Recorded},
		{"a response ends it", "x", `"response":{}`, OK, Recorded},
		{"structured content ends it", "x", `"structuredContent":{}`, OK, Recorded},
		{"status completed", "x", `"ok":true,"status":"completed"`, OK, Flag},
	})
}

func TestOf_Rule1_LateResult(t *testing.T) {
	for text, want := range map[string]Kind{
		`{"type":"tool_result","call_id":"c1","isError":false}`: OK,
		`{"type":"tool_result","call_id":"c1","isError":true}`:  Error,
		`{"type":"tool_result","call_id":"c2","isError":true}`:  Pending,
	} {
		run, c := first(t, call("x", `"status":"running"`)+"\n{\"type\":\"summary\",\"text\":\"done\"}\n"+text)
		if o, err := Of(run, c); err != nil || o.Kind != want {
			t.Errorf("%s: %s, %v, want %s", text, o.Kind, err, want)
		}
	}
}

func TestOf_Rule2_Denied(t *testing.T) {
	checkSamples(t, []sample{
		{"status denied", "x", `"ok":false,"status":"denied"`, Denied, Status},
		{"status in capitals", "x", `"ok":false,"status":"Rejected"`, Denied, Status},
		{"status declined", "x", `"result":"r","status":"declined"`, Denied, Status},
		{"status blocked", "x", `"ok":false,"status":"blocked"`, Denied, Status},
		{"user rejected", "x", `"ok":false,"error":"The user rejected this"`, Denied, Text},
		{"user doesn't want", "x", `"isError":true,"result":"The user doesn't want to proceed"`, Denied, Text},
		{"are not allowed", "x", `"ok":false,"error":"Shell operators are not allowed"`, Denied, Text},
		{"not granted", "x", `"ok":false,"error":"permission has not been granted"`, Denied, Text},
		{"requires approval", "x", `"ok":false,"error":"This command requires approval"`, Denied, Text},
		{"blocked by hook", "x", `"ok":false,"error":"blocked by hook: no"`, Denied, Text},
		{"permission denied is an error", "x", `"ok":false,"error":"open /etc/shadow: permission denied"`, Error, Flag},
		{"an ok call that prints it", "x", `"ok":true,"result":"shell operators are not allowed"`, OK, Flag},
		{"exit 0 and printed", "Bash", `"exit_code":0,"result":"the user rejected it"`, OK, ExitCode},
		{"a call without a flag", "x", `"result":"is not allowed"`, OK, Recorded},
		{"far behind in a long text", "x", `"ok":false,"error":"` + strings.Repeat("x ", 2000) + `is not allowed"`, Error, Flag},
		{"part of a word", "x", `"ok":false,"error":"this not allowed"`, Error, Flag},
	})
}

func TestOf_Rule3_Cancelled(t *testing.T) {
	checkSamples(t, []sample{
		{"status cancelled", "x", `"ok":false,"status":"cancelled"`, Cancelled, Status},
		{"status canceled", "x", `"ok":false,"status":"canceled"`, Cancelled, Status},
		{"status aborted", "x", `"ok":false,"status":"aborted"`, Cancelled, Status},
		{"text", "x", `"ok":false,"error":"Cancelled: parallel call failed"`, Cancelled, Text},
		{"sibling", "x", `"isError":true,"result":"<tool_use_error>Sibling tool call errored</tool_use_error>"`, Cancelled, Text},
		{"interrupted", "x", `"ok":false,"error":"[Request interrupted by user]"`, Cancelled, Text},
		{"not at the beginning", "x", `"ok":false,"error":"job was Cancelled: by the server"`, Error, Flag},
		{"an ok call", "x", `"ok":true,"result":"Cancelled: 3 orders"`, OK, Flag},
	})
}

// TestOf_Wordings holds what known agents write about calls that never ran, and
// what looks like it and is an error.
func TestOf_Wordings(t *testing.T) {
	for text, want := range map[string]Kind{
		"The user doesn't want to proceed with this tool use. The tool use was rejected": Denied,

		"This command requires approval": Denied,

		"This Bash command contains multiple operations. The following part requires approval: rm x":  Denied,
		"Permission to use Bash with command rm x has been denied.":                                   Denied,
		"Claude requested permissions to write to a, but you haven't granted it yet.":                 Denied,
		"Claude requested permissions to use Bash, but this has not been granted":                     Denied,
		"PreToolUse:Bash hook: blocked by hook":                                                       Denied,
		"<tool_use_error>Sibling tool call errored</tool_use_error>":                                  Cancelled,
		"[Request interrupted by user for tool use]":                                                  Cancelled,
		"Cancelled: parallel tool call Bash(make) errored":                                            Cancelled,
		"patch rejected by user":                                                                      Denied,
		"patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings": Denied,
		"approval policy is Never; reject command":                                                    Denied,
		"exec command rejected by user":                                                               Denied,
		"[Operation Cancelled] Reason: User denied execution.":                                        Denied,
		"[Operation Cancelled] Reason: the request was aborted":                                       Cancelled,
		"Tool execution denied by policy.":                                                            Denied,
		"The user rejected permission to use this specific tool call.":                                Denied,
		"The user has specified a rule which prevents you from using this tool":                       Denied,
		"The user has declined to run this tool":                                                      Denied,
		"The user denied this operation.":                                                             Denied,
		"Shell operators (&&) are not allowed":                                                        Denied,
		"aborted by user after 5.6s":                                                                  Error, // it ran until then
		"Permission denied":                                                                           Error,
		"bash: ./x: Permission denied":                                                                Error,
		"Error: EACCES: permission denied, open '/etc/x'":                                             Error,
		"unsupported call: x":                                                                         Error,
		"<tool_use_error>InputValidationError: x</tool_use_error>":                                    Error,
		"Command timed out after 1 seconds":                                                           Error,
	} {
		quoted, _ := json.Marshal(text)
		for _, fields := range []string{`"ok":false,"error":` + string(quoted), `"isError":true,"result":[{"type":"text","text":` + string(quoted) + `}]`} {
			run, c := first(t, call("Bash", fields))
			if o, err := Of(run, c); err != nil || o.Kind != want || o.Ran() != (want == Error) {
				t.Errorf("%s: %+v, %v, want %s", text, o, err, want)
			}
		}
		run, c := first(t, call("Bash", `"ok":true,"result":`+string(quoted)))
		if o, _ := Of(run, c); o.Kind != OK && o.Evidence != Text {
			t.Errorf("%s, of a call that is ok: %+v", text, o)
		}
	}
}

func TestTables_Extended(t *testing.T) {
	tables := DefaultTables()
	tables.Tools["launch"] = ClassShell
	tables.Programs["frob"] = Program{Classes: []Class{ClassTest}, Runner: "pytest", Answers: []int32{3}}
	tables.Wrappers["within"] = Wrapper{Skip: 1}
	tables.DeniedStarts = append(tables.DeniedStarts, "Nope")
	run, c := first(t, call("launch", `"exit_code":3,"args":{"command":"within 5 frob"},"result":"2 passed in 0.1s"`))
	set, err := tables.View(run, c).Classes()
	s, errTests := tables.View(run, c).Tests()
	o, errOf := tables.Of(run, c)
	if err != nil || errTests != nil || errOf != nil || !set[ClassTest] || brief(s) != "2/0/0/0" || o.Kind != OK {
		t.Errorf("%v %v %+v", set, s, o)
	}
	if o, err := Of(run, c); err != nil || o.Kind != Error {
		t.Errorf("the default tables were changed: %+v, %v", o, err)
	}
	run, c = first(t, call("x", `"ok":false,"error":"Nope, not that"`))
	if o, err := tables.Of(run, c); err != nil || o.Kind != Denied {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestOf_Rule4_ExitCode(t *testing.T) {
	checkSamples(t, []sample{
		{"not 0", "Bash", `"exit_code":1`, Error, ExitCode},
		{"negative", "Bash", `"exit_code":-9`, Error, ExitCode},
		{"outranks ok", "Bash", `"ok":true,"exit_code":2`, Error, ExitCode},
		{"0 outranks ok:false", "Bash", `"ok":false,"exit_code":0`, OK, ExitCode},
		{"0 outranks isError", "Bash", `"isError":true,"exit_code":0`, OK, ExitCode},
		{"in the result", "Bash", `"ok":true,"result":{"exit_code":3}`, Error, ExitCode},
		{"exitCode", "Bash", `"result":{"exitCode":3}`, Error, ExitCode},
		{"return_code", "Bash", `"result":{"return_code":3}`, Error, ExitCode},
		{"returncode", "Bash", `"result":{"returncode":3}`, Error, ExitCode},
		{"0 in the result outranks the flag", "Bash", `"ok":false,"result":{"exitCode":0}`, OK, ExitCode},
		{"the record's own goes before", "Bash", `"exit_code":0,"result":{"exit_code":1}`, OK, ExitCode},
		{"beyond 31 bits", "Bash", `"ok":true,"exit_code":3221225477`, Error, ExitCode},
		{"0 modulo 2^32 in the result", "Bash", `"ok":true,"result":{"exit_code":4294967296}`, Error, ExitCode},
		{"text is no code", "Bash", `"ok":true,"exit_code":"1"`, OK, Flag},
		{"a fraction is no code", "Bash", `"ok":true,"result":{"exit_code":1.0}`, OK, Flag},
		{"deeper in the result", "Bash", `"ok":true,"result":{"data":{"exit_code":1}}`, OK, Flag},
		{"grep finds nothing", "Bash", `"ok":false,"exit_code":1,"args":{"command":"grep -rn TODO src"}`, OK, ExitCode},
		{"grep fails", "Bash", `"ok":false,"exit_code":2,"args":{"command":"grep -rn TODO src"}`, Error, ExitCode},
		{"diff in a result", "exec_command", `"result":{"exit_code":1},"args":{"cmd":"diff a b"}`, OK, ExitCode},
		{"one of two has no answer", "Bash", `"exit_code":1,"args":{"command":"grep x f && make"}`, Error, ExitCode},
		{"behind a cd", "Bash", `"exit_code":1,"args":{"command":"cd /w && grep x f"}`, OK, ExitCode},
		{"behind a cd that failed", "Bash", `"exit_code":1,"result":"bash: line 1: cd: /w: No such file or directory","args":{"command":"cd /w && grep x f"}`, Error, ExitCode},
		{"not a shell", "grep_files", `"exit_code":1,"args":{"command":"grep x f"}`, Error, ExitCode},
		{"0, but the body says failure", "x", `"exit_code":0,"result":{"success":false}`, Error, Body},
	})
}

func TestOf_Rule5_Flags(t *testing.T) {
	checkSamples(t, []sample{
		{"ok false", "x", `"ok":false`, Error, Flag},
		{"isError", "x", `"isError":true`, Error, Flag},
		{"is_error", "x", `"is_error":true`, Error, Flag},
		{"ok true, isError true", "x", `"ok":true,"isError":true`, Error, Flag},
		{"no boolean, and a result", "x", `"ok":1,"result":"r"`, Suspect, Flag},
		{"no boolean, and an exit code", "x", `"ok":"no","exit_code":0`, OK, ExitCode},
		{"no boolean beside a boolean", "x", `"ok":1,"isError":false`, OK, Flag},
		{"null is no flag", "x", `"ok":null,"result":"r"`, OK, Recorded},
		{"status with a body", "x", `"ok":true,"result":{"status":404,"body":{}}`, Error, HTTP},
		{"status with headers", "x", `"ok":true,"result":{"status":500,"headers":{}}`, Error, HTTP},
		{"status of an http tool", "WebFetch", `"ok":true,"result":{"status":403}`, Error, HTTP},
		{"response.status", "x", `"ok":true,"result":{"response":{"status":502}}`, Error, HTTP},
		{"the response's own status", "x", `"response":{"status":503}`, Error, HTTP},
		{"status of anything else", "x", `"ok":true,"result":{"status":404}`, OK, Flag},
		{"below 400", "x", `"ok":true,"result":{"status":302,"body":{}}`, OK, Flag},
		{"no HTTP status", "x", `"ok":true,"result":{"status":1404,"body":{}}`, OK, Flag},
		{"no integer", "x", `"ok":true,"result":{"status":"404","body":{}}`, OK, Flag},
		{"status failed", "x", `"result":"r","status":"failed"`, Error, Status},
		{"status error", "x", `"result":"r","status":"Error"`, Error, Status},
		{"status failed, and ok", "x", `"ok":true,"status":"failed"`, Suspect, Status},
		{"status failed, and exit code 0", "x", `"exit_code":0,"status":"failed"`, OK, ExitCode},
		{"error text", "x", `"error":"boom"`, Error, Body},
		{"error object", "x", `"error":{"code":1}`, Error, Body},
		{"error number", "x", `"error":5`, Error, Body},
		{"empty error", "x", `"error":"","result":"r"`, OK, Recorded},
		{"empty error object", "x", `"error":{ },"result":"r"`, OK, Recorded},
		{"error false", "x", `"error":false,"result":"r"`, OK, Recorded},
		{"ok outranks an error text", "x", `"ok":true,"error":"warning: slow"`, OK, Flag},
	})
}

func TestOf_Rule6_Body(t *testing.T) {
	checkSamples(t, []sample{
		{"success false", "x", `"ok":true,"result":{"success":false}`, Error, Body},
		{"ok false", "x", `"ok":true,"result":{"ok":false}`, Error, Body},
		{"isError", "x", `"ok":true,"result":{"isError":true}`, Error, Body},
		{"status failed", "x", `"ok":true,"result":{"status":"Failed"}`, Error, Body},
		{"status denied", "x", `"ok":true,"result":{"status":"denied"}`, Error, Body},
		{"error", "x", `"ok":true,"result":{"error":"boom"}`, Error, Body},
		{"structured content", "x", `"ok":true,"structuredContent":{"success":false}`, Error, Body},
		{"structured content of the result", "x", `"ok":true,"result":{"structuredContent":{"success":false}}`, Error, Body},
		{"body", "x", `"ok":true,"result":{"status":200,"body":{"success":false}}`, Error, Body},
		{"one text block of JSON", "x", `"ok":true,"result":[{"type":"text","text":"{\"success\": false}"}]`, Error, Body},
		{"a string of JSON", "x", `"ok":true,"result":"{\"error\":\"boom\"}"`, Error, Body},
		{"a step that failed", "x", `"ok":true,"result":{"verify":[{"exit_code":0},{"exit_code":1}]}`, Error, Body},
		{"a check that failed", "x", `"ok":true,"result":{"checks":[{"returncode":2}]}`, Error, Body},
		{"steps that passed", "x", `"ok":true,"result":{"steps":[{"exit_code":0},7]}`, OK, Flag},
		{"success true", "x", `"ok":true,"result":{"success":true,"error":null,"status":"done"}`, OK, Flag},
		{"empty errors", "x", `"ok":true,"result":{"error":"  "}`, OK, Flag},
		{"empty error list", "x", `"ok":true,"result":{"error":[ ]}`, OK, Flag},
		{"success is no boolean", "x", `"ok":true,"result":{"success":"false"}`, OK, Flag},
		{"deeper", "x", `"ok":true,"result":{"data":{"success":false}}`, OK, Flag},
		{"two text blocks", "x", `"ok":true,"result":[{"type":"text","text":"{\"success\":false}"},{"type":"text","text":"x"}]`, OK, Flag},
		{"text that is no JSON", "x", `"ok":true,"result":"success: false"`, OK, Flag},
		{"what a read returned", "Read", `"ok":true,"result":"{\"success\":false}"`, OK, Flag},
		{"what a search returned", "Grep", `"ok":true,"result":{"error":"x"}`, OK, Flag},
		{"a shell's output", "Bash", `"ok":true,"result":{"stdout":"{}","error":"x"}`, OK, Flag},
	})
}

func TestOf_Rule7_Text(t *testing.T) {
	checkSamples(t, []sample{
		{"wrapper", "x", `"result":"<tool_use_error>File not read</tool_use_error>"`, Error, Text},
		{"wrapper, flagged ok", "x", `"ok":true,"result":"Unknown tool: foo"`, Error, Text},
		{"wrapper of a read", "Read", `"result":"Error executing tool read"`, Error, Text},
		{"MCP", "mcp__a__b", `"result":"MCP error -32602: bad"`, Error, Text},
		{"parameter", "x", `"result":"missing required parameter 'path'"`, Error, Text},
		{"API", "x", `"result":"API request failed: 500"`, Error, Text},
		{"wrapper's words later", "x", `"ok":true,"result":"log: MCP error"`, OK, Flag},
		{"begins like an error", "x", `"ok":true,"result":"Error: no such file"`, Suspect, Text},
		{"traceback", "x", `"result":"Traceback (most recent call last)"`, Suspect, Text},
		{"begins like a word", "x", `"ok":true,"result":"errors: 0"`, OK, Flag},
		{"not at the beginning", "x", `"ok":true,"result":"no Error: here"`, OK, Flag},
		{"of a shell", "Bash", `"ok":true,"result":"error: grep found nothing"`, OK, Flag},
		{"of a read", "Read", `"ok":true,"result":"panic(err)"`, OK, Flag},
		{"of a search", "Glob", `"ok":true,"result":"error.go"`, OK, Flag},
		{"of an agent", "Task", `"ok":true,"result":"Failed tests are fixed"`, OK, Flag},
		{"of a shell with exit 0", "Bash", `"exit_code":0,"result":"Error: none"`, OK, ExitCode},
		{"of another tool with exit 0", "x", `"exit_code":0,"result":"Error: none"`, Suspect, Text},
	})
}

func TestOf_Rule8_Unknown(t *testing.T) {
	checkSamples(t, []sample{
		{"the format does not tell", "x", `"result":"r","status":"unknown"`, Unknown, None},
		{"but the body does", "x", `"result":{"success":false},"status":"unknown"`, Error, Body},
	})
}

func TestOf_Ran(t *testing.T) {
	for kind, want := range map[Kind]bool{OK: true, Error: true, Suspect: true, Unknown: true, Pending: true, Denied: false, Cancelled: false} {
		if got := (Outcome{Kind: kind}).Ran(); got != want {
			t.Errorf("%s ran: %v", kind, got)
		}
	}
}

func TestOf_DetailsAreShortAndHoldNoSecret(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"
	for pad := range 200 {
		for _, fields := range []string{
			`"ok":false,"error":"` + strings.Repeat("x", pad) + " " + secret + ` and more"`,
			`"ok":true,"result":{"error":"` + strings.Repeat("x", pad) + " " + secret + `"}`,
		} {
			run, c := first(t, call("x", fields))
			o, err := Of(run, c)
			if err != nil || o.Kind != Error {
				t.Fatal(o, err)
			}
			if strings.Contains(o.Detail, "ghp_0") || len([]rune(o.Detail)) > 170 {
				t.Fatalf("padding %d: detail %q", pad, o.Detail)
			}
		}
	}
}

func TestOf_UnreadableBodies(t *testing.T) {
	text := call("x", `"result":{"success":false}`)
	data := []byte(text)
	src := trace.Source{Name: "t", Size: int64(len(data)), ReaderAt: &rewritable{&data}}
	for run, err := range native.Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		data = []byte(strings.Replace(text, "false", "true ", 1))
		if _, err := Of(run, &run.Calls[0]); !errors.Is(err, trace.ErrRewritten) {
			t.Errorf("Of gave %v, want ErrRewritten", err)
		}
	}
}

type rewritable struct{ data *[]byte }

func (r *rewritable) ReadAt(b []byte, off int64) (int, error) {
	return strings.NewReader(string(*r.data)).ReadAt(b, off)
}
