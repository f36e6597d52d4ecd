// Package shelltext reads what agents write around the output of a command where
// no field holds its exit code: text in, what it says of the command's end out. It
// looks only at the lines that the agent itself writes, and knows no format of
// traces.
package shelltext

import (
	"math"
	"strconv"
	"strings"
)

// End is what a text says of the end of a command.
type End struct {
	// Known tells whether the text says anything; the rest is empty where not.
	Known bool
	// HasCode and Code are the exit code.
	HasCode bool
	Code    int32
	// Failed is set where it failed without an exit code: killed, or not started.
	Failed bool
	// Denied is set where it was refused before it ran.
	Denied bool
	// Running is set where it goes on; Process is the number by which it is known.
	Running bool
	Process string
}

func exited(text string) End {
	code, ok := number(text)
	return End{Known: ok, HasCode: ok, Code: code}
}

// Gemini reads the lines that Gemini CLI and Qwen Code write below a command's
// output. Both begin the text with what was run or with Output; Gemini leaves the
// exit code out where it is 0.
func Gemini(text string) End {
	text = strings.TrimSpace(text)
	text = strings.TrimSpace(strings.TrimPrefix(text, "<untrusted_context>"))
	switch {
	case strings.HasPrefix(text, "Command was "), strings.HasPrefix(text, "Command timed out"):
		return End{Known: true, Failed: true}
	case strings.HasPrefix(text, "Command moved to background"), strings.HasPrefix(text, "Background command started"):
		return End{Known: true, Running: true}
	case !strings.HasPrefix(text, "Output:") && !strings.HasPrefix(text, "Command:"):
		return End{}
	}
	end := exited("0")
	for text != "" {
		start := strings.LastIndexByte(text, '\n') + 1
		line := strings.TrimSpace(text[start:])
		text = text[:max(start-1, 0)]
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "Exit Code":
			if value != "(none)" {
				return exited(value)
			}
			return End{Known: true, Failed: true}
		case "Signal", "Error":
			if value != "" && value != "(none)" && value != "0" {
				end = End{} // the agent's own words, or the last that the command printed
			}
		case "", "</untrusted_context>", "Process Group PGID", "Background PIDs":
		default:
			return end
		}
	}
	return end
}

// headWords begin the lines above `Output:` with which Codex reports on a command,
// maxHead is how many there are at most.
var headWords = []string{"Chunk ID: ", "Wall time: ", "Process exited with code ", "Process running with session ID ", "Exit code: "}

const maxHead = 10

// How Codex words that a call never ran.
var codexDenied = []string{
	"patch rejected", "exec command rejected", "approval policy is ", "rejected by user", "command rejected",
	"user rejected MCP tool call", "user cancelled MCP tool call", "This action was rejected",
}

// Codex reads the lines that Codex writes above a command's output.
func Codex(text string) End {
	text = strings.TrimLeft(text, " \r\n\t")
	if beginsWith(text, codexDenied) {
		return End{Known: true, Denied: true}
	}
	lines := strings.SplitN(text, "\n", maxHead+1)
	if !beginsWith(lines[0], headWords) {
		return End{}
	}
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		switch {
		case strings.HasPrefix(line, "aborted by user"):
			return End{Known: true, Failed: true}
		case strings.HasPrefix(line, "Process exited with code "):
			return exited(strings.TrimPrefix(line, "Process exited with code "))
		case strings.HasPrefix(line, "Exit code: "):
			return exited(strings.TrimPrefix(line, "Exit code: "))
		case strings.HasPrefix(line, "Process running with session ID "):
			return End{Known: true, Running: true, Process: strings.TrimSpace(strings.TrimPrefix(line, "Process running with session ID "))}
		case line == "Output:":
			// A patch that was given as a command has a head of its own within.
			if i+1 < len(lines) && strings.HasPrefix(lines[i+1], "Exit code: ") {
				return exited(strings.TrimPrefix(lines[i+1], "Exit code: "))
			}
			return End{}
		}
	}
	return End{}
}

func beginsWith(text string, words []string) bool {
	for _, w := range words {
		if strings.HasPrefix(text, w) {
			return true
		}
	}
	return false
}

// number reads the integer at the beginning of a text; what does not fit becomes
// the nearest that does, so that nothing but 0 is read as 0.
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
