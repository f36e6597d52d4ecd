package outcome

import "strings"

// maxHead is how many lines such a head has at most.
const maxHead = 10

// withoutHead takes away the lines with which Codex reports on a command above
// what the command printed:
//
//	Chunk ID: 274e8f
//	Wall time: 9.9758 seconds
//	Process exited with code 1
//	Output:
//
// A patch that was given as a command has a second head within.
func withoutHead(text string) string {
	for range 2 {
		rest, ok := cutHead(text)
		if !ok {
			break
		}
		text = rest
	}
	return text
}

func cutHead(text string) (string, bool) {
	begins := false
	for _, word := range []string{"Chunk ID: ", "Wall time: ", "Process ", "Exit code: "} {
		begins = begins || strings.HasPrefix(text, word)
	}
	for range maxHead {
		line, rest, more := strings.Cut(text, "\n")
		if strings.TrimSuffix(line, "\r") == "Output:" {
			return rest, begins
		}
		if !more {
			break
		}
		text = rest
	}
	return "", false
}
