package native

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"nightaudit/trace"
)

func TestRead_Documents(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	for _, c := range []struct {
		name, text string
		calls      []string
		bad        []int
		steps      bool
	}{
		{
			"on one line", `{"steps":[{"type":"tool_call","tool":"a"},{"type":"tool_call","tool":"b"}]}`,
			[]string{"line=1 tool=a", "line=1 tool=b"},
			nil, true,
		},
		{
			"over lines", "{\n \"name\": \"x\",\n \"steps\": [\n  {\n   \"type\": \"tool_call\",\n   \"tool\": \"a\"\n  },\n\n  {\"type\": \"tool_call\", \"tool\": \"b\"}\n ]\n}\n",
			[]string{"line=4 tool=a", "line=9 tool=b"},
			nil, true,
		},
		{"CRLF", "{\r\n\"steps\": [\r\n{\"type\":\"tool_call\",\"tool\":\"a\"}\r\n]}\r\n", []string{"line=3 tool=a"}, nil, true},
		{"behind blank lines and a byte-order mark", "\xef\xbb\xbf\n\n{\"steps\":\n[{\"type\":\"tool_call\",\"tool\":\"a\"}]}", []string{"line=4 tool=a"}, nil, true},
		{"the first line is long", "{\"note\":\"" + long + "\",\n\"steps\":[{\"type\":\"tool_call\",\"tool\":\"a\"}]}", []string{"line=2 tool=a"}, nil, true},
		{"junk steps", "{\"steps\":[\n1,\n\"x\",\nnull,\n[],\n{\"type\":\"tool_call\",\"tool\":\"a\"},\n{\"type\":\"tool_call\"}\n]}", []string{"line=6 tool=a"}, []int{2, 3, 4, 5, 7}, true},
		{"a step with a key twice", "{\"steps\":[\n{\"type\":\"tool_call\",\"tool\":\"a\",\"ok\":false,\"ok\":true},\n{\"type\":\"tool_call\",\"tool\":\"b\",\"args\":{\"x\":1,\"x\":2}}]}", []string{`line=3 args={"x":1,"x":2} tool=b`}, []int{2}, true},
		{"steps is no list", "{\"steps\":\n7}", []string{}, []int{2}, true},
		{"steps is empty", `{"steps":[]}`, []string{}, nil, true},
		{"steps twice", "{\"steps\":[],\n\"steps\":[]}", []string{}, []int{1, 2}, false},
		{"a record that has steps is no document", `{"type":"tool_call","tool":"a","steps":[{"type":"tool_call","tool":"b"}]}`, []string{"line=1 tool=a"}, nil, false},
		{"steps of a later record", "{\"type\":\"tool_call\",\"tool\":\"a\"}\n{\"steps\":[{\"type\":\"tool_call\",\"tool\":\"b\"}]}", []string{"line=1 tool=a"}, nil, false},
		{"one record over lines is none", "{\"type\":\"tool_call\",\n\"tool\":\"a\"}\n", []string{}, []int{1, 2}, false},
		{"something behind the document", "{\"steps\":[\n{\"type\":\"tool_call\",\"tool\":\"a\"}\n]}\nx\n", []string{"line=2 tool=a"}, []int{1, 3, 4}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := read(t, c.text)
			got := calls(t, run)
			if !slices.Equal(got, c.calls) || !slices.Equal(badLines(run), c.bad) || run.NoEndRecords != c.steps {
				t.Errorf("calls %q, bad lines %+v, document %v; want %q, %v, %v", got, run.BadLines, run.NoEndRecords, c.calls, c.bad, c.steps)
			}
		})
	}
}

func TestRead_EnvelopeMark(t *testing.T) {
	for text, want := range map[string]bool{
		`{"tool":"a","request":{},"response":{}}`:                               true,
		`{"tool":"a","request":{}}`:                                             true,
		`{"type":"tool_call","tool":"a","response":{}}`:                         true,
		`{"type":"tool_call","tool":"a","result":{"status":500},"response":{}}`: false,
		`{"type":"tool_call","tool":"a","result":{"response":1}}`:               false,
	} {
		if got := read(t, text).Calls[0].Envelope; got != want {
			t.Errorf("%s: envelope %v, want %v", text, got, want)
		}
	}
}

