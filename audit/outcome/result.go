package outcome

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"nightaudit/trace"
)

var (
	pendingStatus   = words("running", "in_progress", "pending", "background", "backgrounded", "timed_out", "timeout", "started")
	deniedStatus    = words("denied", "rejected", "declined", "blocked")
	cancelledStatus = words("cancelled", "canceled", "aborted")
	failedStatus    = words("error", "failed", "failure", "denied")

	deniedText = regexp.MustCompile(`(?i)user (rejected|denied|declined|doesn't want)|\b(is|are) not allowed\b|has not been granted|requires approval|blocked by (hook|policy)`)

	errorLike = regexp.MustCompile(`(?i)^(error|failed|failure|fatal|exception|traceback|panic|unable to|could not|couldn't|cannot)\b`)
)

func words(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, w := range list {
		m[w] = true
	}
	return m
}

// reading looks into one call's bodies, each at most once.
type reading struct {
	view    *View
	run     *trace.Run
	call    *trace.Call
	classes Set
	loaded  bool
	result  trace.Value
	text    string
	err     error
}

// load reads the result and its text.
func (r *reading) load() {
	if r.loaded {
		return
	}
	r.loaded = true
	if r.result, r.err = r.run.Value(r.call.Result); r.err != nil {
		return
	}
	r.text, r.err = Output(r.run, r.call)
}

// notRun recognises calls that were refused or called off before they ran.
func (r *reading) notRun(t *Tables) (Outcome, bool) {
	status := strings.ToLower(r.call.Status)
	switch {
	case deniedStatus[status]:
		return Outcome{Kind: Denied, Evidence: Status, Detail: r.call.Status}, true
	case cancelledStatus[status]:
		return Outcome{Kind: Cancelled, Evidence: Status, Detail: r.call.Status}, true
	}
	if r.call.OK == trace.FlagTrue || r.call.IsError == trace.FlagFalse || r.call.HasExit && r.call.ExitCode == 0 {
		return Outcome{}, false
	}
	r.load()
	// Only of a call that is known not to have succeeded: an ok call may well
	// print such words.
	if r.notOK() {
		if deniedText.MatchString(head(r.text)) || begins(r.text, t.DeniedStarts) {
			return Outcome{Kind: Denied, Evidence: Text, Detail: r.firstLine()}, true
		}
	}
	if begins(r.text, t.CancelledStarts) {
		return Outcome{Kind: Cancelled, Evidence: Text, Detail: r.firstLine()}, true
	}
	return Outcome{}, false
}

// notOK tells whether the record says that the call did not succeed: by a flag, or
// where there is none by its status or an error.
func (r *reading) notOK() bool {
	if r.call.OK == trace.FlagAbsent && r.call.IsError == trace.FlagAbsent {
		return failedStatus[strings.ToLower(r.call.Status)] || r.hasError()
	}
	return r.call.OK == trace.FlagFalse || r.call.IsError == trace.FlagTrue
}

// inBackground is how a shell tool says that it no longer waits for a command that
// it was told not to wait for.
var inBackground = regexp.MustCompile(`(?i)\bbackground`)

// started recognises a command that goes on without anybody waiting for it: its
// result tells that it was started, and nothing yet of its end. Where a reader has
// found the end in a later record, an exit code or the word completed says so.
func (r *reading) started(t *Tables) (Outcome, bool) {
	if !r.classes[ClassShell] || strings.EqualFold(r.call.Status, "completed") || r.notOK() {
		return Outcome{}, false
	}
	shell, err := r.view.parse()
	if err != nil {
		r.err = err
		return Outcome{}, false
	}
	_, coded := r.exitInResult()
	coded = coded || r.call.HasExit
	together := r.call.ResultPos == r.call.Pos // the record of the start is all there is
	words := begins(strings.TrimSpace(r.text), t.StartedStarts) || r.result.Get("backgroundTaskId").Text() != "" ||
		shell.Background && inBackground.MatchString(head(r.text))
	if words && (together || !coded) || shell.Background && together && !coded {
		return Outcome{Kind: Pending, Evidence: NoEnd, Detail: "it was started in the background"}, true
	}
	return Outcome{}, false
}

// begins tells whether a text begins with one of the starts.
func begins(text string, starts []string) bool {
	return slices.ContainsFunc(starts, func(s string) bool { return strings.HasPrefix(text, s) })
}

// exitInResult finds an exit code that stands in an object result.
func (r *reading) exitInResult() (int32, bool) {
	r.load()
	for _, key := range []string{"exit_code", "exitCode", "return_code", "returncode"} {
		v := r.result.Get(key)
		if code, ok := v.ExitCode(); ok && !bytes.ContainsAny(v.Raw(), ".eE") {
			return code, true
		}
	}
	return 0, false
}

// testsFailed recognises a test run that says itself that tests failed: whatever
// the exit code, which a pipe may have hidden.
func (r *reading) testsFailed() (Outcome, bool) {
	if !r.classes.any(ClassShell, ClassTest) {
		return Outcome{}, false
	}
	s, err := r.view.Tests()
	if err != nil {
		r.err = err
		return Outcome{}, false
	}
	if s == nil || !s.Failing() {
		return Outcome{}, false
	}
	return Outcome{Kind: Error, Evidence: TestsFailed, Detail: s.String()}, true
}

// changeFailed is what a shell says of a directory that it could not change to.
var changeFailed = regexp.MustCompile(`(?m)(^|: )(cd|pushd): .*(No such file|[Nn]ot a directory|[Pp]ermission denied|can't cd|HOME not set)`)

