package outcome

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// Summary is what a test runner said it did.
type Summary struct {
	// Runner is the format that the summary was recognised by.
	Runner                          string
	Passed, Failed, Errors, Skipped int
	// Counted is false where not every test is in the numbers (go test without -v).
	Counted bool
	// None is set when there was no test to run.
	None bool
}

// Total is the number of tests.
func (s *Summary) Total() int { return s.Passed + s.Failed + s.Errors + s.Skipped }

// Failing tells whether a test failed or could not be run.
func (s *Summary) Failing() bool { return s.Failed+s.Errors > 0 }

func (s *Summary) String() string {
	if s.None {
		return "no tests"
	}
	var out []string
	for _, n := range []struct {
		count int
		word  string
	}{{s.Failed, "failed"}, {s.Errors, "errors"}, {s.Passed, "passed"}, {s.Skipped, "skipped"}} {
		if n.count > 0 {
			out = append(out, strconv.Itoa(n.count)+" "+n.word)
		}
	}
	if len(out) == 0 {
		return "passed, not counted"
	}
	return strings.Join(out, ", ")
}

// tests looks for a summary in what the call returned.
func (v *View) tests(asked bool) (*Summary, error) {
	run, c := v.run, v.call
	classes := v.tables.Classes(c.Tool)
	var runners []string
	switch {
	case !c.ResultPos.Set() || classes.any(ClassRead, ClassSearch, ClassEdit):
		return nil, nil
	case classes[ClassShell]:
		shell, err := v.parse()
		if err != nil {
			return nil, err
		}
		if runners = shell.runners(asked); len(runners) == 0 {
			return nil, nil
		}
	case classes[ClassTest]:
		if s, err := structured(run, c); s != nil || err != nil {
			return s, err
		}
		runners = []string{"any"}
	case asked:
		runners = []string{"any"}
	default:
		return nil, nil
	}
	text, err := testOutput(run, c)
	if err != nil {
		return nil, err
	}
	return summarise(text, runners), nil
}

// runners names the runners whose summaries a shell call's output may hold: "any"
// for a target that is named for tests, "script" for what may run tests or not.
func (s *Shell) runners(asked bool) []string {
	var out []string
	for i := range s.Commands {
		c := &s.Commands[i]
		switch {
		case c.Invokes != "":
			out = append(out, c.Invokes)
		case c.opaque || asked && !c.prints():
			out = append(out, "script")
		}
	}
	if asked && !s.Parsed {
		return []string{"any"}
	}
	return out
}

// prints tells whether a command only shows what is there already.
func (c *Command) prints() bool {
	if c.filter || c.Classes.any(ClassRead, ClassSearch, ClassVCS, ClassHTTP, ClassEdit) || len(c.Argv) == 0 || preparing[c.Argv[0]] {
		return true
	}
	switch c.Argv[0] {
	case "docker", "podman", "kubectl", "journalctl", "grep", "egrep", "fgrep", "wc", "sort", "uniq", "cut", "tr", "tee", "sleep", "exit", "test", "[", "[[":
		return !c.opaque
	}
	return false
}

// testOutput is the text that a summary is looked for in: the output, or the
// texts of an object that wraps it.
func testOutput(run *trace.Run, c *trace.Call) (string, error) {
	result, err := run.Value(c.Result)
	if err != nil {
		return "", err
	}
	if result.Kind() == trace.KindObject && result.Get("stdout").Kind() != trace.KindString {
		var texts []string
		for _, key := range []string{"output", "text", "log", "logs", "message", "content", "stderr"} {
			if v := result.Get(key); v.Kind() == trace.KindString {
				texts = append(texts, v.Text())
			}
		}
		if len(texts) > 0 {
			return strings.Join(texts, "\n"), nil
		}
	}
	return Output(run, c)
}

// structured reads the numbers of a test tool that answers with an object.
func structured(run *trace.Run, c *trace.Call) (*Summary, error) {
	body, err := Payload(run, c)
	if err != nil {
		return nil, err
	}
	for _, v := range []trace.Value{body, body.Get("summary"), body.Get("results"), body.Get("stats")} {
		s, known := Summary{Runner: "numbers", Counted: true}, false
		for _, f := range []struct {
			into *int
			keys []string
		}{
			{&s.Passed, []string{"passed", "numPassedTests", "passes", "succeeded"}},
			{&s.Failed, []string{"failed", "numFailedTests", "failures"}},
			{&s.Errors, []string{"errors", "numRuntimeErrorTestSuites"}},
			{&s.Skipped, []string{"skipped", "numPendingTests", "pending", "ignored"}},
		} {
			for _, key := range f.keys {
				if n, ok := v.Get(key).Int(); ok && n >= 0 && n < maxCount {
					*f.into = int(n)
					known = known || f.into == &s.Passed || f.into == &s.Failed
					break
				}
			}
		}
		if known {
			s.None = s.Total() == 0
			return &s, nil
		}
	}
	return nil, nil
}

// maxCount is more tests than anybody has; larger numbers are something else.
const maxCount = 1_000_000_000

