package detect

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"nightaudit/trace"
	"nightaudit/trace/native"
)

// UnsupportedError says of a file that it is known what it is, and why it is not
// read: nothing is made up from what it holds.
type UnsupportedError struct {
	What string // what the file is, with its article
	Why  string
}

func (e *UnsupportedError) Error() string {
	return e.What + ", which is not supported: " + e.Why
}

// unsupported holds the forms that are recognised and not read. Each asks for what
// no format that is read has.
var unsupported = []struct {
	is  func(v trace.Value) bool
	err UnsupportedError
}{
	{isAgentsSDK, UnsupportedError{
		"an export of the OpenAI Agents SDK", "a tool that failed returns a text there like any other, and many spans leave out what was called",
	}},
	{isLangSmith, UnsupportedError{
		"an export of LangSmith", "no reader has been held to real exports of it; the messages of a run, exported as a list, are read",
	}},
	{isMagentic, UnsupportedError{
		"a log of Magentic-One", "it records what the agents told each other, and no calls of tools",
	}},
	{isPythonSpan, UnsupportedError{
		"what the console exporter of OpenTelemetry's Python SDK prints", "it is no OTLP, and its form is not fixed; export OTLP/JSON",
	}},
	{isJavaScriptSignal, UnsupportedError{
		"telemetry that Gemini CLI wrote to its local outfile", "it is objects of the JavaScript SDK and no OTLP; Gemini CLI's session files hold the same calls",
	}},
}

// aider is the mark of Aider's history; it has no calls that could be read.
var aider = UnsupportedError{"Aider's chat history", "it is prose, without a record of what was called and how it ended"}

// refuse returns an UnsupportedError for a value that is of a form that is
// recognised and not read.
func refuse(src trace.Source, v trace.Value) error {
	for _, u := range unsupported {
		if u.is(v) {
			return fmt.Errorf("%s is %w", src.Name, &u.err)
		}
	}
	return nil
}

// refuseText is refuse for a file that is no JSON.
func refuseText(src trace.Source) error {
	head := make([]byte, min(src.Size, 4<<10))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s: %w", src.Name, err)
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")))
	if bytes.HasPrefix(text, []byte("# aider chat started at ")) {
		return fmt.Errorf("%s is %w", src.Name, &aider)
	}
	return nil
}

// maxElements is how many elements of a list are looked at.
const maxElements = 16

// some tells whether one of the first elements of a list is what is asked for.
func some(list trace.Value, is func(trace.Value) bool) bool {
	n := 0
	for e := range list.Elements() {
		if is(e) {
			return true
		}
		if n++; n == maxElements {
			break
		}
	}
	return false
}

// among tells of a value, of the elements of a list, or of those of the lists that
// an object has under these names, whether one is what is asked for.
func among(v trace.Value, is func(trace.Value) bool, names ...string) bool {
	if is(v) || some(v, is) {
		return true
	}
	for _, name := range names {
		if some(v.Get(name), is) {
			return true
		}
	}
	return false
}

func isAgentsSDK(v trace.Value) bool {
	return among(v, func(e trace.Value) bool {
		switch e.Get("object").Text() {
		case "trace":
			return e.Get("workflow_name").Given() || e.Get("spans").Given()
		case "trace.span":
			return e.Get("span_data").Given()
		}
		return false
	}, "traces", "spans", "data")
}

func isLangSmith(v trace.Value) bool {
	return among(v, func(e trace.Value) bool {
		return e.Get("run_type").Kind() == trace.KindString && (e.Get("dotted_order").Given() || e.Get("trace_id").Given() || e.Get("child_runs").Given())
	}, "runs")
}

func isMagentic(v trace.Value) bool {
	return some(v, func(e trace.Value) bool {
		return e.Get("content").Given() && strings.HasPrefix(e.Get("role").Text(), "Orchestrator (")
	})
}

func isPythonSpan(v trace.Value) bool {
	return among(v, func(e trace.Value) bool {
		context := e.Get("context")
		return context.Get("trace_id").Given() && context.Get("span_id").Given() && e.Get("start_time").Given() && e.Get("attributes").Given()
	}, "spans")
}

func isJavaScriptSignal(v trace.Value) bool {
	return v.Get("hrTime").Kind() == trace.KindArray && v.Get("attributes").Given() ||
		v.Get("_spanContext").Kind() == trace.KindObject ||
		v.Get("scopeMetrics").Kind() == trace.KindArray && v.Get("resource").Given()
}

// stated makes a run of which nothing was understood say which formats were looked
// for: what it does not show is then not known, rather than not there.
func stated(run *trace.Run) {
	if run.Records != run.Ignored || run.Records+len(run.BadLines) == 0 {
		return
	}
	run.Gaps = append(slices.DeleteFunc(run.Gaps, func(g trace.Gap) bool { return g.Reason == native.NothingKnown }), trace.Gap{
		Pos: trace.Position{Line: 1}, Reason: "no known format: looked for " + strings.Join(Formats(), ", "),
	})
}
