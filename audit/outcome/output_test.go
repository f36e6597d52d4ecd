package outcome

import (
	"strings"
	"testing"
	"unicode/utf8"

	"nightaudit/trace"
	"nightaudit/trace/native"
)

func TestClasses(t *testing.T) {
	for tool, want := range map[string][]Class{
		"Edit": {ClassEdit}, "write_file": {ClassEdit}, "apply_patch": {ClassEdit}, "Read": {ClassRead}, "view": {ClassRead}, "Grep": {ClassSearch}, "LS": {ClassSearch},
		"Bash": {ClassShell}, "exec": {ClassShell}, "run_shell_command": {ClassShell}, "run_tests": {ClassTest}, "RunCtest": {ClassTest},
		"WebFetch": {ClassHTTP}, "http.request": {ClassHTTP}, "Task": {ClassAgent}, "delegate": {ClassAgent}, "spawn_subagent": {ClassAgent},
		"mcp__files__read_file": {ClassMCP, ClassRead}, "mcp__jira__create_issue": {ClassMCP}, "mcp__odd": {ClassMCP},
		"Editor": nil, "bash_history": nil, "config.write": nil, "": nil, "TaskOutput": nil,
	} {
		got := Classes(tool)
		if len(got) != len(want) {
			t.Errorf("%s has classes %v, want %v", tool, got, want)
		}
		for _, c := range want {
			if !got[c] {
				t.Errorf("%s has not the class %s", tool, c)
			}
		}
	}
	if !defaults.Delegates("Task") || defaults.Delegates("Bash") {
		t.Error("Delegates")
	}
}

func TestOutput(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"string", `"result":"a\nb"`, "a\nb"},
		{"blocks", `"result":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]`, "a\nb"},
		{"blocks of other names", `"result":[{"type":"input_text","text":"a"},{"type":"output_text","text":"b"}]`, "a\nb"},
		{"output beside metadata", `"result":{"output":"a\nb","metadata":{"exit_code":0}}`, "a\nb"},
		{"output alone", `"result":{"output":"a"}`, `{"output":"a"}`},
		{"a head is kept where nobody writes one", `"result":"Wall time: 1\nOutput:\nx"`, "Wall time: 1\nOutput:\nx"},
		{"content of an object", `"result":{"content":[{"type":"text","text":"a"}]}`, "a"},
		{"stdout and stderr", `"result":{"stdout":"o","stderr":"e"}`, "o\ne"},
		{"stdout alone", `"result":{"stdout":"o","stderr":""}`, "o"},
		{"stderr alone", `"result":{"stderr":"e"}`, "\ne"},
		{"object", `"result":{ "a" : [1, "x y"] }`, `{"a":[1,"x y"]}`},
		{"list of anything", `"result":[1, {"type":"text"}]`, `[1,{"type":"text"}]`},
		{"number", `"result":12.50`, "12.50"},
		{"error text", `"error":"boom"`, "boom"},
		{"error object", `"error":{"code": 1}`, `{"code":1}`},
		{"result goes before the error", `"result":"r","error":"boom"`, "r"},
		{"nothing", ``, ""},
	} {
		run, call := first(t, call("x", c.fields))
		if got, err := Output(run, call); err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestPayload(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"structured content", call("x", `"structuredContent":{"a":1},"result":{"b":2}`), `{"a":1}`},
		{"structured content in the result", call("x", `"result":{"structuredContent":{"a":1},"content":{"b":2}}`), `{"a":1}`},
		{"structured content that is no object", call("x", `"structuredContent":[1],"result":{"a":1}`), `{"a":1}`},
		{"content that is an object", call("x", `"result":{"content":{"a":1}}`), `{"a":1}`},
		{"one text block", call("x", `"result":[{"type":"text","text":" {\"a\":1} "}]`), `{"a":1}`},
		{"one text block beside an image", call("x", `"result":{"content":[{"type":"image"},{"type":"text","text":"{\"a\":1}"}]}`), `{"a":1}`},
		{"a string", call("x", `"result":"{\"a\":1}"`), `{"a":1}`},
		{"the result itself", call("x", `"result":{"a":1}`), `{"a":1}`},
		{"two text blocks", call("x", `"result":[{"type":"text","text":"{}"},{"type":"text","text":"{}"}]`), ""},
		{"text that is a list", call("x", `"result":"[1]"`), ""},
		{"text that is no JSON", call("x", `"result":"a=1"`), ""},
		{"content beside other fields", call("x", `"result":{"content":[],"a":1}`), ""},
		{"null structured content beside other fields", call("x", `"result":{"structuredContent":null,"a":1}`), ""},
		{"nothing", call("x", ``), ""},
		{"an envelope's response", `{"tool":"x","request":{},"response":{"status":200,"content":{"b":2}}}`, `{"status":200,"content":{"b":2}}`},
		{"a typed call's response", call("x", `"response":{"status":200,"body":{"a":1}}`), `{"status":200,"body":{"a":1}}`},
	} {
		run, call := first(t, c.text)
		if got, err := Payload(run, call); err != nil || string(got.Raw()) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got.Raw(), err, c.want)
		}
	}
}

func FuzzOf(f *testing.F) {
	for _, s := range []string{
		call("x", `"ok":true`), call("Bash", `"exit_code":1,"result":{"stdout":"x"}`), call("mcp__a__b", `"isError":"x","content":[{"type":"text","text":"{\"error\":\"e\"}"}]`),
		`{"tool":"x","response":{"status":500}}`, call("x", `"error":{"a":[]},"status":"failed"`), call("x", `"result":{"verify":[{"exit_code":1}]}`),
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
		for run, err := range native.Read(t.Context(), src) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range run.Calls {
				o, err := Of(run, &run.Calls[i])
				again, errAgain := Of(run, &run.Calls[i])
				if err != nil || errAgain != nil || o != again {
					t.Fatalf("%+v, %v, then %+v, %v", o, err, again, errAgain)
				}
				if o.Kind == "" || o.Evidence == "" || !utf8.ValidString(o.Detail) || (o.Kind == Error) == (o.Kind == OK) && o.Evidence == ExitCode {
					t.Fatalf("%+v", o)
				}
				if o.Evidence == ExitCode && o.Kind != OK && o.ExitCode == 0 {
					t.Fatalf("%+v", o)
				}
				if _, err := Output(run, &run.Calls[i]); err != nil {
					t.Fatal(err)
				}
				if v, err := Payload(run, &run.Calls[i]); err != nil || v.Kind() != trace.KindAbsent && v.Kind() != trace.KindObject {
					t.Fatalf("payload %s, %v", v.Raw(), err)
				}
			}
		}
	})
}