// format recognises the summaries of one runner.
type format struct {
	name  string
	parse func(lines []string) (Summary, bool)
}

var formats = []format{
	{"go test", goTest},
	{"pytest", pytest},
	{"unittest", unittest},
	{"jest", jest},
	{"vitest", vitest},
	{"mocha", mocha},
	{"node", nodeTest},
	{"cargo", cargo},
	{"tap", tap},
	{"maven", maven},
	{"gradle", gradle},
	{"rspec", rspec},
	{"ctest", ctest},
	{"dotnet", dotnet},
	{"phpunit", phpunit},
	{"others", others},
}

// Runners lists the test runners whose summaries are read, and "any".
func Runners() []string {
	out := []string{"any"}
	for _, f := range formats {
		if f.name != "others" {
			out = append(out, f.name)
		}
	}
	slices.Sort(out)
	return out
}

// summarise adds up the summaries in a text: those of the runners that were
// invoked, and where none of theirs is found or one is not known, of any.
func summarise(text string, runners []string) *Summary {
	lines := outputLines(text)
	if s := summariseLines(lines, runners); s != nil {
		return s
	}
	bare := make([]string, len(lines))
	for i, line := range lines {
		bare[i] = origin.ReplaceAllString(line, "")
	}
	if slices.Equal(bare, lines) {
		return nil
	}
	return summariseLines(bare, runners)
}

// summariseLines adds up the summaries in the lines that may belong to one.
func summariseLines(lines, runners []string) *Summary {
	var found []Summary
	try := func(only []string) {
		for _, f := range formats {
			if only != nil && !slices.Contains(only, f.name) {
				continue
			}
			// node:test prints its counts below a protocol that holds the same tests.
			if f.name == "tap" && len(found) > 0 && found[len(found)-1].Runner == "node" {
				continue
			}
			if s, ok := f.parse(lines); ok {
				s.Runner = f.name
				found = append(found, s)
			}
		}
	}
	open := slices.Contains(runners, "any") || slices.Contains(runners, "script")
	if !open {
		try(runners)
	}
	if len(found) == 0 {
		try(nil)
	}
	if len(found) == 0 && slices.Contains(runners, "go test") && slices.Contains(lines, "FAIL") {
		found = []Summary{{Runner: "go test", Errors: 1}} // the last line of a run that failed
	}
	// Where the tests do not compile, they could not be run; a script may have been
	// told to compile and nothing else.
	if (slices.Contains(runners, "cargo") || slices.Contains(runners, "any")) && slices.ContainsFunc(lines, cargoCompile.MatchString) {
		found = append(found, Summary{Runner: "cargo", Errors: 1, Counted: true})
	}
	if len(found) == 0 {
		return nil
	}
	out := Summary{Runner: found[0].Runner, Counted: true, None: true}
	for _, s := range found {
		out.add(s)
	}
	return &out
}

func (s *Summary) add(o Summary) {
	s.Passed, s.Failed, s.Errors, s.Skipped = s.Passed+o.Passed, s.Failed+o.Failed, s.Errors+o.Errors, s.Skipped+o.Skipped
	s.Counted = s.Counted && o.Counted
	s.None = s.None && (o.None || o.Counted && o.Total() == 0)
}

var ansi = regexp.MustCompile("\x1b(\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(\x07|\x1b\\\\)|[@-Z\\\\-_])")

// stamp is the time that a CI system sets before each line.
var stamp = regexp.MustCompile(`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?\]? `)

// origin is what a tool that runs several programs sets before each line: the
// package and its script, or the service.
var origin = regexp.MustCompile(`^(?:[@\w./-]+(?::[\w.-]+)+: |[@\w./-]+ [\w:.-]+: |[\w.-]+ +\| |\[[@\w/.-]+\]:? )`)

// maxLine is longer than any line of a summary.
const maxLine = 1000

// telling holds a part of every line that a format looks at. Most of an output has
// none of them, and is passed over before the patterns are tried.
var telling = []string{
	"est", "TEST", "ok", "OK", "ass", "ail", "FAIL", "PASS", "kip", "SKIP", "rror", "end", "todo", "cancel", "xample", "runs", "1..", "!!!",
	"deselected", "INTERNAL", "coverage", "Action", "flaky", "interrupt", "BUILD", "no packages", "Summary", "Executed", "TAP", " | ", "otal", "ucce", "nterrupt", "Disabled", "Results", "did not",
}

// outputLines returns the lines of an output that may belong to a summary,
// without colours and apart from what a carriage return wrote over.
func outputLines(text string) []string {
	if strings.Contains(text, "\x1b") {
		text = ansi.ReplaceAllString(text, "")
	}
	var out []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = stamp.ReplaceAllString(line, "")
		if len(line) > maxLine && !strings.HasPrefix(line, `{"`) && !strings.HasPrefix(line, "<") {
			continue
		}
		if slices.ContainsFunc(telling, func(part string) bool { return strings.Contains(line, part) }) {
			out = append(out, line)
		}
	}
	return out
}

// number reads a count; 0 for what is none.
func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n >= maxCount {
		return 0
	}
	return n
}
