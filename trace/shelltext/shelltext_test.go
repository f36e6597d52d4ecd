package shelltext

import (
	"math"
	"testing"
)

func code(n int32) End { return End{Known: true, HasCode: true, Code: n} }

var (
	failed  = End{Known: true, Failed: true}
	nothing = End{}
)

func TestGemini(t *testing.T) {
	for text, want := range map[string]End{
		"": nothing, "plain output\nExit Code: 1": nothing,
		"<untrusted_context>\nOutput: ok 1 test\nProcess Group PGID: 2\n</untrusted_context>":                              code(0),
		"<untrusted_context>\nOutput: boom\nExit Code: 1\nProcess Group PGID: 2\n</untrusted_context>":                     code(1),
		"Command: make\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 0\nSignal: 0\nProcess Group PGID: 3": code(0),
		"Command: make\nDirectory: (root)\nOutput: x\nError: (none)\nExit Code: 137\nSignal: 9\nProcess Group PGID: 3":     code(137),
		"Command: make\nOutput: x\nError: (none)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 3":                     failed,
		"Command: make\nOutput: x\nError: spawn ENOENT\nExit Code: (none)\nSignal: (none)":                                 failed,
		"Output: x\nError: spawn ENOENT": nothing,
		"Output: x\nSignal: SIGKILL":     nothing,
		// What the command itself prints is not looked at.
		"Command: make\nOutput: Exit Code: 1\nmore\nError: (none)\nExit Code: 0\nSignal: 0": code(0),
		"Output: Exit Code: 1\nmore":                       code(0),
		"Output: a\nExit Code: x":                          nothing,
		"Output: a\nExit Code: 99999999999999999999":       code(math.MaxInt32),
		"Output: a\r\nExit Code: -2\r\nBackground PIDs: 7": code(-2),
		"Command was cancelled by the user.":               failed,
		"Command timed out after 5 minutes.":               failed,
		"Command moved to background (PID: 7).":            {Known: true, Running: true},
		"Output:":                                          code(0),
	} {
		if got := Gemini(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func TestCodex(t *testing.T) {
	for text, want := range map[string]End{
		"": nothing, "Plan updated": nothing, "Process exited": nothing, "Output:\nExit code: 1": nothing,
		"Chunk ID: a\nWall time: 1 seconds\nProcess exited with code 1\nOriginal token count: 4\nOutput:\nProcess exited with code 0": code(1),
		"Exit code: 0\r\nWall time: 0 seconds\r\nOutput:\r\nok":                                                                       code(0),
		"Wall time: 0 seconds\nOutput:\nExit code: 2\nWall time":                                                                      code(2),
		"Wall time: 0 seconds\nOutput:\nnothing":                                                                                      nothing,
		"Wall time: 5.6 seconds\naborted by user":                                                                                     failed,
		"Chunk ID: a\nWall time: 1.0 seconds\nProcess running with session ID 62868\nOutput:\n":                                       {Known: true, Running: true, Process: "62868"},
		"exec command rejected by user":                                                                                               {Known: true, Denied: true},
		"Process exited with code -99999999999999999999":                                                                              code(math.MinInt32),
		"Wall time: 1\nProcess exited with code ?":                                                                                    nothing,
		"Wall time: 1": nothing,
	} {
		if got := Codex(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}

func FuzzEnd(f *testing.F) {
	f.Add("Output: a\nExit Code: 1\nSignal: 0")
	f.Add("Chunk ID: a\nProcess exited with code 1\nOutput:\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, end := range []End{Gemini(text), Codex(text)} {
			if !end.Known && end != (End{}) || end.HasCode && (end.Failed || end.Running || end.Denied) {
				t.Errorf("%q: %+v", text, end)
			}
		}
	})
}
