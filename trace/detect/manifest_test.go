package detect

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/claudestream"
	"nightaudit/trace/codex"
	"nightaudit/trace/codexexec"
	"nightaudit/trace/geministream"
	"nightaudit/trace/opencode"
)

// folders are those of the real traces, and the format of what lies in them.
var folders = map[string]string{
	"claude-stream-json":     claudestream.Format,
	"codex":                  codex.Format,
	"codex-exec-json":        codexexec.Format,
	"gemini-cli-stream-json": geministream.Format,
	"opencode":               opencode.Format,
	"qwen-stream-json":       claudestream.QwenFormat,
}

// counted is what is counted in a file: its calls, those that failed or never ran,
// and whether there is a summary.
type counted struct {
	calls, failed int
	summary       bool
}

// otherwise is where the manifest counts otherwise than the audit has to.
var otherwise = map[string]struct {
	counted
	why string
}{
	"codex/GEN-0.171-interrupted-then-resumed.jsonl": {
		counted{2, 1, true}, "two calls have one id; the manifest takes the end of the second for both, and the first was interrupted",
	},
	"codex/agentcmd-rollout-2025-09-25T08-02-05-0199812e-64f0-7f73-91fc-095dda01c36e.jsonl": {
		counted{57, 4, true}, "eight of its failures are rg that found nothing, whose exit code 1 is an answer",
	},
	"codex-exec-json/GEN-0.171-interrupted.jsonl": {
		counted{1, 0, false}, "the manifest counts items that were completed; one was started, and what was said before it is no summary",
	},
}

