package mcp

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/tracetest"
)

var testdata = os.DirFS("testdata")

func calls(t *testing.T, run *trace.Run) []string {
	t.Helper()
	return tracetest.Calls(t, run, func(run *trace.Run, c *trace.Call) (string, error) {
		o, err := outcome.Of(run, c)
		return string(o.Kind), err
	})
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		file      string
		want      [][]string
		bad, gaps int
		agent     string
	}{
		{"wrapped.jsonl", [][]string{{
			"good read_file ok", "bad write_file error", "wrong nothing error", "stopped slow pending", "odd notify suspect",
		}}, 0, 0, "cl 1"},
		{"bare.jsonl", [][]string{{
			"0 a ok", "0 b error", "1 t error", "2 t error", "3 t ok", "9 ok alone", "11 late suspect",
		}}, 1, 1, ""},
		{"desktop.log", [][]string{{"1 log ok", "1 read error"}, {"1 write pending"}}, 1, 0, "claude-ai 0.1.0"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			runs := tracetest.File(t, Read, testdata, tt.file)
			var got [][]string
			for _, run := range runs {
				got = append(got, calls(t, run))
			}
			if !slices.EqualFunc(got, tt.want, slices.Equal) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			run := runs[0]
			if len(run.BadLines) != tt.bad || len(run.Gaps) != tt.gaps || run.Agent != tt.agent || !run.NoEndRecords {
				t.Errorf("bad lines %v, gaps %v, agent %q", run.BadLines, run.Gaps, run.Agent)
			}
		})
	}
}

func TestRead_Bodies(t *testing.T) {
	run := tracetest.File(t, Read, testdata, "desktop.log")[0]
	c := run.Calls[1]
	if raw, err := run.Body(c.Args); err != nil || string(raw) != `{"path":"Message from server: x"}` || c.Pos.Line != 4 || c.ResultPos.Line != 6 {
		t.Errorf("%s, %v, at %+v", raw, err, c.Pos)
	}
	if c.Start.IsZero() || !run.Started.Equal(c.Start) {
		t.Errorf("started %v, %v", c.Start, run.Started)
	}
	run = tracetest.File(t, Read, testdata, "wrapped.jsonl")[0]
	if raw, err := run.Body(run.Calls[0].Structured); err != nil || string(raw) != `{"content": "alpha"}` {
		t.Errorf("structured %s, %v", raw, err)
	}
	if raw, err := run.Body(run.Calls[2].Error); err != nil || !strings.Contains(string(raw), "no such tool") {
		t.Errorf("error %s, %v", raw, err)
	}
}

// TestRead_Directions pairs the same ids that both sides use.
func TestRead_Directions(t *testing.T) {
	for _, words := range [][2]string{{"client", "server"}, {"c2s", "s2c"}, {"client->server", "server->client"}, {"out", "in"}, {"?", "?"}} {
		var b strings.Builder
		for _, m := range []struct {
			by   int
			text string
		}{
			{0, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}`},
			{1, `{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}`},
			{0, `{"jsonrpc":"2.0","id":1,"result":{"role":"assistant","content":{"type":"text"}}}`},
			{1, `{"jsonrpc":"2.0","id":1,"result":{"content":[],"isError":true}}`},
		} {
			b.WriteString(`{"direction":"` + words[m.by] + `","payload":` + m.text + "}\n")
		}
		run := tracetest.Read(t, Read, []byte(b.String()))[0]
		if got := calls(t, run); !slices.Equal(got, []string{"1 x error"}) || len(run.Gaps) > 0 {
			t.Errorf("%q: %q, gaps %v", words, got, run.Gaps)
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                                       true,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025"}}`:                   true,
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"processId":1}}`:                              false,
		`{"jsonrpc":"2.0","id":1,"method":"textDocument/didOpen"}`:                                             false,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                                 false,
		`{"ts":1,"dir":"client","message":{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}}`: true,
		`{"type":"user","message":{"role":"user"}}`:                                                            false,
	} {
		v, err := trace.ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if IsRecord(v) != want || IsDocument(v) != want {
			t.Errorf("%s: %v, %v", text, IsRecord(v), IsDocument(v))
		}
		list, err := trace.ParseValue([]byte("[" + text + "]"))
		if err != nil || IsDocument(list) != want {
			t.Errorf("list of %s: %v, %v", text, IsDocument(list), err)
		}
	}
	for line, want := range map[string]bool{
		`2025-07-23T04:39:27.191Z [fs] [info] Message from client: {"jsonrpc":"2.0"}`: true,
		`2025-07-23T04:39:27.191Z [fs] [info] Message from client: hello`:             false,
		`Message from nobody: {"jsonrpc":"2.0"}`:                                      false,
		``:                                                                            false,
	} {
		if IsText([]byte(line)) != want {
			t.Errorf("%s: %v", line, !want)
		}
	}
}

func TestRead_Unreadable(t *testing.T) {
	for run, err := range Read(t.Context(), trace.Source{Name: "x", Size: 9, ReaderAt: shut{}}) {
		if run != nil || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v, %v", run, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, text := range []string{"{}", "text"} {
		for run, err := range Read(ctx, tracetest.Source([]byte(text))) {
			if run != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v, %v", text, run, err)
			}
		}
	}
}

type shut struct{}

func (shut) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

func TestRead_CutAnywhere(t *testing.T) { tracetest.CutAnywhere(t, Read, testdata) }

func FuzzRead(f *testing.F) { tracetest.Fuzz(f, Read, testdata) }
