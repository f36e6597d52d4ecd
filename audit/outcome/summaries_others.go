package outcome

import (
	"regexp"
	"strings"
)

var (
	playwrightLine = regexp.MustCompile(`^\s+(\d+) (passed|failed|skipped|flaky|interrupted)(?: \([\d.]+(?:ms|s|m|h)\))?\s*$`)
	playwrightDid  = regexp.MustCompile(`^\s+\d+ passed \([\d.]+(?:ms|s|m|h)\)\s*$`)
	playwrightRuns = regexp.MustCompile(`^Running \d+ tests? using \d+ workers?`)
	denoLine       = regexp.MustCompile(`^(?:ok|FAILED) \| (\d+ passed(?: \(\d+ steps?\))? \| \d+ failed.*) \(\d`)
	bunLine        = regexp.MustCompile(`^\s*(\d+) (pass|fail|skip|todo|error|errors)\s*$`)
	bunRan         = regexp.MustCompile(`^Ran (\d+) tests? across \d+ files?\.`)
	swiftLine      = regexp.MustCompile(`^\s*Executed (\d+) tests?, with (?:(\d+) tests? skipped and )?(\d+) failures? \(\d+ unexpected\)`)
	mixLine        = regexp.MustCompile(`^((?:\d+ (?:doctests?|properties|property), )*\d+ tests?), (\d+) failures?(?:, (\d+) invalid)?((?:, \d+ (?:skipped|excluded))*)\s*$`)
	anyNumber      = regexp.MustCompile(`\d+`)
	ranOutOf       = regexp.MustCompile(`^[Rr]an (\d+) out of (\d+) tests$`)
	noMatching     = regexp.MustCompile(`^error: no matching test cases? found`)
	playwrightNot  = regexp.MustCompile(`^\s+(\d+) did not run\s*$`)
	swiftTesting   = regexp.MustCompile(`^\S+ Test run with (\d+) tests?(?: in \d+ suites?)? (passed|failed) after `)
	flutterLine    = regexp.MustCompile(`^\d+:\d\d \+(\d+)(?: ~(\d+))?(?: -(\d+))?: (?:All tests (?:passed!|skipped\.)|Some tests failed\.)`)
	flutterNone    = regexp.MustCompile(`^(?:\d+:\d\d \+0: )?No tests (?:ran|match)`)
	bazelLine      = regexp.MustCompile(`^Executed \d+ out of (\d+) tests?: (.*)$`)
	sbtLine        = regexp.MustCompile(`^\[(?:info|error)\] (?:Passed|Failed|Error): Total \d+, Failed (\d+), Errors (\d+), Passed (\d+)(.*)$`)
	sbtSkipped     = regexp.MustCompile(`(?:Ignored|Skipped|Canceled|Pending) (\d+)`)
	xmlSuites      = regexp.MustCompile(`<testsuites\s[^>]*\btests="\d+"[^>]*>`)
	xmlSuite       = regexp.MustCompile(`<testsuite\s[^>]*>`)
	xmlCount       = regexp.MustCompile(`\b(tests|failures|errors|skipped|disabled)="(\d+)"`)
	gtestRan       = regexp.MustCompile(`^\[==========\] \d+ tests? from \d+ test (?:suites?|cases?) ran`)
	gtestCount     = regexp.MustCompile(`^\[  (PASSED  |FAILED  |SKIPPED )\] (\d+) tests?(?:\.|, listed below)`)
	catchPassed    = regexp.MustCompile(`^All tests passed \(\d+ assertions? in (\d+) test cases?\)`)
	catchCases     = regexp.MustCompile(`\btest cases:\s+\d+ \|(.*)$`)
)

// others reads the runners that have no format of their own here.
func others(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true, None: true}, false
	for _, parse := range []func([]string) (Summary, bool){playwright, deno, bun, swift, mix, ava, nodeTap, flutter, bazel, sbt, gtest, catch2, junitXML} {
		if part, ok := parse(lines); ok {
			found = true
			s.add(part)
		}
	}
	return s, found
}

func playwright(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := playwrightLine.FindStringSubmatch(line); m != nil {
			found = found || playwrightDid.MatchString(line)
			tally(m[1]+" "+m[2], &s)
		}
		if m := playwrightNot.FindStringSubmatch(line); m != nil {
			s.Skipped += number(m[1])
		}
		found = found || playwrightRuns.MatchString(line) || strings.HasPrefix(line, "Error: No tests found")
	}
	s.None = s.Total() == 0
	return s, found
}

func deno(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := denoLine.FindStringSubmatch(line); m != nil {
			found = true
			tally(m[1], &s)
		}
	}
	s.None = s.Total() == 0
	return s, found
}

func bun(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := bunLine.FindStringSubmatch(line); m != nil {
			tally(m[1]+" "+m[2], &s)
		}
		found = found || bunRan.MatchString(line)
	}
	s.None = s.Total() == 0
	return s, found
}

