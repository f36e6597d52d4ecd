package detect

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nightaudit/trace"
	"nightaudit/trace/claudecode"
	"nightaudit/trace/claudestream"
	"nightaudit/trace/codex"
	"nightaudit/trace/codexexec"
	"nightaudit/trace/geministream"
	"nightaudit/trace/native"
	"nightaudit/trace/opencode"
)

func source(text string) trace.Source {
	return trace.Source{Name: "run.jsonl", Size: int64(len(text)), ReaderAt: bytes.NewReader([]byte(text))}
}

func TestFormat(t *testing.T) {
	const user = `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"go on"}}`
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", native.Format},
		{"nothing readable", "nonsense\n\x00\xff\n", native.Format},
		{"unknown types", `{"type":"zzz"}` + "\n" + `{"a":1}`, native.Format},
		{"native call", `{"type":"tool_call","tool":"x","ok":true}`, native.Format},
		{"native summary", `{"type":"summary","text":"done"}`, native.Format},
		{"native result", `{"type":"tool_result","call_id":"a","content":[]}`, native.Format},
		{"native behind unknown types", `{"type":"note"}` + "\n" + `{"type":"run_start","run":"r"}`, native.Format},
		{"envelope", `{"ts":1,"tool":"create_report","request":{},"response":{"status":201}}`, native.Format},
		{"envelope without a tool", `{"ts":1,"schema_sha256":"00","request":{},"response":null}`, native.Format},
		{"steps", `{"steps":[{"type":"tool_result","call_id":"a"}]}`, native.Format},
		{"steps over lines", "\xef\xbb\xbf{\r\n  \"steps\" :\n [\n" + user + "]}", native.Format},
		{"claude user", user, claudecode.Format},
		{"claude with a byte-order mark", "\xef\xbb\xbf" + user + "\r\n", claudecode.Format},
		{"claude old summary", `{"type":"summary","summary":"Fix","leafUuid":"x"}`, claudecode.Format},
		{"claude snapshot", `{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`, claudecode.Format},
		{"claude queue", `{"type":"queue-operation","operation":"enqueue","sessionId":"s"}`, claudecode.Format},
		{"claude behind many unknown records", strings.Repeat(`{"type":"new-kind"}`+"\n", 63) + user, claudecode.Format},
		{"claude behind too many", strings.Repeat(`{"type":"new-kind"}`+"\n", 64) + user, native.Format},
		{"claude behind bad lines", strings.Repeat("garbage\n", 100) + user, claudecode.Format},
		{"claude without a line end, torn", user + "\n" + `{"type":"ass`, claudecode.Format},
		{"stream-json", `{"type":"system","subtype":"init","session_id":"s","uuid":"u"}`, claudestream.Format},
		{"stream-json of Qwen", `{"type":"system","subtype":"init","session_id":"s","qwen_code_version":"0.15"}`, claudestream.QwenFormat},
		{"stream-json without its head", `{"type":"assistant","session_id":"s","message":{"role":"assistant","content":[]}}`, claudestream.Format},
		{"the result alone", `{"type":"result","subtype":"success","session_id":"s","result":"Done."}`, claudestream.Format},
		{"the result alone, over lines", "{\n\"type\":\"result\",\n\"subtype\":\"success\",\"session_id\":\"s\"}", claudestream.Format},
		{"a list of records", `[{"type":"system","subtype":"init","session_id":"s"}]`, claudestream.Format},
		{"codex", `{"type":"session_meta","payload":{"id":"x"}}`, codex.Format},
		{"codex of old", `{"id":"x","timestamp":"2025-06-01T00:00:00Z","instructions":null}`, codex.Format},
		{"codex document", `{"session":{"id":"x","timestamp":"y"},"items":[]}`, codex.Format},
		{"codex exec", `{"type":"thread.started","thread_id":"x"}`, codexexec.Format},
		{"codex exec without its head", `{"type":"item.completed","item":{"id":"item_0","type":"agent_message","text":"x"}}`, codexexec.Format},
		{"gemini", `{"type":"init","timestamp":"x","session_id":"s","model":"m"}`, geministream.Format},
		{"gemini without its head", `{"type":"tool_use","tool_name":"x","tool_id":"y","parameters":{}}`, geministream.Format},
		{"opencode run", `{"type":"step_start","sessionID":"s","part":{"type":"step-start"}}`, opencode.Format},
		{"opencode export", "{\n  \"info\": {\"id\": \"s\"},\n  \"messages\": []\n}\n", opencode.Format},
		{"opencode export on one line", `{"info":{"id":"s"},"messages":[]}`, opencode.Format},
		{"chat message is neither", `{"type":"user","content":"hello"}`, native.Format},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Format(t.Context(), source(tt.text))
			if err != nil || got != tt.want {
				t.Errorf("got %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

func TestRead(t *testing.T) {
	text := `{"type":"user","sessionId":"s1","uuid":"u","message":{"role":"user","content":"go on"}}`
	for run, err := range Read(t.Context(), source(text)) {
		if err != nil {
			t.Fatal(err)
		}
		if run.Format != claudecode.Format || run.ID != "s1" {
			t.Errorf("format %q, id %q", run.Format, run.ID)
		}
	}
}

type broken struct{}

func (broken) ReadAt([]byte, int64) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestRead_UnreadableFile(t *testing.T) {
	for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: 10, ReaderAt: broken{}}) {
		if run != nil || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("got %v, %v", run, err)
		}
	}
}

func TestNamed(t *testing.T) {
	names := Formats()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("formats %q are not sorted, or one stands twice", names)
	}
	for _, f := range names {
		if r, ok := Named(f); !ok || r == nil {
			t.Errorf("no reader named %q", f)
		}
	}
	if _, ok := Named("auto"); ok {
		t.Error(`a reader is named "auto"`)
	}
}

// TestFormat_RealFiles wants the folder that NIGHTAUDIT_TRACES names.
func TestFormat_RealFiles(t *testing.T) {
	root := os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	files, err := filepath.Glob(filepath.Join(root, claudecode.Format, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Format(t.Context(), source(string(data))); err != nil || got != claudecode.Format {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
