package detect

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nightaudit/audit/outcome"
	"nightaudit/trace"
	"nightaudit/trace/geminicli"
	"nightaudit/trace/miniswe"
	"nightaudit/trace/openhands"
	"nightaudit/trace/pi"
	"nightaudit/trace/qwen"
	"nightaudit/trace/sweagent"
)

// agentFolders names the folders of real sessions by format.
var agentFolders = map[string]string{
	"gemini-cli":     geminicli.Format,
	"qwen-code":      qwen.Format,
	"swe-agent":      sweagent.Format,
	"mini-swe-agent": miniswe.Format,
	"openhands":      openhands.Format,
	"pi-agent":       pi.Format,
	"claude-like":    qwen.IFlowFormat,
}

// scripted is the outcomes of the one session that was driven through every agent:
// each call's, in order.
var scripted = map[string]string{
	"gemini-cli": "error ok error error ok ok error error ok",
	"pi-agent":   "error ok error error ok ok error error ok",
	"qwen-code":  "error ok error error ok ok error error ok",
}

// recounted is what a real file comes to where the manifest, which counts flags and
// texts by hand, says something else, and why.
var recounted = map[string]struct {
	calls, failed, summaries int
	why                      string
}{
	"openhands/multi_swe_bench-examples-output.jsonl": {103, 41, 2, "edits and reads that say ERROR: are counted too, greps that found nothing are not"},
	"openhands/trajs-basic_gui_mode.json":             {4, 0, 1, "a server that goes on has exit code -1 and has not ended"},
	"mini-swe-agent/github_issue.traj.json":           {10, 2, 1, "the command that hands the work in is a call, and what is said beside it a summary"},
	"mini-swe-agent/local.traj.json":                  {2, 0, 1, "the same"},
	"swe-agent/demo__function_calling_simple.traj":    {5, 0, 1, "what is thought beside the submission is a summary"},
	"swe-agent/demo__ctf__crypto__eps.traj":           {14, 0, 0, "nothing is thought beside the submission"},
}

// TestRead_Agents reads real sessions and compares with what was counted in them by
// hand. It wants the folder that NIGHTAUDIT_TRACES names.
func TestRead_Agents(t *testing.T) {
	root := os.Getenv("NIGHTAUDIT_TRACES")
	if root == "" {
		t.Skip("NIGHTAUDIT_TRACES is not set")
	}
	manifest, err := os.ReadFile(filepath.Join(root, "MANIFEST.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	seenFolders := map[string]bool{}
	for row := range strings.Lines(string(manifest)) {
		cols := strings.Split(strings.TrimRight(row, "\r\n"), "\t")
		folder, name, _ := strings.Cut(cols[0], "/")
		format, ours := agentFolders[folder]
		if !ours {
			continue
		}
		seenFolders[folder] = true
		t.Run(cols[0], func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, cols[0]))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := Format(t.Context(), source(string(data))); err != nil || got != format {
				t.Fatalf("it is taken for %q, %v", got, err)
			}
			r := damaged(t, format, data)
			compare(t, cols, r)
			if want, ok := scripted[folder]; ok && strings.HasPrefix(name, "GEN-") {
				var got []string
				for _, kind := range outcomes(r) {
					got = append(got, string(kind))
				}
				if strings.Join(got, " ") != want {
					t.Errorf("outcomes %s, want %s", strings.Join(got, " "), want)
				}
			}
			for _, run := range r.runs {
				if len(run.BadLines)+len(run.Gaps) > 0 {
					t.Errorf("bad lines %v, gaps %v", run.BadLines, run.Gaps)
				}
			}
		})
	}
	if len(seenFolders) != len(agentFolders) {
		t.Errorf("the manifest has files of %v only", seenFolders)
	}
}

// compare holds a reading to a row of the manifest. What a row does not say is not
// compared.
func compare(t *testing.T, cols []string, r reading) {
	t.Helper()
	calls, failed, summaries := 0, 0, 0
	for _, c := range r.calls {
		if !c.alone {
			calls++
		}
		if slices.Contains([]outcome.Kind{outcome.Error, outcome.Denied, outcome.Cancelled}, c.kind) {
			failed++
		}
	}
	for _, run := range r.runs {
		if run.Summary != "" {
			summaries++
		}
	}
	if want, ok := recounted[cols[0]]; ok {
		if calls != want.calls || failed != want.failed || summaries != want.summaries {
			t.Errorf("calls %d, failed %d, summaries %d, want %+v", calls, failed, summaries, want)
		}
		return
	}
	for _, n := range []struct {
		what, want string
		got        int
	}{{"calls", cols[5], calls}, {"failed calls", cols[6], failed}} {
		if want, err := strconv.Atoi(n.want); err == nil && want != n.got {
			t.Errorf("%d %s, want %d", n.got, n.what, want)
		}
	}
	want := map[string]int{"True": 1, "False": 0}[cols[7]]
	if said, all, ok := strings.Cut(strings.TrimSuffix(cols[7], " runs"), "/"); ok {
		want, _ = strconv.Atoi(said)
		if all != strconv.Itoa(len(r.runs)) {
			t.Errorf("%d runs, want %s", len(r.runs), all)
		}
	}
	if summaries != want {
		t.Errorf("%d summaries, want %d: %q", summaries, want, lastWords(r.runs))
	}
}

func lastWords(runs []*trace.Run) []string {
	var out []string
	for _, run := range runs {
		out = append(out, run.Summary)
	}
	return out
}
