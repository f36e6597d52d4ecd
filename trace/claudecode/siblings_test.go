package claudecode

import (
	"bytes"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"nightaudit/trace"
)

// tree is a folder of files as a trace's Source sees it.
func tree(files map[string]string, name string) trace.Source {
	dir := fstest.MapFS{}
	for file, text := range files {
		dir[file] = &fstest.MapFile{Data: []byte(text)}
	}
	open := func(name string) (trace.Source, io.Closer, error) {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return trace.Source{}, nil, err
		}
		return trace.Source{Name: name, Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}, io.NopCloser(nil), nil
	}
	src, _, err := open(name)
	if err != nil {
		panic(err)
	}
	src.Sibling = open
	src.Siblings = func(pattern string) ([]string, error) {
		matches, err := fs.Glob(dir, pattern)
		slices.Sort(matches)
		return matches, err
	}
	return src
}

const (
	parentStart = `{"type":"user","uuid":"u1","sessionId":"s1","message":{"role":"user","content":"go on"}}
{"type":"assistant","uuid":"u2","parentUuid":"u1","sessionId":"s1","message":{"id":"m1","model":"m","content":[{"type":"tool_use","id":"t1","name":"Agent","input":{"prompt":"find it"}}],"usage":{"input_tokens":1,"output_tokens":2}}}
`
	parentEnd = `{"type":"user","uuid":"u3","parentUuid":"u2","sessionId":"s1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"found"}]},"toolUseResult":{"status":"completed","agentId":"a1","totalToolUseCount":1}}
{"type":"assistant","uuid":"u4","parentUuid":"u3","sessionId":"s1","message":{"id":"m2","model":"m","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"ls"}}]}}
`
	// The sub-agent starts one of its own, whose call fails.
	childText = `{"isSidechain":true,"type":"user","uuid":"c1","sessionId":"s1","agentId":"a1","message":{"role":"user","content":"find it"}}
{"isSidechain":true,"type":"assistant","uuid":"c2","parentUuid":"c1","sessionId":"s1","agentId":"a1","message":{"id":"n1","model":"m","content":[{"type":"tool_use","id":"x1","name":"Agent","input":{"prompt":"look"}}],"usage":{"input_tokens":10,"output_tokens":20}}}
{"isSidechain":true,"type":"user","uuid":"c3","parentUuid":"c2","sessionId":"s1","agentId":"a1","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"x1","content":"no"}]},"toolUseResult":{"status":"completed","totalToolUseCount":1}}
`
	grandchildText = `{"isSidechain":true,"type":"user","uuid":"g1","sessionId":"s1","agentId":"a2","message":{"role":"user","content":"look"}}
{"isSidechain":true,"type":"assistant","uuid":"g2","parentUuid":"g1","sessionId":"s1","agentId":"a2","message":{"id":"o1","model":"m","content":[{"type":"tool_use","id":"y1","name":"Bash","input":{"command":"pytest"}}]}}
{"isSidechain":true,"type":"user","uuid":"g3","parentUuid":"g2","sessionId":"s1","agentId":"a2","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"y1","is_error":true,"content":"Exit code 1"}]},"toolUseResult":"Error: Exit code 1"}
`
)

func readTree(t *testing.T, files map[string]string) *trace.Run {
	t.Helper()
	for run, err := range Read(t.Context(), tree(files, "s1.jsonl")) {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return nil
}

// TestRead_SubAgentFiles joins sub-agents that write files of their own.
func TestRead_SubAgentFiles(t *testing.T) {
	run := readTree(t, map[string]string{
		"s1.jsonl":                         parentStart + parentEnd,
		"s1/subagents/agent-a1.jsonl":      childText,
		"s1/subagents/agent-a2.jsonl":      grandchildText,
		"s1/subagents/agent-a2.meta.json":  `{"toolUseId":"x1","spawnDepth":2}`,
		"s1/subagents/agent-zz.jsonl":      grandchildText,
		"s1/subagents/agent-zz.meta.json":  `{"toolUseId":`,
		"s1/subagents/agent-big.meta.json": strings.Repeat(" ", 2<<20),
	})
	var got []string
	for i := range run.Calls {
		c := &run.Calls[i]
		args, err := run.Body(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.ID.String()+" under "+c.Parent.String()+" in "+c.File+" "+string(args))
	}
	want := []string{
		`t1 under  in  {"prompt":"find it"}`,
		`x1 under t1 in s1/subagents/agent-a1.jsonl {"prompt":"look"}`,
		`y1 under x1 in s1/subagents/agent-a2.jsonl {"command":"pytest"}`,
		`t2 under  in  {"command":"ls"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if !run.Whole() || run.Calls[2].IsError != trace.FlagTrue {
		t.Errorf("whole %v, gaps %v, the last failed: %v", run.Whole(), run.Gaps, run.Calls[2].IsError)
	}
	if want := []trace.Usage{{Model: "m", Prompt: 11, Completion: 22, Total: 33}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
}

// TestRead_SubAgentFiles_Missing: what is not there, not whole or somebody else's is
// no record of the sub-agent.
func TestRead_SubAgentFiles_Missing(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		calls int
		gaps  int
	}{
		{"no file", map[string]string{}, 2, 0},
		{"old layout", map[string]string{"agent-a1.jsonl": childText}, 3, 0},
		{"another agent's", map[string]string{"s1/subagents/agent-b.jsonl": childText}, 2, 0},
		{"a session and no sub-agent", map[string]string{"agent-a1.jsonl": parentStart}, 2, 0},
		{"torn", map[string]string{"agent-a1.jsonl": childText[:len(childText)-40]}, 3, 1},
		{"a bad line", map[string]string{"agent-a1.jsonl": "x\n" + childText}, 3, 1},
		{"it names itself", map[string]string{"s1/subagents/agent-a1.jsonl": childText, "s1/subagents/agent-a1.meta.json": `{"toolUseId":"x1"}`}, 3, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.files["s1.jsonl"] = parentStart + parentEnd
			run := readTree(t, c.files)
			if len(run.Calls) != c.calls || len(run.Gaps) != c.gaps || run.Whole() {
				t.Errorf("%d calls, gaps %v, whole %v", len(run.Calls), run.Gaps, run.Whole())
			}
		})
	}
}
