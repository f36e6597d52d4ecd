package outcome

import (
	"regexp"
	"slices"
	"strings"
)

var (
	cargoResult  = regexp.MustCompile(`^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed; (\d+) ignored;`)
	nextestLine  = regexp.MustCompile(`^\s*Summary \[[^\]]*\]\s+(\d+)(?:/\d+)? tests? run: (.*)$`)
	cargoFailed  = regexp.MustCompile(`^error: (?:test failed, to rerun pass|\d+ targets? failed:)`)
	parentheses  = regexp.MustCompile(`\([^()]*\)`)
	cargoCompile = regexp.MustCompile("^error: could not compile `")

	tapPlan     = regexp.MustCompile(`^1\.\.(\d+)(?:\s*#.*)?$`)
	tapNumbered = regexp.MustCompile(`^(?:not )?ok \d+\b`)
	tapTest     = regexp.MustCompile(`(?i)^(not )?ok\b(?: \d+)?(?:[^#\\]|\\.)*(?:# ?(skip|todo)\b.*)?`)
	proveAll    = regexp.MustCompile(`^Files=\d+, Tests=(\d+),`)
	proveBad    = regexp.MustCompile(`\(Wstat: .* Tests: \d+ Failed: (\d+)\)`)

	mavenLine   = regexp.MustCompile(`Tests run: (\d+), +Failures: (\d+)(?:, +Errors: (\d+))?(?:, +Skipped: (\d+))?(.*)$`)
	junitOK     = regexp.MustCompile(`^OK \((\d+) tests?\)$`)
	junitCounts = regexp.MustCompile(`^\[\s+(\d+) tests (successful|failed|skipped|aborted)\s+\]$`)
	gradleLine  = regexp.MustCompile(`^(\d+) tests? completed(?:, (\d+) failed)?(?:, (\d+) skipped)?$`)
	gradleRan   = regexp.MustCompile(`^(?:SUCCESS|FAILURE): Executed (\d+) tests? in [^()]*(?:\(([^()]*)\))?\s*$`)
	gradleOther = regexp.MustCompile(`^> Task :(?:\S*:)?(?:(?:compile|process|generate|merge|package|assemble|bundle|lint|kapt|ksp|pre)[A-Z]\S*|\S*[tT]est\w*(?:Classes|Resources|Java|Kotlin|Sources|Assets|Manifest))(?: |$)`)
	gradleTask  = regexp.MustCompile(`^> Task :\S*[tT]est\S*(?: (NO-SOURCE|UP-TO-DATE|FROM-CACHE|SKIPPED|FAILED))?$`)

	rspecLine    = regexp.MustCompile(`^(\d+) examples?, (\d+) failures?(?:, (\d+) pending)?(?:, (\d+) errors? occurred outside of examples)?\s*$`)
	minitestLine = regexp.MustCompile(`^(\d+) (?:runs|tests), \d+ assertions, (\d+) failures, (\d+) errors(?:, (\d+) (?:skips|pendings))?`)
	ctestLine    = regexp.MustCompile(`^\d+% tests passed, (\d+) tests? failed out of (\d+)`)
	ctestNotRun  = regexp.MustCompile(`^\s+\d+ - .+ \((Skipped|Disabled)\)\s*$`)
	dotnetLine   = regexp.MustCompile(`(?:Passed|Failed|Skipped)!\s+- Failed:\s+(\d+), Passed:\s+(\d+), Skipped:\s+(\d+), Total:\s+(\d+)`)
	dotnetTotals = regexp.MustCompile(`^\s*Test summary: total: (\d+), failed: (\d+), succeeded: (\d+), skipped: (\d+)`)
	dotnetOld    = regexp.MustCompile(`^\s*(Total tests|Passed|Failed|Skipped): (\d+|Unknown)\s*$`)
	dotnetCounts = regexp.MustCompile(`^\s+(failed|succeeded|skipped): (\d+)\s*$`)

	phpunitOK    = regexp.MustCompile(`^OK \((\d+) tests?, \d+ assertions?\)$`)
	phpunitLine  = regexp.MustCompile(`^Tests: (\d+), Assertions: \d+(?:, (.*?))?\.?$`)
	phpunitParts = regexp.MustCompile(`(Errors|Failures|Skipped|Incomplete): (\d+)`)
	pestLine     = regexp.MustCompile(`^\s*Tests:\s+((?:\d+ [a-z]+, )*\d+ [a-z]+) \(\d+ assertions?\)$`)
)

