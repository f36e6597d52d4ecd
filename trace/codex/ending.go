package codex

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"nightaudit/trace"
)

// The words for Call.Status that this reader sets.
const (
	denied  = "denied"
	running = "running"
	unknown = "unknown" // the record tells nothing
)

// ending is what a text says of the end of a call.
type ending struct {
	hasCode bool
	code    int32
	failed  trace.Flag
	status  string
	proc    string // the process that is still running
}

// How Codex words that a call never ran, and that it failed.
var (
	deniedTexts = []string{
		"patch rejected", "exec command rejected", "approval policy is ", "rejected by user", "command rejected",
		"user rejected MCP tool call", "user cancelled MCP tool call", "This action was rejected",
	}
	failedTexts = []string{
		"apply_patch verification failed", "execution error", "failed in sandbox ", "unsupported call", "unsupported custom tool call",
		"failed to parse function arguments", "exec_command failed", "write_stdin failed", "aborted by user", "aborted", "tool call error",
	}
	// What Codex's own small tools answer when they fail; a shell may print such words.
	toolFailedTexts = []string{"failed to ", "unable to ", "unsupported ", "invalid ", "unknown ", "error", "Error"}
)

// readEnding reads the result of a call, a text or blocks of text, or what stands
// as JSON in a text.
func readEnding(tool string, out trace.Value) ending {
	if code := out.Path("metadata", "exit_code"); code.Given() {
		if n, ok := code.ExitCode(); ok {
			return ending{hasCode: true, code: n}
		}
		return ending{status: unknown}
	}
	text := opening(out)
	if e, ok := readHead(text); ok {
		return e
	}
	if refused(text) {
		return ending{status: denied}
	}
	for _, t := range failedTexts {
		if strings.HasPrefix(text, t) {
			if code, ok := exitCodeIn(text); ok && code != 0 {
				return ending{hasCode: true, code: code}
			}
			return ending{failed: trace.FlagTrue}
		}
	}
	if mute(tool) {
		return ending{status: unknown}
	}
	for _, t := range toolFailedTexts {
		if strings.HasPrefix(text, t) {
			return ending{failed: trace.FlagTrue}
		}
	}
	return ending{}
}

// refused tells whether a text begins with the words of a refusal.
func refused(text string) bool {
	return slices.ContainsFunc(deniedTexts, func(t string) bool { return strings.HasPrefix(text, t) })
}

// mute tells of a tool whose result says nothing by itself: what a command, a
// server or a patch prints. The others are Codex's own, which answer a failure in
// Codex's own words.
func mute(tool string) bool {
	switch tool {
	case "", "exec_command", "shell", "shell_command", "local_shell", "container.exec", "unified_exec", "exec", "apply_patch":
		return true
	default:
		return strings.Contains(tool, "__")
	}
}

// opening is the text with which a result begins. Blocks are its lines: the head
// stands in one of its own.
func opening(out trace.Value) string {
	if out.Kind() == trace.KindString {
		return strings.TrimLeft(out.Text(), " \r\n\t")
	}
	if out.Kind() == trace.KindObject && out.Get("content").Kind() == trace.KindString {
		return opening(out.Get("content")) // before 0.20: {"content", "success"}
	}
	var parts []string
	for block := range out.Elements() {
		if parts = append(parts, block.Get("text").Text()); len(parts) == 3 {
			break
		}
	}
	return strings.Join(parts, "\n")
}

// maxHead is how many lines the head of a result has at most.
const maxHead = 10

// readHead reads the lines above `Output:` with which Codex reports on a command.
// False where the text has none that says anything.
func readHead(text string) (ending, bool) {
	lines := strings.SplitN(text, "\n", maxHead+1)
	if !isHead(lines[0]) {
		return ending{}, false
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		if strings.HasPrefix(line, "aborted by user") {
			return ending{failed: trace.FlagTrue}, true
		}
		for _, word := range []string{"Process exited with code ", "Exit code: "} {
			if rest, ok := strings.CutPrefix(line, word); ok {
				return exited(rest), true
			}
		}
		if id, ok := strings.CutPrefix(line, "Process running with session ID "); ok {
			return ending{status: running, proc: strings.TrimSpace(id)}, true
		}
		if line == "Output:" {
			// A patch that was given as a command has a head of its own within.
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "Exit code: ") {
				return exited(strings.TrimPrefix(lines[i+1], "Exit code: ")), true
			}
			return ending{}, false
		}
	}
	return ending{}, false
}

func isHead(line string) bool {
	for _, word := range []string{"Chunk ID: ", "Wall time: ", "Process exited with code ", "Process running with session ID ", "Exit code: "} {
		if strings.HasPrefix(line, word) {
			return true
		}
	}
	return false
}

// exited reads a code; one that cannot be read tells nothing.
func exited(text string) ending {
	code, ok := number(text)
	if !ok {
		return ending{status: unknown}
	}
	return ending{hasCode: true, code: code}
}

// exitCodeIn finds the code that a failure of the sandbox names.
func exitCodeIn(text string) (int32, bool) {
	line, _, _ := strings.Cut(text, "\n")
	_, rest, ok := strings.Cut(line, "exit code: ")
	if !ok {
		return 0, false
	}
	return number(rest)
}

// number reads the integer at the beginning of a text; what does not fit becomes
// the nearest that does.
func number(text string) (int32, bool) {
	n := 0
	if strings.HasPrefix(text, "-") {
		n = 1
	}
	digits := n
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	if n == digits {
		return 0, false
	}
	code, err := strconv.ParseInt(text[:n], 10, 64)
	if err != nil && text[0] == '-' {
		return math.MinInt32, true
	}
	if err != nil {
		return math.MaxInt32, true
	}
	return int32(max(math.MinInt32, min(code, math.MaxInt32))), true
}
