package outcome

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	jestTests    = regexp.MustCompile(`^Tests:\s+((?:\d+ [a-z]+, )*\d+ total)\s*$`)
	jestSuites   = regexp.MustCompile(`^Test Suites:\s+((?:\d+ [a-z]+, )*\d+ (?:of \d+ )?total)\s*$`)
	vitestTests  = regexp.MustCompile(`^\s*Tests\s{2,}(no tests|\d+ [a-z ]+(?: \| \d+ [a-z ]+)*?)(?: \(\d+\))?\s*$`)
	vitestFiles  = regexp.MustCompile(`^\s*Test Files\s{2,}(no tests|\d+ [a-z]+(?: \| \d+ [a-z]+)*)(?: \(\d+\))?\s*$`)
	vitestErrors = regexp.MustCompile(`^\s*Errors\s{2,}(\d+) errors?\s*$`)
	mochaLine    = regexp.MustCompile(`^\s+(\d+) (passing|failing|pending)(?: \([^)]*\))?\s*$`)
	nodeLine     = regexp.MustCompile(`^(?:ℹ|#|<!--|\x{2139}\x{fe0f}) (tests|pass|fail|cancelled|skipped|todo) (\d+)(?: -->)?$`)
	avaLine      = regexp.MustCompile(`^  (\d+) tests? (passed|failed|skipped|todo)$`)
	tapAsserts   = regexp.MustCompile(`^Asserts:\s+(\d+ (?:pass|fail|pending|skip|todo).*?)\s+\d+ of \d+ complete$`)
)

// tally adds the numbers of a text such as `1 failed, 2 passed`.
func tally(body string, s *Summary) {
	for _, m := range countOf.FindAllStringSubmatch(body, -1) {
		n := number(m[1])
		switch m[2] {
		case "passed", "passing", "pass", "succeeded", "successful", "flaky":
			s.Passed += n
		case "failed", "failing", "fail", "failures", "failure":
			s.Failed += n
		case "error", "errors", "interrupted", "cancelled":
			s.Errors += n
		case "skipped", "skip", "pending", "todo", "ignored", "incomplete", "expected": // … to fail
			s.Skipped += n
		}
	}
}

// jest reads `Tests:` and, for suites that could not be run, `Test Suites:`.
func jest(lines []string) (Summary, bool) {
	s, found, suites := Summary{Counted: true}, false, Summary{}
	for _, line := range lines {
		if strings.HasPrefix(line, "No tests found, exiting with code") || strings.HasPrefix(line, "No tests found related to files changed") {
			found = true
		}
		if strings.HasPrefix(line, "{") && strings.Contains(line, `"numTotalTests"`) {
			found = jestJSON(line, &s) || found
		}
		if m := jestTests.FindStringSubmatch(line); m != nil {
			found = true
			tally(m[1], &s)
		}
		if m := jestSuites.FindStringSubmatch(line); m != nil {
			tally(m[1], &suites)
		}
	}
	if s.Failed == 0 {
		s.Errors += suites.Failed
		found = found || suites.Failed > 0
	}
	s.None = s.Total() == 0
	return s, found
}

// jestJSON reads what jest and vitest print with --json.
func jestJSON(line string, s *Summary) bool {
	var n struct{ NumPassedTests, NumFailedTests, NumPendingTests, NumTodoTests, NumRuntimeErrorTestSuites int }
	if json.Unmarshal([]byte(line), &n) != nil || n.NumPassedTests < 0 || n.NumFailedTests < 0 {
		return false
	}
	s.add(Summary{
		Passed: n.NumPassedTests, Failed: n.NumFailedTests, Errors: max(0, n.NumRuntimeErrorTestSuites),
		Skipped: max(0, n.NumPendingTests) + max(0, n.NumTodoTests), Counted: true,
	})
	return true
}

// vitest reads `Tests`, and what failed outside of tests: files and errors.
func vitest(lines []string) (Summary, bool) {
	s, found, files := Summary{Counted: true}, false, Summary{}
	for _, line := range lines {
		if strings.HasPrefix(line, "No test files found, exiting with code") {
			found = true
		}
		if m := vitestTests.FindStringSubmatch(line); m != nil {
			found = true
			tally(m[1], &s)
		}
		if m := vitestFiles.FindStringSubmatch(line); m != nil {
			tally(m[1], &files)
		}
		if m := vitestErrors.FindStringSubmatch(line); m != nil {
			found = true
			s.Errors += number(m[1])
		}
		if strings.HasPrefix(line, "Cancelling test run") {
			s.Errors++
		}
	}
	if s.Failed == 0 && files.Failed > 0 {
		found = true
		s.Errors += files.Failed
	}
	s.None = s.Total() == 0
	return s, found
}

// mocha reads `N passing`, `N failing`, `N pending`.
func mocha(lines []string) (Summary, bool) {
	s, found := Summary{}, false
	for _, line := range lines {
		if m := mochaLine.FindStringSubmatch(line); m != nil {
			found = found || m[2] == "passing" // it is always there, even of 0
			s.Counted = true
			tally(m[1]+" "+m[2], &s)
		}
	}
	s.None = found && s.Counted && s.Total() == 0
	return s, found
}

// nodeTest reads the counts of node:test, as its spec and its TAP reporter write
// them. A test that was cancelled could not be run; one to do is skipped.
func nodeTest(lines []string) (Summary, bool) {
	s, tests, sure := Summary{}, false, false // a heading of Markdown may look like a count
	found := false
	for _, line := range lines {
		m := nodeLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		n := number(m[2])
		sure = sure || !strings.HasPrefix(m[0], "#")
		switch m[1] {
		case "tests":
			tests = true
		case "pass":
			s.Passed += n
			found = true
		case "fail":
			s.Failed += n
			found = true
		case "cancelled":
			s.Errors += n
		default:
			s.Skipped += n
		}
	}
	s.Counted = tests
	s.None = tests && s.Total() == 0
	return s, found && (tests || sure)
}

// ava reads `N tests passed` and the lines beside it.
func ava(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := avaLine.FindStringSubmatch(line); m != nil {
			found = true
			tally(m[1]+" "+m[2], &s)
		}
	}
	s.None = s.Total() == 0
	return s, found
}

// nodeTap reads the totals of node-tap.
func nodeTap(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := tapAsserts.FindStringSubmatch(line); m != nil {
			found = true
			tally(m[1], &s)
		}
	}
	s.None = s.Total() == 0
	return s, found
}