// cargo reads every `test result` and nextest's summary. Filtered tests do not
// count.
func cargo(lines []string) (Summary, bool) {
	s, found, failed := Summary{Counted: true}, false, false
	for _, line := range lines {
		if m := cargoResult.FindStringSubmatch(line); m != nil {
			found = true
			s.add(Summary{Passed: number(m[2]), Failed: number(m[3]), Skipped: number(m[4]), Counted: true})
		}
		if m := nextestLine.FindStringSubmatch(line); m != nil {
			found = true
			if number(m[1]) > 0 {
				counts := parentheses.ReplaceAllString(m[2], "") // how they passed: slow, flaky
				tally(counts, &s)
				for _, e := range countOf.FindAllStringSubmatch(counts, -1) {
					if e[2] == "timed" || e[2] == "exec" {
						s.Failed += number(e[1])
					}
				}
			}
		}
		if strings.HasPrefix(line, "error: no tests to run") {
			found = true
		}
		failed = failed || cargoFailed.MatchString(line)
	}
	if failed && !s.Failing() { // how many, was cut off
		s.Errors, s.Counted, found = 1, false, true
	}
	s.None = s.Total() == 0
	return s, found
}

// tap reads the Test Anything Protocol and prove, which sums it up. A plan that
// was not met and a bail-out are errors.
func tap(lines []string) (Summary, bool) {
	s, plan, seen := Summary{Counted: true}, -1, 0
	versioned := slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "TAP version ") })
	for _, line := range lines {
		if m := proveAll.FindStringSubmatch(line); m != nil {
			return prove(lines, number(m[1])), true
		}
		switch {
		case strings.HasPrefix(line, "Bail out!"):
			s.Errors++
			plan = max(plan, seen)
		case tapPlan.MatchString(line):
			plan = max(plan, 0) + number(tapPlan.FindStringSubmatch(line)[1])
		case tapNumbered.MatchString(line) || versioned && (strings.HasPrefix(line, "ok") || strings.HasPrefix(line, "not ok")):
			seen++
			m := tapTest.FindStringSubmatch(line)
			switch {
			case m == nil:
			case m[2] != "":
				s.Skipped++
			case m[1] != "":
				s.Failed++
			default:
				s.Passed++
			}
		}
	}
	if plan < 0 || plan > 0 && seen == 0 && s.Errors == 0 {
		return Summary{}, false // `ok` alone is no protocol, and neither is a range
	}
	if s.Errors == 0 {
		s.Errors += max(0, min(plan, maxCount)-seen)
	}
	s.None = s.Total() == 0
	return s, true
}

func prove(lines []string, total int) Summary {
	s := Summary{Counted: true}
	failed := false
	for _, line := range lines {
		if m := proveBad.FindStringSubmatch(line); m != nil {
			s.Failed += number(m[1])
		}
		failed = failed || line == "Result: FAIL"
	}
	if failed && s.Failed == 0 {
		s.Errors = 1
	}
	s.Passed = max(0, total-s.Failed)
	s.None = s.Total() == 0
	return s
}

// maven reads Surefire's totals, or where there are none its lines by class, and
// the console runners of JUnit.
func maven(lines []string) (Summary, bool) {
	s, classes, console := Summary{Counted: true}, Summary{Counted: true}, Summary{Counted: true}
	totals, byClass, byConsole := false, false, false
	for _, line := range lines {
		if m := mavenLine.FindStringSubmatch(line); m != nil {
			part := Summary{Failed: number(m[2]), Errors: number(m[3]), Skipped: number(m[4]), Counted: true}
			part.Passed = max(0, number(m[1])-part.Failed-part.Errors-part.Skipped)
			if strings.Contains(m[5], "Time elapsed") {
				classes.add(part)
				byClass = true
			} else {
				s.add(part)
				totals = true
			}
		}
		if m := junitOK.FindStringSubmatch(line); m != nil {
			console.Passed += number(m[1])
			byConsole = true
		}
		if m := junitCounts.FindStringSubmatch(line); m != nil {
			byConsole = true
			tally(m[1]+" "+strings.Replace(m[2], "aborted", "skipped", 1), &console)
		}
		if strings.HasSuffix(line, "No tests to run.") || strings.Contains(line, "No tests were executed!") || strings.HasSuffix(line, "Tests are skipped.") {
			totals = true
		}
	}
	if !totals {
		s = classes
	}
	s.add(console)
	s.None = s.Total() == 0
	return s, totals || byClass || byConsole
}