// swift prints a line for every suite around the tests; the outermost counts the
// most. Swift Testing, which may run beside it, prints one line.
func swift(lines []string) (Summary, bool) {
	s, testing, found := Summary{Counted: true}, Summary{Counted: true}, false
	for _, line := range lines {
		if noMatching.MatchString(line) || strings.HasPrefix(line, "No matching test cases were run") {
			found = true
		}
		if m := swiftTesting.FindStringSubmatch(line); m != nil {
			found = true
			if m[2] == "passed" {
				testing.add(Summary{Passed: number(m[1]), Counted: true})
			} else { // how many of them, it does not say
				testing.add(Summary{Errors: 1})
			}
		}
		m := swiftLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		found = true
		part := Summary{Skipped: number(m[2]), Failed: number(m[3]), Counted: true}
		part.Passed = max(0, number(m[1])-part.Skipped-part.Failed)
		if part.Total() >= s.Total() {
			s = part
		}
	}
	s.add(testing)
	s.None = s.Total() == 0
	return s, found
}

func mix(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := mixLine.FindStringSubmatch(line); m != nil {
			found = true
			part, total := Summary{Failed: number(m[2]), Errors: number(m[3]), Counted: true}, 0
			for _, n := range anyNumber.FindAllString(m[1], -1) {
				total += number(n)
			}
			for _, n := range anyNumber.FindAllString(m[4], -1) {
				part.Skipped += number(n)
			}
			part.Passed = max(0, total-part.Failed-part.Errors-part.Skipped)
			s.add(part)
		}
		if m := ranOutOf.FindStringSubmatch(line); m != nil && m[2] == "0" {
			found = true
		}
	}
	s.None = s.Total() == 0
	return s, found
}

// flutter reads the last line of the progress of flutter test and dart test.
func flutter(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := flutterLine.FindStringSubmatch(line); m != nil {
			found = true
			s = Summary{Passed: number(m[1]), Skipped: number(m[2]), Failed: number(m[3]), Counted: true}
		}
		found = found || flutterNone.MatchString(line)
	}
	s.None = s.Total() == 0
	return s, found
}

// bazel counts targets, not tests.
func bazel(lines []string) (Summary, bool) {
	var s Summary
	found := false
	for _, line := range lines {
		if m := bazelLine.FindStringSubmatch(line); m != nil {
			found = true
			s.None = number(m[1]) == 0
			if strings.Contains(m[2], "fail") {
				s.Errors++
			}
		}
		if strings.Contains(line, "No test targets were found, yet testing was requested") {
			found, s.None = true, true
		}
	}
	return s, found
}

// sbt reads the line that it ends the tests of a project with.
func sbt(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := sbtLine.FindStringSubmatch(line); m != nil {
			found = true
			part := Summary{Failed: number(m[1]), Errors: number(m[2]), Passed: number(m[3]), Counted: true}
			for _, k := range sbtSkipped.FindAllStringSubmatch(m[4], -1) {
				part.Skipped += number(k[1])
			}
			s.add(part)
		}
		found = found || strings.HasPrefix(line, "[info] No tests to run for")
	}
	s.None = s.Total() == 0
	return s, found
}

// gtest reads what a program of GoogleTest ends with.
func gtest(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		found = found || gtestRan.MatchString(line)
		if m := gtestCount.FindStringSubmatch(line); m != nil {
			tally(m[2]+" "+strings.ToLower(strings.TrimSpace(m[1])), &s)
		}
	}
	s.None = s.Total() == 0
	return s, found
}

// catch2 reads Catch2 and doctest.
func catch2(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := catchPassed.FindStringSubmatch(line); m != nil {
			found = true
			s.Passed += number(m[1])
		}
		if m := catchCases.FindStringSubmatch(line); m != nil {
			found = true
			tally(strings.ReplaceAll(m[1], "failed as expected", "skipped"), &s)
		}
	}
	s.None = s.Total() == 0
	return s, found
}

// junitXML reads a report in the form that JUnit made common: the totals of all
// suites, else those of each.
func junitXML(lines []string) (Summary, bool) {
	all, each := Summary{Counted: true}, Summary{Counted: true}
	totals, found := false, false
	for _, line := range lines {
		for _, tag := range xmlSuites.FindAllString(line, -1) {
			totals = true
			all.add(xmlCounts(tag))
		}
		for _, tag := range xmlSuite.FindAllString(line, -1) {
			if strings.Contains(tag, ` tests="`) {
				found = true
				each.add(xmlCounts(tag))
			}
		}
	}
	if !totals {
		all = each
	}
	all.None = all.Total() == 0
	return all, found || totals
}

// xmlCounts reads the counts among the attributes of a suite.
func xmlCounts(tag string) Summary {
	s, total := Summary{Counted: true}, 0
	for _, m := range xmlCount.FindAllStringSubmatch(tag, -1) {
		switch n := number(m[2]); m[1] {
		case "tests":
			total = n
		case "failures":
			s.Failed = n
		case "errors":
			s.Errors = n
		default:
			s.Skipped += n
		}
	}
	s.Passed = max(0, total-s.Failed-s.Errors-s.Skipped)
	return s
}
