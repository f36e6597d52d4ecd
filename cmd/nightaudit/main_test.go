package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"nightaudit": main})
}

// TestScripts runs the command line as a user would; each script says what it
// shows. UPDATE_SCRIPTS=1 rewrites the expected output in them.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, "<!doctype html><title>Welcome</title>")
			}))
			env.Defer(html.Close)
			scripted, err := startScript(context.Background())
			if err != nil {
				return err
			}
			env.Defer(scripted.close)
			env.Setenv("HTML_URL", html.URL)
			env.Setenv("SCRIPTED_URL", scripted.url)
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("TZ", "UTC")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"make":   makeFile,
			"age":    age,
			"expand": expand,
			"schema": schema,
		},
	})
}

// exits CODE CMD…: runs a command and wants this exit code; stdout and stderr can
// be looked at afterwards as after exec.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if ee := (*exec.ExitError)(nil); errors.As(err, &ee) {
		got = ee.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// expand FILE… OUT: joins files into OUT, with the script's variables filled in.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	var b strings.Builder
	for _, a := range args[:len(args)-1] {
		b.WriteString(os.Expand(ts.ReadFile(a), ts.Getenv))
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[len(args)-1]), []byte(b.String()), 0o600))
}

// schema DB N: writes the schema's number into a database.
func schema(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec("PRAGMA user_version = " + args[1])
	ts.Check(err)
}

// age FILE…: dates files back, so that they count as settled.
func age(ts *testscript.TestScript, _ bool, args []string) {
	old := time.Now().Add(-24 * time.Hour)
	for _, a := range args {
		ts.Check(os.Chtimes(ts.MkAbs(a), old, old))
	}
}

// make KIND FILE: writes what a script cannot hold.
func makeFile(ts *testscript.TestScript, _ bool, args []string) {
	file := ts.MkAbs(args[1])
	call := `{"type": "tool_call", "tool": "a", "ok": true}`
	switch args[0] {
	case "binary":
		ts.Check(os.WriteFile(file, []byte("\x7fELF\x02\x01\x01\x00\x00\xff\xfe\n\x00\x01\x02"), 0o600))
	case "huge-line": // 100 MB on one line, between two calls
		f, err := os.Create(file)
		ts.Check(err)
		block := strings.Repeat("x", 1<<20)
		fmt.Fprintf(f, "%s\n{\"type\": \"tool_call\", \"tool\": \"big\", \"ok\": true, \"result\": \"", call)
		for range 100 {
			_, err := f.WriteString(block)
			ts.Check(err)
		}
		fmt.Fprintf(f, "\"}\n%s\n", strings.Replace(call, `"a"`, `"b"`, 1))
		ts.Check(f.Close())
	case "half-line":
		ts.Check(os.WriteFile(file, []byte(call+"\n"+call[:20]), 0o600))
	case "crlf":
		ts.Check(os.WriteFile(file, []byte(call+"\r\n"+call+"\r\n"), 0o600))
	case "bom":
		ts.Check(os.WriteFile(file, []byte("\xef\xbb\xbf"+call+"\n"), 0o600))
	case "invalid-utf8":
		ts.Check(os.WriteFile(file, []byte(call+"\n{\"type\": \"tool_call\", \"tool\": \"b\xff\", \"ok\": true}\n"), 0o600))
	case "deep":
		deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
		ts.Check(os.WriteFile(file, []byte(call+"\n{\"type\": \"tool_call\", \"tool\": \"b\", \"result\": "+deep+"}\n"), 0o600))
	case "fifo":
		ts.Check(exec.Command("mkfifo", file).Run())
	default:
		ts.Fatalf("make %s is not known", args[0])
	}
}