// gradle counts only when a test failed; else its test tasks tell that there were
// tests.
func gradle(lines []string) (Summary, bool) {
	s, logged, found, ran, success, failing := Summary{}, Summary{}, false, false, false, false
	for _, line := range lines {
		if m := gradleLine.FindStringSubmatch(line); m != nil {
			found, s.Counted = true, true
			part := Summary{Failed: number(m[2]), Skipped: number(m[3]), Counted: true}
			part.Passed = max(0, number(m[1])-part.Failed-part.Skipped)
			s.add(part)
		}
		if m := gradleRan.FindStringSubmatch(line); m != nil {
			found, logged.Counted = true, true
			part := Summary{Counted: true}
			tally(m[2], &part)
			part.Passed = max(0, number(m[1])-part.Failed-part.Skipped)
			logged.add(part)
		}
		if strings.HasPrefix(line, "> No tests found for given includes") {
			return Summary{None: true}, true
		}
		if m := gradleTask.FindStringSubmatch(line); m != nil && !gradleOther.MatchString(line) {
			ran = ran || m[1] != "NO-SOURCE" && m[1] != "SKIPPED"
			found = true
		}
		success = success || strings.HasPrefix(line, "BUILD SUCCESSFUL")
		failing = failing || strings.Contains(line, "There were failing tests.")
	}
	if !s.Counted && logged.Counted { // what a plugin prints, where Gradle itself counts nothing
		s = logged
	}
	if failing && s.Failed == 0 {
		found = true
		s.Errors++
	}
	if !s.Counted && !s.Failing() && !success {
		return Summary{}, false // how it ended is not shown
	}
	s.None = !ran && s.Total() == 0
	return s, found
}

// rspec reads RSpec, and Minitest and test-unit, which print the same kind of line.
func rspec(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		var part Summary
		if m := rspecLine.FindStringSubmatch(line); m != nil {
			part = Summary{Failed: number(m[2]), Skipped: number(m[3]), Errors: number(m[4])}
			part.Passed = max(0, number(m[1])-part.Failed-part.Skipped)
		} else if m := minitestLine.FindStringSubmatch(line); m != nil {
			part = Summary{Failed: number(m[2]), Errors: number(m[3]), Skipped: number(m[4])}
			part.Passed = max(0, number(m[1])-part.Failed-part.Errors-part.Skipped)
		} else {
			if strings.HasPrefix(line, "RSpec is shutting down and will print the summary") {
				s.Errors++ // somebody interrupted it
			}
			continue
		}
		found, part.Counted = true, true
		s.add(part)
	}
	s.None = s.Total() == 0
	return s, found
}

func ctest(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if strings.HasPrefix(line, "No tests were found!!!") {
			found = true
		}
		if m := ctestLine.FindStringSubmatch(line); m != nil {
			found = true
			failed := number(m[1])
			s.add(Summary{Failed: failed, Passed: max(0, number(m[2])-failed), Counted: true})
		}
		// A test that was skipped is counted among those that passed, one that is
		// disabled not at all.
		if m := ctestNotRun.FindStringSubmatch(line); m != nil {
			s.Skipped++
			if m[1] == "Skipped" && s.Passed > 0 {
				s.Passed--
			}
		}
	}
	s.None = s.Total() == 0
	return s, found
}

// dotnet reads the line that every test project ends with; the older and the newer
// forms of it, and that of the testing platform, stand for all projects.
func dotnet(lines []string) (Summary, bool) {
	s, old, platform, found, total, listed := Summary{Counted: true}, Summary{Counted: true}, Summary{Counted: true}, false, false, false
	for _, line := range lines {
		if strings.HasPrefix(line, "Test run summary: ") {
			listed = true
		}
		if m := dotnetCounts.FindStringSubmatch(line); m != nil && listed {
			tally(m[2]+" "+m[1], &platform)
		}
		if strings.HasPrefix(line, "The active test run was aborted") {
			s.Errors++
			old.Errors++
		}
		if m := dotnetTotals.FindStringSubmatch(line); m != nil {
			t := Summary{Failed: number(m[2]), Passed: number(m[3]), Skipped: number(m[4]), Counted: true}
			t.None = t.Total() == 0
			return t, true
		}
		if m := dotnetLine.FindStringSubmatch(line); m != nil {
			found = true
			s.add(Summary{Failed: number(m[1]), Passed: number(m[2]), Skipped: number(m[3]), Counted: true})
		}
		if m := dotnetOld.FindStringSubmatch(line); m != nil {
			total = total || m[1] == "Total tests"
			tally(m[2]+" "+strings.ToLower(m[1]), &old)
		}
		found = found || strings.HasPrefix(line, "No test is available in ") || strings.HasPrefix(line, "No test matches the given testcase filter")
	}
	if listed {
		platform.None = platform.Total() == 0
		return platform, true
	}
	if total {
		s, found = old, true
	}
	s.None = s.Total() == 0
	return s, found
}

func phpunit(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := phpunitOK.FindStringSubmatch(line); m != nil {
			found = true
			s.Passed += number(m[1])
		}
		if m := phpunitLine.FindStringSubmatch(line); m != nil {
			found = true
			part := Summary{Counted: true}
			for _, p := range phpunitParts.FindAllStringSubmatch(m[2], -1) {
				tally(p[2]+" "+strings.ToLower(p[1]), &part)
			}
			part.Passed = max(0, number(m[1])-part.Failed-part.Errors-part.Skipped)
			s.add(part)
		}
		if m := pestLine.FindStringSubmatch(line); m != nil {
			found = true
			tally(m[1], &s)
		}
		found = found || strings.HasPrefix(line, "No tests executed!")
	}
	s.None = s.Total() == 0
	return s, found
}
