package detect

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead_Unsupported(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"aider", "\n# aider chat started at 2026-11-30 02:00:00\n\n#### fix it\n", "Aider"},
		{"agents, a trace", `{"traces":[{"object":"trace","id":"t","workflow_name":"w","spans":[]}]}`, "Agents SDK"},
		{"agents, spans by the line", `{"object":"trace.span","id":"s","span_data":{"type":"function","name":"f"}}` + "\n", "Agents SDK"},
		{"agents, what is sent", `{"data":[{"object":"trace.span","span_data":{}}]}`, "Agents SDK"},
		{"langsmith by the line", `{"id":"1","run_type":"tool","trace_id":"t","inputs":{},"outputs":{"messages":[{"role":"user","content":"x"}]}}` + "\n", "LangSmith"},
		{"langsmith, a list", `[{"id":"1","run_type":"llm","dotted_order":"x"}]`, "LangSmith"},
		{"magentic", "[\n{\"content\":\"x\",\"role\":\"human\"},\n{\"content\":\"y\",\"role\":\"Orchestrator (thought)\"}]", "Magentic-One"},
		{"python spans", "{\n\"spans\":[{\"name\":\"x\",\"context\":{\"trace_id\":\"1\",\"span_id\":\"2\"},\"start_time\":1,\"attributes\":{}}]}", "Python SDK"},
		{"python spans one behind the other", strings.Repeat("{\n\"name\":\"x\",\"context\":{\"trace_id\":\"1\",\"span_id\":\"2\"},\"start_time\":1,\"attributes\":{}\n}\n", 2), "Python SDK"},
		{"gemini's outfile", strings.Repeat("{\n  \"hrTime\": [1, 2],\n  \"attributes\": {\"event.name\": \"gemini_cli.tool_call\"}\n}\n", 2), "outfile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := 0
			for run, err := range Read(t.Context(), source(tt.text)) {
				n++
				var u *UnsupportedError
				if run != nil || !errors.As(err, &u) || !strings.Contains(u.What, tt.want) || u.Why == "" {
					t.Errorf("got %v, %v", run, err)
				}
			}
			if n != 1 {
				t.Errorf("it is said %d times", n)
			}
		})
	}
}

func TestRead_UnsupportedReal(t *testing.T) {
	root := os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	for _, pattern := range []string{"openai-agents/*.json", "magentic-one/[im]*_*_info*.json", "magentic-one/intent*.json", "otel-python-sdk-json/*.json"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var u *UnsupportedError
			if format, err := Format(t.Context(), source(string(data))); !errors.As(err, &u) {
				t.Errorf("%s: %q, %v", name, format, err)
			}
		}
	}
}

func TestRead_NothingUnderstood(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		gap        bool
	}{
		{"records that nobody knows", `{"what":"is this"}` + "\n", true},
		{"no JSON", "hello\n", true},
		{"a document that nobody knows", "{\n\"a\": 1\n}\n", true},
		{"empty", "", false},
		{"native", `{"type":"tool_call","tool":"x"}` + "\n", false},
		{"native behind what nobody knows", strings.Repeat(`{"type":"new"}`+"\n", 80) + `{"type":"tool_call","tool":"x"}` + "\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for run, err := range Read(t.Context(), source(tt.text)) {
				if err != nil {
					t.Fatal(err)
				}
				if gap := len(run.Gaps) == 1 && strings.HasPrefix(run.Gaps[0].Reason, "no known format: looked for "); gap != tt.gap || len(run.Gaps) > 1 {
					t.Errorf("gaps %v", run.Gaps)
				}
			}
		})
	}
}
