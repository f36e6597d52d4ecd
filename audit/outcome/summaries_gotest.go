package outcome

import (
	"encoding/json"
	"regexp"
	"strings"
)

var (
	goPackage = regexp.MustCompile(`^(ok|FAIL|\?) {0,4}\t?\s*(\S+)\s+(\d+\.\d+s|\(cached\)|\[(no test files|build failed|setup failed)\])(.*)$`)
	goNoTests = regexp.MustCompile(`^\s+\S+\s+coverage: 0\.0% of statements$`)
	goResult  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): \S+ \(\d+(\.\d+)?s\)`)
	ginkgo    = regexp.MustCompile(`-- (\d+) Passed \| (\d+) Failed \|(?: \d+ Flaked \|)? (\d+) Pending \| (\d+) Skipped`)
	goSumLine = regexp.MustCompile(`^DONE (?:\d+ runs, )?(\d+) tests?(?:, (\d+) skipped)?(?:, (\d+) failures?)?(?:, (\d+) errors?)? in `)
)

// goRun is what lines of go test add up to.
type goRun struct {
	Summary
	seen, some  bool // any line of it; a package with tests
	failedHere  int  // failures since the last line of a package
	bareFailure bool
	specs       *Summary // what Ginkgo says, which runs its specs as one test
}

// goTest reads go test, plain, -v and -json, gotestsum and Ginkgo. Without -v it counts
// the failed tests only.
func goTest(lines []string) (Summary, bool) {
	var g goRun
	for _, line := range lines {
		if m := goSumLine.FindStringSubmatch(line); m != nil {
			s := Summary{Skipped: number(m[2]), Failed: number(m[3]), Errors: number(m[4]), Counted: true}
			s.Passed = max(0, number(m[1])-s.Skipped-s.Failed)
			s.None = s.Total() == 0
			return s, true
		}
		if strings.HasPrefix(line, `{"`) && strings.Contains(line, `"Action":`) {
			g.event(line)
			continue
		}
		g.line(line)
	}
	if g.bareFailure && g.seen && !g.Failing() {
		g.Errors++
	}
	if g.specs != nil {
		g.specs.Errors = g.Errors
		if g.specs.Failed == 0 {
			g.specs.Failed = g.Failed
		}
		g.specs.None = g.specs.Total() == 0
		return *g.specs, true
	}
	g.None = !g.some && !g.Failing()
	return g.Summary, g.seen
}

func (g *goRun) line(line string) {
	switch {
	case strings.HasPrefix(line, "=== RUN"):
		g.Counted = true
	case line == "no packages to test":
		g.seen = true
	case line == "FAIL":
		g.bareFailure = true
	case goNoTests.MatchString(line):
		g.seen = true
	}
	if m := goResult.FindStringSubmatch(line); m != nil {
		g.result(m[1])
		return
	}
	if m := ginkgo.FindStringSubmatch(line); m != nil {
		if g.specs == nil {
			g.specs = &Summary{Counted: true}
		}
		g.specs.add(Summary{Passed: number(m[1]), Failed: number(m[2]), Skipped: number(m[3]) + number(m[4]), Counted: true})
		return
	}
	m := goPackage.FindStringSubmatch(line)
	if m == nil {
		return
	}
	g.seen = true
	none := m[4] == "no test files" || strings.Contains(m[5], "[no tests to run]") || strings.Contains(m[5], "[no test files]")
	g.some = g.some || !none
	if m[1] == "FAIL" && g.failedHere == 0 {
		g.Errors++ // it did not build, panicked or ran out of time
	}
	g.failedHere = 0
}

func (g *goRun) result(word string) {
	g.seen, g.some = true, true
	switch strings.ToUpper(word) {
	case "PASS":
		g.Passed++
		g.Counted = true
	case "FAIL":
		g.Failed++
		g.failedHere++
	case "SKIP":
		g.Skipped++
	}
}

// event reads one line of go test -json.
func (g *goRun) event(line string) {
	var e struct{ Action, Package, Test string }
	if json.Unmarshal([]byte(line), &e) != nil {
		return
	}
	switch {
	case e.Action == "build-fail":
		g.seen = true
	case e.Package == "" || e.Action != "pass" && e.Action != "fail" && e.Action != "skip":
	case e.Test != "":
		g.result(e.Action)
		g.Counted = true
	default:
		g.seen = true
		if e.Action == "fail" && g.failedHere == 0 {
			g.Errors++
		}
		g.failedHere = 0
	}
}