const sample = `{"type":"run_start","run":"r","ts":1}
{"type":"tool_call","id":"c1","tool":"a","args":{"x":"é\"}{"},"ok":true}
{"type":"tool_call","id":"c2","tool":"b"}{"type":"tool_result","call_id":"c2","isError":true}
{"tool":"d","request":{},"response":{"status":200}}
{"type":"summary","text":"done"}
`

// TestRead_CutAnywhere cuts a file at every byte: what was whole before the cut is
// still read.
func TestRead_CutAnywhere(t *testing.T) {
	whole := calls(t, read(t, sample))
	for _, text := range []string{sample, "{\"steps\":[\n" + strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(sample), "}\n", "},\n"), "}{\"type", "},{\"type") + "\n]}"} {
		for n := range len(text) {
			run := read(t, text[:n])
			got := calls(t, run)
			if strings.HasPrefix(text, "{\"steps") {
				continue // a cut document is nothing; that it does not panic is enough
			}
			lines := strings.Count(text[:n], "\n")
			for i, c := range got {
				if i < len(whole) && c != whole[i] && !(strings.HasPrefix(c, `line=3`) && lines < 3) {
					t.Errorf("cut at %d: call %d is %s, want %s", n, i, c, whole[i])
				}
			}
			want := map[int]int{0: 0, 1: 0, 2: 1, 3: 2, 4: 3}[lines]
			if len(got) < want {
				t.Errorf("cut at %d: %d calls, want at least %d", n, len(got), want)
			}
			if torn := n > 0 && text[n-1] != '\n' && !json.Valid([]byte(text[strings.LastIndexByte(text[:n], '\n')+1:n])); run.Torn && !torn {
				t.Errorf("cut at %d: torn, but the last line is whole", n)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte("{\"steps\":[\n1,{\"type\":\"tool_call\",\"tool\":\"a\"}]}"))
	f.Add([]byte("{\"type\":\"tool_result\",\"call_id\":1}\n{\"type\":\"tool_call\",\"tool\":\"a\",\"id\":1.0}\n{\"type\":\"gap\"}\nx"))
	f.Add([]byte("{\"type\":\"usage\",\"prompt\":1}\n{\"type\":\"action\",\"grounds\":[]}\n{\"type\":\"claims\"}\n{\"type\":\"run_end\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		run := read(t, string(data))
		again := read(t, string(data))
		if !slices.Equal(calls(t, run), calls(t, again)) {
			t.Fatal("two readings differ")
		}
		for i, c := range run.Calls {
			if c.Tool == "" && !c.ResultOnly && !c.Envelope {
				t.Fatalf("call %d has no tool", i)
			}
			if c.ResultOnly && !c.ResultPos.Set() {
				t.Fatalf("result %d has no place", i)
			}
			for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Child, c.Record} {
				raw, err := run.Body(b)
				if err != nil || b.Present() && !json.Valid(raw) || b.Present() && !bytes.Equal(raw, data[b.Offset:b.Offset+int64(b.Length)]) {
					t.Fatalf("call %d: body %q, %v", i, raw, err)
				}
			}
			if i > 0 && !run.Calls[i-1].Pos.Before(c.Pos) {
				t.Fatalf("call %d stands before the one it follows", i)
			}
		}
		for _, s := range run.Statements {
			if _, err := run.Body(s.Body); err != nil {
				t.Fatal(err)
			}
		}
		lines := bytes.Count(data, []byte("\n")) + 1
		for i, b := range run.BadLines {
			if b.Line < 1 || b.Line > lines || i > 0 && b.Line < run.BadLines[i-1].Line {
				t.Fatalf("bad lines %+v of %d lines", run.BadLines, lines)
			}
		}
	})
}
