package outcome

import (
	"testing"
)

func TestWithoutHead(t *testing.T) {
	for text, want := range map[string]string{
		"Chunk ID: 1\nWall time: 1.0 seconds\nProcess exited with code 1\nOriginal token count: 2\nOutput:\nFAIL\nOutput:\nx": "FAIL\nOutput:\nx",
		"Exit code: 0\r\nWall time: 0 seconds\r\nOutput:\r\nok\r\n":                                                           "ok\r\n",
		"Wall time: 0.0 seconds\nOutput:\nExit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.":                              "Success.",
		"Wall time: 0.0 seconds\nOutput:":          "",
		"Wall time: 5.6 seconds\naborted by user":  "Wall time: 5.6 seconds\naborted by user",
		"Exit code: 1\n\n\n\n\n\n\n\n\n\nOutput:x": "Exit code: 1\n\n\n\n\n\n\n\n\n\nOutput:x",
		"plain\nOutput:\nx":                        "plain\nOutput:\nx",
		"":                                         "",
	} {
		if got := withoutHead(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestOutput_Head(t *testing.T) {
	run, c := first(t, call("exec_command", `"result":"Wall time: 1\nProcess exited with code 0\nOutput:\n4\n"`))
	run.Format = "codex"
	if got, err := Output(run, c); err != nil || got != "4\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestCwd_URI(t *testing.T) {
	run, c := first(t, call("exec_command", `"args":{"command":["ls"],"cwd":"file:///srv/app"}`))
	if got, err := Commands(run, c); err != nil || len(got.Commands) != 1 || got.Commands[0].Cwd != "/srv/app" {
		t.Errorf("%+v, %v", got, err)
	}
}
