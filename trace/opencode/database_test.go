package opencode

import (
	"bytes"
	"context"
	"database/sql"
	"io"
	"path/filepath"
	"testing"

	_ "modernc.org/sqlite" // the reader is given an open database

	"nightaudit/trace"
)

// TestRead_Database reads sessions from a database: a sub-agent's calls stand behind
// the call that started it, and a row that is no JSON costs itself.
func TestRead_Database(t *testing.T) {
	path := filepath.Join(t.TempDir(), "opencode.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if is, err := IsDatabase(t.Context(), db); is || err != nil {
		t.Errorf("an empty database: %v, %v", is, err)
	}
	for _, query := range []string{
		`CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, directory TEXT, version TEXT, time_created INTEGER)`,
		`CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, data TEXT)`,
		`CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT, data TEXT)`,
		`INSERT INTO session VALUES ('s1', NULL, '/w', '1.18.33', 1768471200000), ('s2', 's1', '/w', '1.18.33', 1768471201000), ('s3', NULL, '/w', '1.18.33', 1768471202000)`,
		`INSERT INTO message VALUES ('m1', 's1', '{"role":"user"}'), ('m2', 's1', '{"role":"assistant","modelID":"m-1","finish":"stop"}'), ('m3', 's2', '{"role":"assistant","finish":"stop"}'), ('m4', 's3', 'nonsense')`,
		`INSERT INTO part VALUES
			('p1', 'm1', 's1', '{"type":"text","text":"Fix it"}'),
			('p2', 'm2', 's1', '{"type":"tool","tool":"task","callID":"c1","state":{"status":"completed","input":{"prompt":"look"},"output":"ok","metadata":{"sessionId":"s2"}}}'),
			('p3', 'm2', 's1', '{"type":"tool","tool":"bash","callID":"c2","state":{"status":"completed","input":{"command":"make test"},"output":"no","metadata":{"exit":1}}}'),
			('p4', 'm2', 's1', '{"type":"text","text":"Done."}'),
			('p5', 'm3', 's2', '{"type":"tool","tool":"bash","callID":"x1","state":{"status":"completed","input":{"command":"ls"},"output":"a","metadata":{"exit":0}}}'),
			('p6', 'm2', 's1', 'nonsense')`,
	} {
		if _, err := db.Exec(query); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := IsDatabase(t.Context(), db); !is || err != nil {
		t.Errorf("is a database of opencode: %v, %v", is, err)
	}
	src := trace.Source{Name: path, ReaderAt: bytes.NewReader(nil), Database: func(context.Context) (*sql.DB, io.Closer, error) { return db, io.NopCloser(nil), nil }}
	var runs []*trace.Run
	for run, err := range Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	if len(runs) != 3 || runs[0].Child || !runs[1].Child || runs[2].Child {
		t.Fatalf("%d runs", len(runs))
	}
	run := runs[0]
	var got string
	for i := range run.Calls {
		c := &run.Calls[i]
		args, err := run.Value(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		got += c.ID.String() + "<" + c.Parent.String() + " " + c.File + " " + args.Get("command").Text() + ";"
	}
	if want := "c1<  ;x1<c1 session s2 ls;c2<  make test;"; got != want {
		t.Errorf("calls %q, want %q", got, want)
	}
	if run.ID != "s1" || run.Cwd != "/w" || run.Task != "Fix it" || run.Summary != "Done." || run.Calls[2].ExitCode != 1 || run.Calls[0].Delegates || len(run.BadLines) != 1 {
		t.Errorf("%+v", run)
	}
	if len(runs[2].BadLines) == 0 && runs[2].Whole() {
		t.Errorf("a message that is no JSON: %+v", runs[2])
	}
}