// accepts tells whether an exit code other than 0 is an answer of the command.
func (r *reading) accepts(code int32) bool {
	if !r.classes[ClassShell] {
		return false
	}
	shell, err := r.view.parse()
	if err != nil {
		r.err = err
		return false
	}
	if !shell.Accepts(code) {
		return false
	}
	if r.load(); shell.chdir && changeFailed.MatchString(head(r.text)) {
		return false // the code is that of cd
	}
	return true
}

// httpFailure finds an HTTP status of 400 and more.
func (r *reading) httpFailure() (string, bool) {
	r.load()
	status := r.result.Get("status")
	isHTTP := r.call.Envelope || r.classes[ClassHTTP] ||
		r.result.Get("body").Kind() != trace.KindAbsent || r.result.Get("headers").Kind() != trace.KindAbsent
	if nested := r.result.Path("response", "status"); nested.Kind() == trace.KindNumber {
		status, isHTTP = nested, true
	}
	code, ok := status.Int()
	if !ok || !isHTTP || code < 400 || code > 599 {
		return "", false
	}
	return "HTTP status " + strconv.FormatInt(code, 10), true
}

// softFailure finds a structured body that says failure although no flag does.
// What a read, a search or a shell returned is somebody's data, never a report.
func (r *reading) softFailure() (string, bool) {
	if r.classes.any(ClassRead, ClassSearch, ClassShell) {
		return "", false
	}
	r.load()
	structured, err := r.run.Value(r.call.Structured)
	if err != nil {
		r.err = err
		return "", false
	}
	for _, body := range []trace.Value{r.result, structured, r.result.Get("structuredContent"), r.result.Get("body"), jsonBlock(r.result)} {
		if why := saysFailure(body); why != "" {
			return why, true
		}
	}
	return "", false
}

// jsonBlock returns the object in a result that is exactly one text of JSON.
func jsonBlock(result trace.Value) trace.Value {
	text, ok := singleText(result)
	if !ok {
		return trace.Value{}
	}
	v, err := trace.ParseValue([]byte(text))
	if err != nil {
		return trace.Value{}
	}
	return v
}

// saysFailure returns the words of an object that report a failure.
func saysFailure(body trace.Value) string {
	if body.Kind() != trace.KindObject {
		return ""
	}
	switch {
	case body.Get("success").Flag() == trace.FlagFalse:
		return "success is false"
	case body.Get("ok").Flag() == trace.FlagFalse:
		return "ok is false"
	case body.Get("isError").Flag() == trace.FlagTrue:
		return "isError is true"
	case failedStatus[strings.ToLower(body.Get("status").Text())]:
		return "status is " + body.Get("status").Text()
	}
	if e := body.Get("error"); nonEmpty(e) {
		return "error: " + short(string(e.Raw()))
	}
	for _, list := range []string{"verify", "checks", "steps"} {
		for step := range body.Get(list).Elements() {
			for _, key := range []string{"exit_code", "exitCode", "return_code", "returncode", "exit"} {
				if code, ok := step.Get(key).Int(); ok && code != 0 {
					return list + " holds a step that exited with " + strconv.FormatInt(code, 10)
				}
			}
		}
	}
	return ""
}

func nonEmpty(v trace.Value) bool {
	switch v.Kind() {
	case trace.KindString, trace.KindArray, trace.KindObject:
		raw := v.Raw()
		return len(bytes.TrimSpace(raw[1:len(raw)-1])) > 0
	case trace.KindBool:
		return v.Flag() == trace.FlagTrue
	default:
		return false
	}
}

// hasError tells whether the record itself holds an error that says something.
func (r *reading) hasError() bool {
	v, err := r.run.Value(r.call.Error)
	if err != nil {
		r.err = err
		return false
	}
	return nonEmpty(v) || v.Kind() == trace.KindNumber && v.Float() != 0
}

// byText recognises failures by how the result's text begins.
func (r *reading) byText(t *Tables) (Outcome, bool) {
	r.load()
	// Some wrappers set a warning sign before their words. Digits and punctuation are
	// content: the number of a file's line, the mark of a heading.
	text := strings.TrimLeftFunc(r.text, func(c rune) bool {
		return unicode.IsSpace(c) || unicode.Is(unicode.So, c) || unicode.Is(unicode.M, c)
	})
	if begins(text, t.FailureStarts) {
		return Outcome{Kind: Error, Evidence: Text, Detail: r.firstLine()}, true
	}
	if r.classes.any(ClassShell, ClassRead, ClassSearch, ClassAgent) || !errorLike.MatchString(text) {
		return Outcome{}, false
	}
	return Outcome{Kind: Suspect, Evidence: Text, Detail: r.firstLine()}, true
}

// firstLine returns the first line of the result's text, without secrets and
// shortened, in this order: half a secret would not be known as one.
func (r *reading) firstLine() string {
	r.load()
	line, _, _ := strings.Cut(strings.TrimSpace(start(r.text, 4096)), "\n")
	return short(line)
}

func short(s string) string {
	const most = 160
	runes := []rune(trace.Redact(start(s, 4096)))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most]) + "…"
}

// start returns at most the first bytes of a text, whole characters only.
func start(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// head is as much of a text as a refusal is looked for in: refusals are short,
// and a long output that quotes one is not one.
func head(s string) string { return start(s, 2000) }
