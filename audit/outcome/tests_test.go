package outcome

import (
	"encoding/json"
	"fmt"
	"testing"
)

// testsOf reads the summary of a call of Bash with a command and its output.
func testsOf(t *testing.T, command, output string) *Summary {
	t.Helper()
	args, _ := json.Marshal(map[string]string{"command": command})
	result, _ := json.Marshal(output)
	run, c := first(t, call("Bash", `"args":`+string(args)+`,"result":`+string(result)))
	s, err := Tests(run, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// brief writes a summary as passed/failed/errors/skipped, ~ for not counted, 0 for
// no tests.
func brief(s *Summary) string {
	if s == nil {
		return "none"
	}
	out := fmt.Sprintf("%d/%d/%d/%d", s.Passed, s.Failed, s.Errors, s.Skipped)
	if !s.Counted {
		out += "~"
	}
	if s.None {
		out += " zero"
	}
	return out
}

type printed struct{ name, command, output, want string }

func checkPrinted(t *testing.T, cases []printed) {
	t.Helper()
	for _, c := range cases {
		if got := brief(testsOf(t, c.command, c.output)); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestTests_Go(t *testing.T) {
	verbose := "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n=== RUN   TestB/x\n    b_test.go:9: got 1\n--- FAIL: TestB (0.01s)\n    --- FAIL: TestB/x (0.00s)\n=== RUN   TestC\n    c_test.go:3: later\n--- SKIP: TestC (0.00s)\nFAIL\nFAIL\texample.com/m/a\t0.004s\nFAIL\n"
	checkPrinted(t, []printed{
		{"plain", "go test ./...", "ok  \texample.com/m/a\t0.004s\nok  \texample.com/m/b\t(cached)\n?   \texample.com/m/c\t[no test files]\n", "0/0/0/0~"},
		{"plain failure", "go test ./...", "--- FAIL: TestB (0.00s)\n    b_test.go:9: got 1, want 2\nFAIL\nFAIL\texample.com/m/a\t0.004s\nok  \texample.com/m/b\t0.002s\nFAIL\n", "0/1/0/0~"},
		{"verbose", "go test -v ./...", verbose, "1/2/0/1"},
		{"build failed", "go test ./...", "# example.com/m/a\na/a.go:3:1: syntax error\nFAIL\texample.com/m/a [build failed]\nok  \texample.com/m/b\t0.002s\nFAIL\n", "0/0/1/0~"},
		{"setup failed", "go test ./...", "FAIL\texample.com/m/a [setup failed]\nFAIL\n", "0/0/1/0~"},
		{"panic", "go test ./...", "panic: boom\n\ngoroutine 7 [running]:\nFAIL\texample.com/m/a\t0.010s\nFAIL\n", "0/0/1/0~"},
		{"no test files", "go test ./...", "?   \texample.com/m\t[no test files]\n?   \texample.com/m/b\t[no test files]\n", "0/0/0/0~ zero"},
		{"no test files, covered", "go test -cover ./...", "\texample.com/m\t\tcoverage: 0.0% of statements\n", "0/0/0/0~ zero"},
		{"nothing to run", "go test -run Nope ./...", "testing: warning: no tests to run\nPASS\nok  \texample.com/m/a\t0.003s [no tests to run]\n", "0/0/0/0~ zero"},
		{"one has tests", "go test -run A ./...", "ok  \texample.com/m/a\t0.003s [no tests to run]\nok  \texample.com/m/b\t0.003s\n", "0/0/0/0~"},
		{"no packages", "go test ./...", "go: warning: \"./...\" matched no packages\nno packages to test\n", "0/0/0/0~ zero"},
		{"skipped only", "go test -v .", "=== RUN   TestC\n--- SKIP: TestC (0.00s)\nPASS\nok  \texample.com/m\t0.002s\n", "0/0/0/1"},
		{"covered", "go test -cover ./...", "ok  \texample.com/m/a\t0.004s\tcoverage: 81.2% of statements\n", "0/0/0/0~"},
		{"coloured", "go test ./...", "\x1b[31m--- FAIL: TestB (0.00s)\x1b[0m\r\nFAIL\texample.com/m/a\t0.004s\r\n", "0/1/0/0~"},
		{"json", "go test -json ./...", `{"Time":"2026-01-02T03:04:05Z","Action":"run","Package":"p","Test":"TestA"}` + "\n" + `{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0}` + "\n" + `{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0}` + "\n" + `{"Action":"output","Package":"p","Output":"FAIL\n"}` + "\n" + `{"Action":"fail","Package":"p","Elapsed":0.1}` + "\n", "1/1/0/0"},
		{"json build failure", "go test -json ./...", `{"ImportPath":"p","Action":"build-fail"}` + "\n" + `{"Action":"fail","Package":"p","Elapsed":0,"FailedBuild":"p"}` + "\n", "0/0/1/0~"},
		{"gotestsum", "gotestsum", "✓  a (4ms)\n\nDONE 12 tests, 1 skipped, 2 failures in 0.532s\n", "9/2/0/1"},
		{"cut off", "go test ./... | tail -1", "FAIL\n", "0/0/1/0~"},
		{"under make", "make test", "go test ./...\n--- FAIL: TestB (0.00s)\nFAIL\tm/a\t0.1s\nFAIL\nmake: *** [Makefile:3: test] Error 1\n", "0/1/0/0~"},
		{"only built", "go test -c", "", "none"},
	})
}

func TestTests_Python(t *testing.T) {
	checkPrinted(t, []printed{
		{"pass", "pytest", "collected 50 items\n\ntests/test_a.py ....\n\n============================== 50 passed in 1.02s ==============================\n", "50/0/0/0"},
		{"quiet", "pytest -q", "....\n4 passed in 0.01s\n", "4/0/0/0"},
		{"fail", "pytest", "FAILED tests/test_a.py::test_b - assert 1 == 2\n========================= 3 failed, 38 passed in 2.00s =========================", "38/3/0/0"},
		{"everything", "pytest", "== 1 failed, 2 passed, 3 skipped, 4 deselected, 1 xfailed, 1 xpassed, 5 warnings, 1 error in 61.50s (0:01:01) ==", "3/1/1/4"},
		{"collection error", "pytest", "ERROR tests/test_m.py\n!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!!\n=============================== 1 error in 0.12s ===============================", "0/0/1/0"},
		{"zero", "pytest", "collected 0 items\n\n============================ no tests ran in 0.00s =============================", "0/0/0/0 zero"},
		{"zero, quiet", "pytest -q -k nope", "no tests ran in 0.00s\n", "0/0/0/0 zero"},
		{"deselected only", "pytest -k nope", "============================ 5 deselected in 0.01s ============================", "0/0/0/0 zero"},
		{"skipped only", "pytest", "============================== 2 skipped in 0.01s ==============================", "0/0/0/2"},
		{"interrupted", "pytest", "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!\n============================== 2 passed in 3.21s ===============================", "2/0/1/0"},
		{"stopped after a failure", "pytest -x", "!!!!!!!!!!!!!!!!!!!!!!!!!! stopping after 1 failures !!!!!!!!!!!!!!!!!!!!!!!!!!!\n========================= 1 failed, 2 passed in 0.10s ==========================", "2/1/0/0"},
		{"coloured", "pytest --color=yes", "\x1b[31m=================== \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m\x1b[31m in 0.10s\x1b[0m\x1b[31m ====================\x1b[0m", "2/1/0/0"},
		{"shown twice", "pytest | tee log; tail -1 log", "=== 3 passed in 0.10s ===\n=== 3 passed in 0.10s ===\n", "3/0/0/0"},
		{"two runs", "pytest a; pytest b", "=== 3 passed in 0.10s ===\n=== 1 failed, 4 passed in 0.30s ===\n", "7/1/0/0"},
		{"old", "py.test", "===== 3 passed in 0.12 seconds =====", "3/0/0/0"},
		{"internal error", "pytest", "INTERNALERROR> Traceback\nINTERNALERROR> x\n", "0/0/1/0"},
		{"words of the tests", "pytest -v", "2 failed attempts in 3s\n=== 1 passed in 0.01s ===", "1/0/0/0"},
		{"no summary", "pytest", "bash: pytest: command not found", "none"},
		{"saved log", "cat pytest.log", "=== 3 failed in 0.10s ===", "none"},
		{"saved log after a run elsewhere", "gh run view --log", "=== 3 failed in 0.10s ===", "none"},
		{"echo", "echo '=== 3 passed in 0.10s ==='", "=== 3 passed in 0.10s ===", "none"},
		{"script", "./ci.sh", "=== 3 passed in 0.10s ===", "3/0/0/0"},
		{"script without tests", "./ci.sh", "done", "none"},
		{"unittest", "python -m unittest", "...\n----------------------------------------------------------------------\nRan 3 tests in 0.001s\n\nOK\n", "3/0/0/0"},
		{"unittest skipped", "python -m unittest", "Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", "1/0/0/2"},
		{"unittest failed", "python -m unittest", "Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=2, skipped=1)\n", "1/1/2/1"},
		{"unittest zero", "python -m unittest", "Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", "0/0/0/0 zero"},
		{"unittest zero, old", "python -m unittest", "Ran 0 tests in 0.000s\n\nOK\n", "0/0/0/0 zero"},
		{"unittest tail", "python -m unittest 2>&1 | tail -1", "FAILED (failures=1)", "0/1/0/0~"},
		{"unittest cut off", "python -m unittest 2>&1 | grep Ran", "Ran 5 tests in 0.001s", "5/0/0/0~"},
		{"django", "python manage.py test", "Found 4 test(s).\nRan 4 tests in 0.120s\n\nFAILED (errors=1)\nDestroying test database for alias 'default'...", "3/0/1/0"},
	})
}

func TestTests_Node(t *testing.T) {
	checkPrinted(t, []printed{
		{"jest", "npx jest", "Test Suites: 2 passed, 2 total\nTests:       120 passed, 120 total\nSnapshots:   0 total\nTime:        1.2 s\n", "120/0/0/0"},
		{"jest fails", "npm test", "Test Suites: 1 failed, 1 passed, 2 total\nTests:       1 failed, 2 skipped, 1 todo, 9 passed, 13 total\n", "9/1/0/3"},
		{"jest suite does not run", "jest", "Test Suites: 1 failed, 1 passed, 2 total\nTests:       4 passed, 4 total\n", "4/0/1/0"},
		{"jest zero", "jest", "No tests found, exiting with code 0\n", "0/0/0/0 zero"},
		{"jest nothing runs", "jest", "Test Suites: 1 failed, 1 total\nTests:       0 total\n", "0/0/1/0"},
		{"jest coloured", "jest", "\x1b[1mTests:       \x1b[22m\x1b[1m\x1b[31m1 failed\x1b[39m\x1b[22m, 1 total\n", "0/1/0/0"},
		{"jest filtered", "jest -t x", "Tests:       9 skipped, 1 passed, 10 total", "1/0/0/9"},
		{"vitest", "npx vitest run", " Test Files  58 passed (58)\n      Tests  612 passed (612)\n     Errors  1 error", "612/0/1/0"},
		{"vitest fails", "vitest run", " Test Files  1 failed | 2 passed (3)\n      Tests  1 failed | 11 passed | 2 skipped (14)\n   Start at  10:00:00\n", "11/1/0/2"},
		{"vitest file does not load", "vitest run", " Test Files  1 failed | 2 passed (3)\n      Tests  11 passed (11)\n", "11/0/1/0"},
		{"vitest zero", "vitest run", "No test files found, exiting with code 1\n", "0/0/0/0 zero"},
		{"vitest no tests", "vitest run", " Test Files  1 failed (1)\n      Tests  no tests\n", "0/0/1/0"},
		{"mocha", "mocha", "  12 passing (34ms)\n  1 pending\n", "12/0/0/1"},
		{"mocha fails", "npx mocha", "  11 passing (1s)\n  2 failing\n\n  1) x\n", "11/2/0/0"},
		{"mocha zero", "mocha", "  0 passing (1ms)\n", "0/0/0/0 zero"},
		{"node spec", "node --test", "ℹ tests 4\nℹ suites 0\nℹ pass 2\nℹ fail 1\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\nℹ duration_ms 40.1\n", "2/1/0/1"},
		{"node tap", "node --test --test-reporter=tap", "TAP version 13\nok 1 - a\nnot ok 2 - b\n1..2\n# tests 2\n# suites 0\n# pass 1\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n", "1/1/0/0"},
		{"node zero", "node --test", "ℹ tests 0\nℹ pass 0\nℹ fail 0\n", "0/0/0/0 zero"},
		{"node under npm", "npm test", "TAP version 13\nok 1 - a\n1..1\n# tests 1\n# pass 1\n# fail 0\n", "1/0/0/0"},
		{"bun", "bun test", "bun test v1.1\n\n 3 pass\n 1 fail\n 4 expect() calls\nRan 4 tests across 1 file. [12.00ms]\n", "3/1/0/0"},
		{"playwright", "npx playwright test", "Running 5 tests using 2 workers\n\n  1 failed\n    [chromium] › a.spec.ts:3:1 › x\n  1 flaky\n  3 passed (4.1s)\n", "4/1/0/0"},
		{"deno", "deno test", "ok | 3 passed | 0 failed (12ms)\n", "3/0/0/0"},
	})
}

func TestTests_Compiled(t *testing.T) {
	checkPrinted(t, []printed{
		{"cargo", "cargo test", "running 1 test\ntest a ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 1800 filtered out; finished in 0.02s\n   Doc-tests x\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n", "1/0/0/0"},
		{"cargo fails", "cargo test", "test result: FAILED. 8 passed; 2 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.10s\nerror: test failed, to rerun pass `--lib`", "8/2/0/1"},
		{"cargo zero", "just test 2>&1 | tail -25", "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s", "0/0/0/0 zero"},
		{"cargo does not compile", "cargo test 2>&1 | tail", "error[E0308]: mismatched types\nerror: could not compile `x` (lib test) due to 1 previous error", "0/0/1/0"},
		{"a build does not compile", "just build", "error: could not compile `x` (lib) due to 1 previous error", "none"},
		{"tests do not compile", "just test", "error: could not compile `x` (lib test) due to 1 previous error", "0/0/1/0"},
		{"a script counts", "./deploy.sh", "1..5\n  1 failed\n  2 pending\n# fail 3\nok\n", "none"},
		{"cargo network", "cargo test", "error: failed to download `serde v1.0.1`", "none"},
		{"nextest", "cargo nextest run", "     Summary [   0.005s] 12 tests run: 11 passed (1 slow), 1 failed, 2 skipped\n", "11/1/0/2"},
		{"nextest time out", "cargo nextest run", "     Summary [   9.005s] 3 tests run: 2 passed, 1 timed out, 0 skipped\n", "2/1/0/0"},
		{"nextest zero", "cargo nextest run x", "     Summary [   0.000s] 0 tests run: 0 passed, 1800 skipped\nerror: no tests to run\n", "0/0/0/0 zero"},
		{"tap", "bats t", "1..4\nok 1 a\nnot ok 2 b\nok 3 c # skip no net\nnot ok 4 d # TODO later\n", "1/1/0/2"},
		{"tap breaks off", "bats t", "1..4\nok 1 a\nok 2 b\n", "2/0/2/0"},
		{"tap bails out", "bats t", "1..4\nok 1 a\nBail out! no database\n", "1/0/1/0"},
		{"tap without numbers", "prove -v", "TAP version 14\n1..2\nok - a\nnot ok - b\n", "1/1/0/0"},
		{"tap zero", "bats t", "1..0 # SKIP nothing\n", "0/0/0/0 zero"},
		{"prove", "prove -r t", "t/a.t .. ok\nAll tests successful.\nFiles=3, Tests=12,  1 wallclock secs ( 0.01 usr )\nResult: PASS\n", "12/0/0/0"},
		{"prove fails", "prove -r t", "t/a.t (Wstat: 512 (exited 2) Tests: 12 Failed: 2)\n  Failed tests:  3, 5\nFiles=1, Tests=12,  1 wallclock secs\nResult: FAIL\n", "10/2/0/0"},
		{"ctest", "ctest -R util_test", "100% tests passed, 0 tests failed out of 1", "1/0/0/0"},
		{"ctest fails", "ctest", "67% tests passed, 1 tests failed out of 3\n\nErrors while running CTest", "2/1/0/0"},
		{"ctest zero", "ctest", "No tests were found!!!", "0/0/0/0 zero"},
		{"swift", "swift test", "Test Suite 'All tests' passed at 2026\n\t Executed 3 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n\t Executed 3 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\n", "2/1/0/0"},
		{"swift zero", "swift test --filter X", "error: no matching test cases found", "0/0/0/0 zero"},
	})
}

func TestTests_Managed(t *testing.T) {
	checkPrinted(t, []printed{
		{"maven", "mvn -q test", "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s -- in a.B\n[INFO] Results:\n[INFO] \n[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] BUILD SUCCESS\n", "5/0/0/0"},
		{"maven fails", "./mvnw verify", "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1, Time elapsed: 0.1 s <<< FAILURE! -- in a.B\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n[INFO] BUILD FAILURE\n", "2/1/1/1"},
		{"maven modules", "mvn test", "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0\n[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 1\n", "7/0/0/1"},
		{"maven coloured", "mvn test", "[\x1b[1;34mINFO\x1b[m] \x1b[1;32mTests run: \x1b[0;1;32m5\x1b[m, Failures: 0, Errors: 0, Skipped: 0\n", "5/0/0/0"},
		{"maven zero", "mvn test", "[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n", "0/0/0/0 zero"},
		{"by class only", "mvn test | grep 'Time elapsed'", "[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s - in a.B\n", "5/0/0/0"},
		{"gradle", "./gradlew test", "> Task :compileJava UP-TO-DATE\n> Task :test\n\nBUILD SUCCESSFUL in 3s\n", "0/0/0/0~"},
		{"gradle fails", "gradle test", "> Task :test FAILED\n\n12 tests completed, 1 failed, 2 skipped\n\n* What went wrong:\n> There were failing tests. See the report at: x\n\nBUILD FAILED in 3s\n", "9/1/0/2"},
		{"gradle zero", "gradle test", "> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n", "0/0/0/0~ zero"},
		{"gradle cut off", "gradle test", "> Task :test\n", "none"},
		{"junit console", "./run_tests.sh", "[         3 tests successful      ]\n[         1 tests failed          ]\n[         0 tests skipped         ]\n", "3/1/0/0"},
		{"rspec", "bundle exec rspec", "Finished in 0.1 seconds\n12 examples, 1 failure, 2 pending\n", "9/1/0/2"},
		{"rspec does not load", "rspec", "0 examples, 0 failures, 1 error occurred outside of examples\n", "0/0/1/0"},
		{"rspec zero", "rspec", "No examples found.\n\n0 examples, 0 failures\n", "0/0/0/0 zero"},
		{"minitest", "bin/rails test", "12 runs, 30 assertions, 1 failures, 1 errors, 2 skips\n", "8/1/1/2"},
		{"dotnet", "dotnet test", "Passed!  - Failed:     0, Passed:    12, Skipped:     1, Total:    13, Duration: 30 ms - X.dll (net8.0)\n", "12/0/0/1"},
		{"dotnet fails", "dotnet test", "Failed!  - Failed:     2, Passed:    10, Skipped:     0, Total:    12, Duration: 30 ms - X.dll (net8.0)\nPassed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 1 ms - Y.dll\n", "13/2/0/0"},
		{"dotnet 9", "dotnet test", "Test summary: total: 12, failed: 1, succeeded: 10, skipped: 1, duration: 1.2s\nBuild failed with 1 error(s) in 2s\n", "10/1/0/1"},
		{"dotnet old", "dotnet test", "Total tests: 12\n     Passed: 11\n     Failed: 1\n Total time: 1.2 Seconds\n", "11/1/0/0"},
		{"dotnet zero", "dotnet test", "No test is available in /w/x.dll. Make sure that test discoverer", "0/0/0/0 zero"},
		{"phpunit", "vendor/bin/phpunit", "OK (3 tests, 5 assertions)\n", "3/0/0/0"},
		{"phpunit fails", "phpunit", "FAILURES!\nTests: 6, Assertions: 5, Errors: 1, Failures: 1, Skipped: 1.\n", "3/1/1/1"},
		{"phpunit skipped", "phpunit", "OK, but incomplete, skipped, or risky tests!\nTests: 3, Assertions: 5, Skipped: 3.\n", "0/0/0/3"},
		{"phpunit zero", "phpunit", "No tests executed!\n", "0/0/0/0 zero"},
		{"pest", "vendor/bin/pest", "  Tests:    1 failed, 12 passed (30 assertions)\n  Duration: 0.5s\n", "12/1/0/0"},
		{"mix", "mix test", "Finished in 0.1 seconds\n3 tests, 1 failure, 1 skipped\n", "1/1/0/1"},
		{"two runners", "make test", "=== 3 passed in 0.10s ===\nTests:       2 passed, 2 total\n", "5/0/0/0"},
		{"another's summary in a known runner's output", "pytest", "E   assert 'Tests:       1 failed, 1 total'\nTests:       1 failed, 1 total\n=== 3 passed in 0.10s ===\n", "3/0/0/0"},
	})
}

func TestTests_Tools(t *testing.T) {
	for _, c := range []struct{ name, tool, fields, want, asked string }{
		{"text", "run_tests", `"result":"no tests ran in 0.00s"`, "0/0/0/0 zero", "0/0/0/0 zero"},
		{"ctest", "RunCtest", `"result":"No tests were found!!!\nran 0 out of 0 tests"`, "0/0/0/0 zero", "0/0/0/0 zero"},
		{"numbers", "run_tests", `"result":{"passed":3,"failed":1,"skipped":2}`, "3/1/0/2", "3/1/0/2"},
		{"numbers in a summary", "run_tests", `"result":{"summary":{"passed":3,"failed":0}}`, "3/0/0/0", "3/0/0/0"},
		{"jest's numbers", "run_tests", `"result":{"numPassedTests":3,"numFailedTests":0,"numPendingTests":1}`, "3/0/0/1", "3/0/0/1"},
		{"absurd numbers", "run_tests", `"result":{"passed":-1,"failed":99999999999999}`, "none", "none"},
		{"text in an object", "run_tests", `"result":{"output":"=== 3 passed in 0.1s ===","ok":true}`, "3/0/0/0", "3/0/0/0"},
		{"running", "run_tests", `"status":"running"`, "none", "none"},
		{"a tool that runs files", "execute_python_file", `"result":{"stdout":"3 passed in 0.01s","return_code":0}`, "none", "3/0/0/0"},
		{"a read", "Read", `"result":"3 failed in 0.01s"`, "none", "none"},
		{"cat", "Bash", `"args":{"command":"cat log"},"result":"3 failed in 0.01s"`, "none", "none"},
		{"a program", "Bash", `"args":{"command":"frobnicate"},"result":"3 passed in 0.01s"`, "none", "3/0/0/0"},
		{"unparsed", "Bash", `"args":{"command":"if then"},"result":"3 passed in 0.01s"`, "none", "3/0/0/0"},
	} {
		run, cl := first(t, call(c.tool, c.fields))
		got, err := Tests(run, cl)
		if err != nil || brief(got) != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, brief(got), err, c.want)
		}
		if got, err = TestsAsked(run, cl); err != nil || brief(got) != c.asked {
			t.Errorf("%s, asked: %s, %v, want %s", c.name, brief(got), err, c.asked)
		}
	}
}

func TestOf_Rule9_Tests(t *testing.T) {
	checkSamples(t, []sample{
		{"failures behind a pipe", "Bash", `"exit_code":0,"args":{"command":"pytest | tail -3"},"result":"=== 1 failed, 2 passed in 0.1s ==="`, Error, TestsFailed},
		{"failures and a code", "Bash", `"exit_code":1,"args":{"command":"npx jest"},"result":"Tests:       1 failed, 1 total"`, Error, TestsFailed},
		{"a code without failures", "Bash", `"exit_code":1,"args":{"command":"npx jest"},"result":"Tests:       1 passed, 1 total"`, Error, ExitCode},
		{"zero is ok", "Bash", `"exit_code":0,"args":{"command":"pytest"},"result":"no tests ran in 0.00s"`, OK, ExitCode},
		{"a saved log", "Bash", `"exit_code":0,"args":{"command":"cat log"},"result":"=== 1 failed in 0.1s ==="`, OK, ExitCode},
		{"a structured tool", "run_tests", `"ok":true,"result":"=== 1 failed in 0.1s ==="`, Error, TestsFailed},
		{"denied", "Bash", `"ok":false,"status":"denied","args":{"command":"pytest"},"error":"=== 1 failed in 0.1s ==="`, Denied, Status},
		{"still running", "Bash", `"status":"running","args":{"command":"pytest"},"result":"=== 1 failed in 0.1s ==="`, Pending, NoEnd},
	})
}

func TestClassify_ByOutput(t *testing.T) {
	for output, want := range map[string]bool{"=== 3 passed in 0.1s ===": true, "deployed": false} {
		run, c := first(t, call("Bash", `"args":{"command":"./ci.sh"},"result":"`+output+`"`))
		if set, err := Classify(run, c); err != nil || set[ClassTest] != want {
			t.Errorf("%s: %v, %v", output, set, err)
		}
	}
}
