package goose

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the reader is given an open database

	"nightaudit/trace"
)

func readAll(t *testing.T, src trace.Source) []*trace.Run {
	t.Helper()
	var runs []*trace.Run
	for run, err := range Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	return runs
}

func file(t *testing.T, name string) trace.Source {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return trace.Source{Name: name, Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

func describe(t *testing.T, run *trace.Run) []string {
	t.Helper()
	var out []string
	for i := range run.Calls {
		c := &run.Calls[i]
		args, err := run.Body(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s error %d status %q ended %v batch %v delegates %v", c.ID, c.Tool, args, c.IsError, c.Status, c.ResultPos.Set(), c.Batch != "", c.Delegates))
	}
	return out
}

var wantCalls = []string{
	`call-1 developer__shell {"command":"make test"} error 1 status "" ended true batch false delegates false`,
	`call-2 developer__text_editor {"command":"write","path":"a.go"} error 2 status "" ended true batch true delegates false`,
	`call-3 (unreadable call)  error 0 status "rejected" ended false batch true delegates false`,
	`call-4 nope {} error 1 status "" ended true batch true delegates false`,
	`call-5 developer__shell {"command":"git push"} error 1 status "" ended true batch false delegates false`,
	`call-6 subagent__execute_task {"task":"look"} error 0 status "" ended false batch false delegates true`,
}

func checkSession(t *testing.T, run *trace.Run) {
	t.Helper()
	if got := describe(t, run); !slices.Equal(got, wantCalls) {
		t.Errorf("got  %q\nwant %q", got, wantCalls)
	}
	if run.ID != "20260115_3" || run.Cwd != "/w" || run.Task != "Fix the tests" || run.Summary != "All done." || run.Model != "m-1" || run.Child || run.Whole() {
		t.Errorf("%+v", run)
	}
	if want := time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC); !run.Started.Equal(want) {
		t.Errorf("started %v", run.Started)
	}
	if want := []trace.Usage{{Model: "m-1", Prompt: 20, Completion: 10, Total: 30}}; !slices.Equal(run.Usage, want) {
		t.Errorf("usage %+v", run.Usage)
	}
}

func TestRead_File(t *testing.T) {
	checkSession(t, readAll(t, file(t, "session.jsonl"))[0])
	export := readAll(t, file(t, "export.json"))[0]
	if got := describe(t, export); !slices.Equal(got, wantCalls[:4]) && len(got) != 4 {
		t.Errorf("%q", got)
	}
	if export.ID != "20260115_3" || export.Calls[0].Pos.Line < 10 {
		t.Errorf("%q line %d", export.ID, export.Calls[0].Pos.Line)
	}
}

// database makes a database of the sessions given as files of lines.
func database(t *testing.T, sessions ...string) trace.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	exec := func(query string, args ...any) {
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, session_type TEXT, working_dir TEXT NOT NULL, created_at TIMESTAMP, updated_at TIMESTAMP,
		total_tokens INTEGER, input_tokens INTEGER, output_tokens INTEGER, model_config_json TEXT)`)
	exec(`CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT, role TEXT NOT NULL, content_json TEXT NOT NULL,
		created_timestamp INTEGER NOT NULL, timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT)`)
	exec(`CREATE TABLE schema_version (version INTEGER)`)
	for _, text := range sessions {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		var h struct {
			ID, Type             string
			WorkingDir           string `json:"working_dir"`
			Created              string `json:"created_at"`
			Total, Input, Output int
			Config               json.RawMessage `json:"model_config"`
		}
		if err := json.Unmarshal([]byte(lines[0]), &h); err != nil {
			t.Fatal(err)
		}
		exec(`INSERT INTO sessions VALUES (?, 'x', ?, ?, ?, ?, 30, 20, 10, ?)`, h.ID, h.Type, h.WorkingDir, h.Created, h.Created, string(h.Config))
		for _, line := range lines[1:] {
			var m struct {
				Role     string
				Created  int64
				Content  json.RawMessage
				Metadata json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				m.Role, m.Content, m.Created = "assistant", json.RawMessage(line), 1768471210
			}
			exec(`INSERT INTO messages (session_id, role, content_json, created_timestamp, metadata_json) VALUES (?, ?, ?, ?, ?)`, h.ID, m.Role, string(m.Content), m.Created, string(m.Metadata))
		}
	}
	return trace.Source{Name: path, ReaderAt: bytes.NewReader(nil), Database: func(context.Context) (*sql.DB, io.Closer, error) { return db, io.NopCloser(nil), nil }}
}

func TestRead_Database(t *testing.T) {
	data, err := os.ReadFile("testdata/session.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	child := `{"id":"20260115_4","type":"sub_agent","working_dir":"/w","created_at":"2026-01-15 10:00:05"}
{"role":"assistant","created":1768471208,"content":[{"type":"text","text":"Looked."}]}`
	src := database(t, child, string(data)+"nonsense\n")
	db, _, _ := src.Database(t.Context())
	if is, err := IsDatabase(t.Context(), db); !is || err != nil {
		t.Errorf("is a database of goose: %v, %v", is, err)
	}
	runs := readAll(t, src)
	if len(runs) != 2 || !runs[1].Child {
		t.Fatalf("%d runs", len(runs))
	}
	if bad := runs[0].BadLines; len(bad) != 1 {
		t.Errorf("bad lines %v", bad)
	}
	runs[0].BadLines = nil
	checkSession(t, runs[0])
	again := readAll(t, src)
	if runs[0].SHA256 == runs[1].SHA256 || runs[0].SHA256 != again[0].SHA256 {
		t.Error("the hash of a run is not that of its rows")
	}
	if _, err := db.Exec(`DROP TABLE messages`); err != nil {
		t.Fatal(err)
	}
	if is, err := IsDatabase(t.Context(), db); is || err != nil {
		t.Errorf("half a database: %v, %v", is, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"session.jsonl", "export.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range run.Calls {
				c := &run.Calls[i]
				for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record} {
					if _, err := run.Value(b); err != nil {
						t.Fatal(err)
					}
				}
				if c.Tool == "" && !c.ResultOnly {
					t.Fatal("a call without a tool")
				}
			}
		}
	})
}