// realFiles returns the rows of the manifest for the folders above. It wants the
// folder that NIGHTAUDIT_TRACES names.
func realFiles(t *testing.T) (root string, rows map[string]counted) {
	t.Helper()
	root = os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	manifest, err := os.ReadFile(filepath.Join(root, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	rows = map[string]counted{}
	for row := range strings.Lines(string(manifest)) {
		cols := strings.Split(strings.TrimSpace(row), "\t")
		if len(cols) < 8 || folders[path.Dir(cols[0])] == "" || path.Ext(cols[0]) == ".db" {
			continue
		}
		rows[cols[0]] = counted{atoi(t, cols[5]), atoi(t, cols[6]), cols[7] == "True"}
	}
	if len(rows) == 0 {
		t.Fatal("the manifest names none of the folders")
	}
	return root, rows
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// readReal reads a real file by its content; it must hold one run.
func readReal(t *testing.T, root, name string) *trace.Run {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	src := source(string(data))
	if got, err := Format(t.Context(), src); err != nil || got != folders[path.Dir(name)] {
		t.Fatalf("it is taken for %q, %v", got, err)
	}
	var runs []*trace.Run
	for run, err := range Read(t.Context(), src) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	if len(runs) != 1 {
		t.Fatalf("%d runs", len(runs))
	}
	return runs[0]
}

func TestManifest(t *testing.T) {
	root, rows := realFiles(t)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Run(name, func(t *testing.T) {
			run := readReal(t, root, name)
			got := counted{summary: run.Summary != ""}
			for i := range run.Calls {
				s := look(t, run, &run.Calls[i])
				if s.alone {
					t.Errorf("a result without its call: %+v", s)
				}
				got.calls++
				if s.kind == outcome.Error || s.kind == outcome.Denied || s.kind == outcome.Cancelled {
					got.failed++
				}
			}
			want := rows[name]
			if other, ok := otherwise[name]; ok {
				want = other.counted
			}
			if got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if len(run.BadLines) > 0 || run.Torn {
				t.Errorf("bad lines %v, torn %v", run.BadLines, run.Torn)
			}
		})
	}
}

// generated is what every call of the generated files came to: the real agents were
// run against a scripted model, so it is known what really happened. Each is id and
// outcome, in the order of the file.
var generated = map[string]string{
	"claude-stream-json/GEN-2.1.197-many-failure-kinds.jsonl": `
		toolu_s001_0 error      a test that exits with 1
		toolu_s002_0 ok
		toolu_s002_1 error      a file that is not there
		toolu_s003_0 error      an edit that does not apply
		toolu_s004_0 ok
		toolu_s005_0 ok
		toolu_s006_0 error      a tool that is not there
		toolu_s007_0 error      bad arguments
		toolu_s008_0 ok         grep without a match
		toolu_s009_0 ok         a failure that a pipe hides
		toolu_s010_0 error      a timeout
		toolu_s011_0 denied
		toolu_s012_0 denied
		toolu_s013_0 ok         a sub-agent, whose failing call is its own
		toolu_s014_0 error`,
	"qwen-stream-json/GEN-0.15.10-many-failure-kinds.jsonl": `
		call_s001_0 unknown     a test that exits with 1, flagged as no error
		call_s002_0 ok
		call_s002_1 error
		call_s003_0 error
		call_s004_0 ok
		call_s005_0 unknown     the same test, which exits with 0
		call_s006_0 error
		call_s007_0 error
		call_s008_0 unknown`,
	"gemini-cli-stream-json/GEN-0.61-many-failure-kinds.jsonl": `
		run_shell_command__run_shell_command_1796073738832_0 unknown
		read_file__read_file_1796073742810_0 ok
		read_file__read_file_1796073742875_1 error
		replace__replace_1796073743457_0 error
		replace__replace_1796073743676_0 ok
		run_shell_command__run_shell_command_1796073743977_0 unknown
		nosuch_tool__nosuch_tool_1796073747117_0 error
		read_file__read_file_1796073747265_0 error
		run_shell_command__run_shell_command_1796073747408_0 unknown`,
	"codex/GEN-0.171-main-many-failure-kinds.jsonl": `
		call_s001_0 error       a test that exits with 1
		call_s002_0 ok
		call_s002_1 error       a file that is not there
		call_s003_0 error       a patch that does not apply: only a text, no item
		call_s004_0 ok
		call_s005_0 ok
		call_s006_0 ok          a failure that a pipe hides
		call_s007_0 error       it runs on, and its item comes behind the next calls
		call_s008_0 ok          a look at it
		call_s009_0 error       a tool that is not there
		call_s010_0 error       arguments that are no JSON
		call_s011_0 error       killed
		call_s012_0 ok`,
	"codex/GEN-0.171-mcp-isError.jsonl": `
		call_s001_0 ok
		call_s002_0 ok
		call_s002_1 error
		call_s003_0 error
		call_s004_0 ok
		call_s005_0 error`,
	"codex/GEN-0.171-readonly-sandbox-rejections.jsonl": `
		call_s001_0 error       the sandbox lets it run, and not write
		call_s002_0 denied
		call_s003_0 denied`,
	"codex/GEN-0.171-interrupted-then-resumed.jsonl": `
		call_s001_0 error       interrupted; what it had done by then, nobody knows
		call_s001_0 ok`,
	"codex/GEN-0.171-fork-of-main.jsonl":   `call_s001_0 ok`,
	"codex/GEN-0.171-subagent-child.jsonl": `call_s003_0 error`,
	"codex/GEN-0.171-subagent-parent.jsonl": `
		call_s001_0 ok
		call_s002_0 ok`,
	"codex-exec-json/GEN-0.171-main-many-failure-kinds.jsonl": `
		item_2 error
		item_4 ok
		item_5 error
		item_6 ok
		item_7 ok
		item_8 ok
		item_9 error            it ran on, and ended before the run did
		item_10 error
		item_11 ok`,
	"codex-exec-json/GEN-0.171-mcp-isError.jsonl": `
		item_2 ok
		item_4 ok
		item_5 error
		item_6 error
		item_7 ok
		item_8 error`,
	"codex-exec-json/GEN-0.171-readonly-sandbox.jsonl": `item_2 error`,
	"codex-exec-json/GEN-0.171-subagent.jsonl": `
		item_2 ok
		item_3 ok`,
	"codex-exec-json/GEN-0.171-interrupted.jsonl": `item_2 pending`,
	"opencode/GEN-1.18.33-export.json": `
		call_s002_0 error       a test that exits with 1, completed
		call_s003_0 ok
		call_s003_1 error
		call_s004_0 error
		call_s005_0 ok
		call_s006_0 ok
		call_s007_0 error       a timeout, completed without an exit code
		call_s008_0 error       a tool that is not there, completed
		call_s009_0 error
		call_s010_0 ok          a failure that a pipe hides`,
	"opencode/GEN-1.18.33-run-format-json.jsonl": `
		call_s002_0 error
		call_s003_1 error
		call_s003_0 ok
		call_s004_0 error
		call_s005_0 ok
		call_s006_0 ok
		call_s007_0 error
		call_s008_0 error
		call_s009_0 error
		call_s010_0 ok`,
}

func TestManifest_Generated(t *testing.T) {
	root, rows := realFiles(t)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if !strings.Contains(name, "/GEN-") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var want []string
			for line := range strings.Lines(generated[name]) {
				if words := strings.Fields(line); len(words) > 1 {
					want = append(want, words[0]+" "+words[1])
				}
			}
			run := readReal(t, root, name)
			var got []string
			for i := range run.Calls {
				s := look(t, run, &run.Calls[i])
				got = append(got, s.id+" "+string(s.kind))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}
