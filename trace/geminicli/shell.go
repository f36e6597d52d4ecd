package geminicli

import (
	"slices"
	"strconv"
	"strings"
)

// End is how a command ended. The zero End: it cannot be told.
type End struct {
	Known     bool // Code is its exit code
	Code      int32
	Signalled bool // a signal ended it
	Started   bool // it was started, and did not come to its end
}

// marks are the lines that the shell tool sets behind a command's output, in the
// order in which it writes them.
var marks = []string{"Error: ", "Exit Code: ", "Signal: ", "Background PIDs: ", "Process Group PGID: "}

// ShellEnd reads the lines behind a command's output. Older versions, and Qwen
// Code's, write each of them always, `Exit Code: 0` and `Signal: (none)` too; newer
// ones only those that say something, so that no exit code beside the process group
// means 0. They are read from the end, each at most once and in their order, so that
// a command that prints such a line itself is not taken for the tool. Display is
// what the user was shown: where it ends in the line, the line is the command's.
func ShellEnd(output, display string) End {
	if slices.ContainsFunc(unfinished, func(start string) bool { return strings.HasPrefix(output, start) }) {
		return End{Started: true}
	}
	lines := behind(output)
	for _, mark := range marks {
		if strings.HasSuffix(strings.TrimSpace(display), mark+lines[mark]) {
			delete(lines, mark)
		}
	}
	code, coded := lines[marks[1]]
	_, group := lines[marks[4]]
	switch {
	case given(code) || code == "0":
		n, err := strconv.ParseInt(code, 10, 32)
		return End{Known: err == nil, Code: int32(n)}
	case given(lines[marks[2]]):
		return End{Signalled: true}
	default:
		return End{Known: group && !coded && !given(lines[marks[0]])}
	}
}

// unfinished begin the outputs of commands that went on, or were stopped.
var unfinished = []string{
	"Command moved to background", "Background command started", "Command was cancelled by user before it could complete",
	"Command was automatically cancelled", "Command timed out",
}

// given tells whether one of the tool's lines says something.
func given(text string) bool { return text != "" && text != "(none)" && text != "0" }

// behind returns the tool's lines at the end of an output.
func behind(output string) map[string]string {
	output = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(output), "</untrusted_context>"))
	found := map[string]string{}
	for next := len(marks) - 1; next >= 0; {
		at := strings.LastIndexByte(output, '\n')
		line := strings.TrimSpace(output[at+1:])
		for next >= 0 && !strings.HasPrefix(line, marks[next]) {
			next--
		}
		if next < 0 || at < 0 {
			break
		}
		found[marks[next]] = strings.TrimSpace(strings.TrimPrefix(line, marks[next]))
		output = output[:at]
		next--
	}
	return found
}
