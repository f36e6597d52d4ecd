package outcome

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nightaudit/trace/native"

	"nightaudit/trace"
)

// fuzzed reads a command and its output as a call; nil where they make no trace.
func fuzzed(t *testing.T, command, output string) (*trace.Run, *trace.Call) {
	t.Helper()
	record, err := json.Marshal(map[string]any{
		"type": "tool_call", "tool": "Bash", "exit_code": 1, "args": map[string]string{"command": command}, "result": output,
	})
	if err != nil {
		t.Fatal(err)
	}
	src := trace.Source{Name: "t", Size: int64(len(record)), ReaderAt: strings.NewReader(string(record))}
	for run, err := range native.Read(t.Context(), src) {
		if err == nil && len(run.Calls) == 1 {
			return run, &run.Calls[0]
		}
	}
	return nil, nil
}

func FuzzCommands(f *testing.F) {
	for _, s := range []string{
		"cd /w && FOO=1 timeout 5 go test ./... 2>&1 | tail -5; echo $?", "bash -lc 'set -euo pipefail; a | b || { c; exit 1; }'",
		"sed -i '' s/a/b/ x && git -C d checkout -- y", "find . -exec rm {} \\; -o -exec a {} +", "cat > f <<'X'\nbody\nX\n", "f() { f; g; }; f",
		"if a; then b; elif c; then d; else e; fi", "for x in $(ls); do a $x; done > out", "case $x in a) b;; esac", "eval \"eval 'a'\"", "xargs -I{} sh -c 'rm {}'",
		"apply_patch <<X\n*** Delete File: a\nX", "cp -t d a b", "npm run test -- --x", "[[ -f x ]] && ((1)) && let x=1", "a |& b &", "> f", "\x00\xff", "sudo", "env -u", "python -W", "exec 3>&1",
		"make -C", "git -C", "bash -c", "coproc a", "time", "! a", "a & b", "{ a; } 2>/dev/null", "docker run x pytest", "mv a", "cp", "sed -i", "perl -pi -e", "declare -x A=$(b)",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, command string) {
		run, c := fuzzed(t, command, "x")
		if run == nil {
			return
		}
		begin := time.Now()
		s, err := Commands(run, c)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > 5*time.Second {
			t.Fatalf("%v", took)
		}
		if !s.Parsed && len(s.Commands) > 0 {
			t.Fatal("commands of what was not parsed")
		}
		for _, cmd := range s.Commands {
			if cmd.Classes == nil || len(cmd.Argv) == 0 && cmd.Text != "" {
				t.Fatalf("%+v", cmd)
			}
		}
		if _, err := Classify(run, c); err != nil {
			t.Fatal(err)
		}
		if _, err := Paths(run, c); err != nil {
			t.Fatal(err)
		}
		if _, err := Of(run, c); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzTests(f *testing.F) {
	for _, s := range []string{
		"=== 3 failed, 38 passed in 2.00s ===", "ok  \tp\t0.1s\nFAIL\tq [build failed]\n--- FAIL: T (0.00s)\n", `{"Action":"fail","Package":"p","Test":"T"}`, "DONE 1 tests, 2 failures in 1s",
		"Ran 3 tests in 0.001s\n\nFAILED (failures=9)", "Tests:       1 failed, 12 total", " Test Files  1 failed (1)\n      Tests  no tests", "  2 passing (1s)\n  1 failing", "ℹ tests 4\nℹ pass 2",
		"test result: FAILED. 8 passed; 2 failed; 1 ignored; 0 measured", "     Summary [ 0.005s] 12 tests run: 11 passed, 1 exec failed", "1..4\nok 1\nnot ok 2 # TODO\nBail out!", "1..99999999999999999999", "1..999999999\n1..999999999\n1..999999999",
		"Files=3, Tests=1, 1\n(Wstat: 2 Tests: 1 Failed: 7)\nResult: FAIL", "Tests run: 1, Failures: 2, Errors: 3, Skipped: 4", "12 tests completed, 1 failed", "1 examples, 5 failures", "0% tests passed, 9 tests failed out of 3",
		"Failed!  - Failed:     2, Passed:    10, Skipped:     0, Total:    12", "Tests: 1, Assertions: 5, Errors: 9.", "Executed 1 test, with 5 failures (0 unexpected)", "\x1b[31m1 failed\x1b[0m in 1s", "\x1b]0;x", "1 fail\nRan 1 tests across 1 file.",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, output string) {
		for _, command := range []string{"make test", "go test ./...", "pytest"} {
			run, c := fuzzed(t, command, output)
			if run == nil {
				return
			}
			s, err := Tests(run, c)
			if err != nil {
				t.Fatal(err)
			}
			if s == nil {
				continue
			}
			if s.Passed < 0 || s.Failed < 0 || s.Errors < 0 || s.Skipped < 0 || s.None && s.Total() > 0 || s.String() == "" || s.Runner == "" {
				t.Fatalf("%+v", s)
			}
		}
	})
}
