package outcome

import (
	"regexp"
	"strings"
)

var (
	pytestLine  = regexp.MustCompile(`^=*\s*(no tests ran|\d+ [a-z]+(?:, \d+ [a-z ]+)*) in \d+(?:\.\d+)?\s?s(?:econds)?(?: \([\d:]+\))?\s*=*$`)
	pytestBroke = regexp.MustCompile(`^!+ (?:KeyboardInterrupt|_pytest\.outcomes\.Exit: .*|xdist\.dsession\.Interrupted: .*) !+$`)
	sugarHead   = regexp.MustCompile(`^Results \([\d.:smh ]+\):$`)
	sugarLine   = regexp.MustCompile(`^\s+\d+ (?:passed|failed|skipped|errors?|xfailed|xpassed|deselected|rerun)$`)
	countOf     = regexp.MustCompile(`(\d+) ([A-Za-z]+)`)

	unittestRan  = regexp.MustCompile(`^Ran (\d+) tests? in \d+(?:\.\d+)?s$`)
	unittestEnd  = regexp.MustCompile(`^(OK|FAILED|NO TESTS RAN)(?: \(([a-z]+(?: [a-z]+)?=\d+(?:, [a-z]+(?: [a-z]+)?=\d+)*)\))?$`)
	unittestPart = regexp.MustCompile(`([a-z]+(?: [a-z]+)?)=(\d+)`)
)

// pytest reads its last line, and the list that pytest-sugar prints for it. A test that was expected to fail counts as skipped;
// deselected ones do not count. The same line twice is one run, shown twice.
func pytest(lines []string) (Summary, bool) {
	s, found, sugar := Summary{Counted: true}, map[string]bool{}, false
	for _, line := range lines {
		if sugar = sugar || sugarHead.MatchString(line); sugar && sugarLine.MatchString(line) {
			found["Results"] = true
			pytestCounts(line, &s)
			continue
		}
		if strings.HasPrefix(line, "INTERNALERROR>") && !found["!"] || pytestBroke.MatchString(line) {
			found["!"] = true
			s.Errors++
			continue
		}
		if !strings.Contains(line, " in ") {
			continue
		}
		m := pytestLine.FindStringSubmatch(line)
		if m == nil || !pytestCounts(m[1], nil) || found[strings.Trim(line, "= ")] {
			continue
		}
		found[strings.Trim(line, "= ")] = true
		pytestCounts(m[1], &s)
	}
	s.None = s.Total() == 0
	return s, len(found) > 0
}

// pytestCounts adds the numbers of a summary; false where it holds another word.
func pytestCounts(body string, s *Summary) bool {
	var scratch Summary
	if s == nil {
		s = &scratch
	}
	for _, m := range countOf.FindAllStringSubmatch(body, -1) {
		n := number(m[1])
		switch m[2] {
		case "passed", "xpassed":
			s.Passed += n
		case "failed":
			s.Failed += n
		case "error", "errors":
			s.Errors += n
		case "skipped", "xfailed":
			s.Skipped += n
		case "deselected", "warning", "warnings", "rerun", "reruns", "subtests":
		default:
			return false
		}
	}
	return true
}

// unittest reads `Ran N tests` and the verdict behind it.
func unittest(lines []string) (Summary, bool) {
	s, found, ran := Summary{Counted: true}, false, -1
	for _, line := range lines {
		if m := unittestRan.FindStringSubmatch(line); m != nil {
			if ran >= 0 {
				s.Passed += ran
			}
			ran, found = number(m[1]), true
			continue
		}
		m := unittestEnd.FindStringSubmatch(line)
		if m == nil || m[1] != "FAILED" && ran < 0 || m[1] == "FAILED" && m[2] == "" && ran < 0 {
			continue
		}
		s.Counted = s.Counted && ran >= 0
		not := 0
		for _, part := range unittestPart.FindAllStringSubmatch(m[2], -1) {
			n := number(part[2])
			switch part[1] {
			case "failures", "unexpected successes":
				s.Failed += n
			case "errors":
				s.Errors += n
			case "skipped", "expected failures":
				s.Skipped += n
			}
			not += n
		}
		if m[1] == "FAILED" && m[2] == "" {
			s.Errors++
		}
		s.Passed += max(0, ran-not)
		ran, found = -1, true
	}
	if ran > 0 {
		s.Passed += ran
		s.Counted = false // how they ended was cut off
	}
	s.None = found && s.Total() == 0
	return s, found
}
