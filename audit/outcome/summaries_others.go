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
	mixLine        = regexp.MustCompile(`^(?:\d+ (?:doctests?|properties|property), )*(\d+) tests?, (\d+) failures?(?:, (\d+) (?:skipped|excluded))?\s*$`)
	ranOutOf       = regexp.MustCompile(`^[Rr]an (\d+) out of (\d+) tests$`)
	noMatching     = regexp.MustCompile(`^error: no matching test cases? found`)
)

// others reads the runners that have no format of their own here.
func others(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true, None: true}, false
	for _, parse := range []func([]string) (Summary, bool){playwright, deno, bun, swift, mix} {
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
		found = found || playwrightRuns.MatchString(line)
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
// most.
func swift(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if noMatching.MatchString(line) || strings.HasPrefix(line, "No matching test cases were run") {
			found = true
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
	s.None = s.Total() == 0
	return s, found
}

func mix(lines []string) (Summary, bool) {
	s, found := Summary{Counted: true}, false
	for _, line := range lines {
		if m := mixLine.FindStringSubmatch(line); m != nil {
			found = true
			part := Summary{Failed: number(m[2]), Skipped: number(m[3]), Counted: true}
			part.Passed = max(0, number(m[1])-part.Failed-part.Skipped)
			s.add(part)
		}
		if m := ranOutOf.FindStringSubmatch(line); m != nil && m[2] == "0" {
			found = true
		}
	}
	s.None = s.Total() == 0
	return s, found
}
