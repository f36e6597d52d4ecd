package detect

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace/geminicli"

	"nightaudit/trace/mcp"
	"nightaudit/trace/messages"
	"nightaudit/trace/openclaw"
	"nightaudit/trace/otlp"
)

// counts is what real files of a format come to where the manifest, which counts
// flags and texts by hand, says something else or nothing.
type counts struct {
	calls, failed, summaries int
}

// realFolders names the folders of real files by format.
var realFolders = map[string]string{
	"gemini-cli":         geminicli.Format,
	"mcp-jsonrpc":        mcp.Format,
	"openai-messages":    messages.Format,
	"openclaw-telemetry": openclaw.Format,
	"otlp":               otlp.Format,
}

// realCounts are the files whose counts are not the manifest's, and why.
var realCounts = map[string]counts{
	// A text that begins like an error, without isError: suspect.
	"mcp-jsonrpc/GEN-server-everything-2026.8.31.jsonl": {calls: 8, failed: 2},
	// Six calls of the main session stand in the messages of its end only.
	"openclaw-telemetry/crux1-sample-telemetry.jsonl": {calls: 7, summaries: 1},
	// The call that was refused has a span too.
	"otlp/GEN-claude-code-2.1.197-otlp-traces.jsonl": {calls: 12, failed: 5},
	// A process that failed late ends the call that started it, too.
	"otlp/GEN-codex-0.171-otlp-logs.jsonl": {calls: 13, failed: 8},
	// What the model asked for and said stands in its answers.
	"otlp/GEN-gemini-cli-0.61-otlp-logs.jsonl":   {calls: 9, failed: 5, summaries: 1},
	"otlp/GEN-gemini-cli-0.61-otlp-traces.jsonl": {calls: 9, failed: 3, summaries: 1},
}

// notRead are the files of a folder that are of no format that is read.
var notRead = map[string]bool{
	"otlp/assay-otel_genai_trace.jsonl": true, // spans of somebody's own form
}

// TestRead_RealFiles reads real files and compares with what was counted in them by
// hand. It wants the folder that NIGHTAUDIT_TRACES names.
func TestRead_RealFiles(t *testing.T) {
	root := os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	manifest, err := os.ReadFile(filepath.Join(root, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	for row := range strings.Lines(string(manifest)) {
		cols := strings.Split(strings.TrimRight(row, "\r\n"), "\t")
		format, ok := realFolders[strings.Split(cols[0], "/")[0]]
		if !ok || notRead[cols[0]] || len(cols) < 8 || cols[5] == "-" {
			continue
		}
		t.Run(cols[0], func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, cols[0]))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Format(t.Context(), source(string(data))); err != nil || got != format {
				t.Fatalf("it is taken for %q, %v", got, err)
			}
			got := count(t, data)
			want, known := realCounts[cols[0]]
			if !known {
				want = fromManifest(cols, got)
			}
			if got != want {
				t.Errorf("calls, failed, summaries: %v, want %v", got, want)
			}
		})
	}
}

// fromManifest is the counts of a row; what it does not say is taken as it is.
func fromManifest(cols []string, got counts) counts {
	want := got
	if n, err := strconv.Atoi(cols[5]); err == nil {
		want.calls = n
	}
	if n, err := strconv.Atoi(cols[6]); err == nil {
		want.failed = n
	}
	switch {
	case cols[7] == "True":
		want.summaries = 1
	case cols[7] == "False":
		want.summaries = 0
	default: // 2/3 runs
		if n, err := strconv.Atoi(strings.Split(cols[7], "/")[0]); err == nil {
			want.summaries = n
		}
	}
	return want
}

// count reads a file, and its beginnings, which must not be a danger to anybody.
func count(t *testing.T, data []byte) counts {
	t.Helper()
	var n counts
	for run, err := range Read(t.Context(), source(string(data))) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range run.Calls {
			c := &run.Calls[i]
			o, err := outcome.Of(run, c)
			if err != nil {
				t.Fatal(err)
			}
			if c.ResultOnly {
				continue
			}
			n.calls++
			switch o.Kind {
			case outcome.Error, outcome.Suspect, outcome.Denied, outcome.Cancelled:
				n.failed++
			case outcome.OK, outcome.Pending, outcome.Unknown:
			}
		}
		if run.Summary != "" {
			n.summaries++
		}
		for _, b := range run.BadLines {
			t.Errorf("line %d: %s", b.Line, b.Reason)
		}
		for _, g := range run.Gaps {
			t.Logf("gap at line %d: %s", g.Pos.Line, g.Reason)
		}
	}
	for k := range 40 {
		cut := source(string(data[:len(data)*k/40]))
		for _, err := range Read(t.Context(), cut) {
			if err != nil {
				t.Fatalf("cut at %d: %v", cut.Size, err)
			}
		}
	}
	return n
}
