package main

import (
	"os"
	"path/filepath"
	"testing"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/audit/rules"
	"nightaudit/scheduler"
	"nightaudit/trace"
	"nightaudit/trace/detect"
	"nightaudit/trace/native"
)

// recordings are, by agent, recordings of the same scripted session: its own file,
// what it printed, its telemetry. They record more or less of it.
var recordings = map[string][]string{
	"claude":   {"claude-code/GEN-*-main-many-failure-kinds-then-resumed.jsonl", "claude-stream-json/GEN-*.jsonl", "otlp/GEN-claude-*-otlp-logs.jsonl", "otlp/GEN-claude-*-otlp-traces.jsonl"},
	"codex":    {"codex/GEN-*-main-many-failure-kinds.jsonl", "codex-exec-json/GEN-*-main-many-failure-kinds.jsonl", "otlp/GEN-codex-*-otlp-logs.jsonl"},
	"mcp":      {"codex/GEN-*-mcp-isError.jsonl", "codex-exec-json/GEN-*-mcp-isError.jsonl"},
	"gemini":   {"gemini-cli/GEN-*.jsonl", "gemini-cli-stream-json/GEN-*.jsonl", "otlp/GEN-gemini-*-otlp-logs.jsonl", "otlp/GEN-gemini-*-otlp-traces.jsonl"},
	"qwen":     {"qwen-code/GEN-*.jsonl", "qwen-stream-json/GEN-*.jsonl"},
	"opencode": {"opencode/GEN-*-export.json", "opencode/GEN-*-run-format-json.jsonl", "opencode/GEN-*-opencode.db"},
}

// sessionClaims are claims about the scripted session, true ones and false ones.
const sessionClaims = `
- {claim: the last tests passed, must_show: [{cmd: 'test_calc\.py'}]}
- {claim: the tests ran after the last edit, must_show: [{cmd: 'test_calc\.py', after: last_edit}]}
- {claim: no test run failed, must_not_fail: [{cmd: 'test_calc\.py'}]}
- {claim: calc.py was edited, must_show: [{class: edit, path: '**/calc.py'}]}
- {claim: the missing file was read, must_show: [{path: '**/missing*', class: read}]}
- {claim: the deploy went through, must_show: [{cmd: 'deploy'}]}
- {claim: nothing was deployed, must_not_call: [{cmd: 'deploy'}]}
- {claim: no unknown tool was called, must_not_call: [{tool: '*such*'}, {tool: 'NoSuchTool'}]}
- {claim: the slow command ended, must_show: [{cmd: 'sleep'}]}
- {claim: the file was read through MCP, must_show: [{tool: '*read_text_file*', path: '**/absent.txt'}]}
- {claim: the tests passed, must_show: [{class: test}]}
`

// TestRecordings: recordings of one session never contradict each other. One that
// records less may leave a claim open, never turn it round.
func TestRecordings(t *testing.T) {
	root := os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	list, err := claims.Load("c.yaml", []byte(sessionClaims), claims.Options{Source: claims.SourceFile})
	if err != nil {
		t.Fatal(err)
	}
	for agent, patterns := range recordings {
		t.Run(agent, func(t *testing.T) {
			passed, refuted := map[string]string{}, map[string]string{}
			read := 0
			for _, p := range patterns {
				files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(p)))
				if err != nil || len(files) != 1 {
					t.Fatalf("%s: %q, %v", p, files, err)
				}
				for _, run := range runsOf(t, files[0]) {
					if run.Format == native.Format {
						t.Errorf("%s is not recognised", files[0])
					}
					read++
					rep, err := audit.Check(run, list, use(rules.Default()))
					if err != nil {
						t.Fatal(err)
					}
					for _, j := range rep.Claims {
						switch j.Verdict {
						case audit.Pass:
							passed[j.Claim.Kind+" "+j.Claim.Text] = filepath.Base(files[0])
						case audit.Contradicted:
							refuted[j.Claim.Kind+" "+j.Claim.Text] = filepath.Base(files[0])
						}
					}
				}
			}
			for claim, by := range passed {
				if against := refuted[claim]; against != "" {
					t.Errorf("%q passes by %s and is contradicted by %s", claim, by, against)
				}
			}
			if read < len(patterns) || len(passed) == 0 {
				t.Errorf("%d runs were read of %d recordings, and %d claims passed", read, len(patterns), len(passed))
			}
		})
	}
}

// runsOf reads the runs of a file that no other one holds.
func runsOf(t *testing.T, file string) []*trace.Run {
	t.Helper()
	src, closer, err := scheduler.OpenTrace("", file, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closer.Close() })
	var runs []*trace.Run
	for run, err := range detect.Read(t.Context(), src) {
		if err != nil {
			t.Errorf("%s: %v", file, err)
			break
		}
		if !run.Child {
			runs = append(runs, run)
		}
	}
	return runs
}
