package rules

import (
	"errors"
	"strings"
	"testing"

	"nightaudit/audit/claims"
)

// TestCalls_Faults: what is wrong in a table is named with its place and with what
// is allowed.
func TestCalls_Faults(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"unknown key", "calls:\n  tool: []", `2:3: unknown key "tool"; did you mean "tools"?`},
		{"no class", "calls:\n  tools: [{tool: x}]", "2:11: a tool needs its name (tool) and its class"},
		{"unknown class", "calls:\n  tools: [{tool: x, class: shel}]", `there is no class "shel"; there are edit, read`},
		{"class is no text", "calls:\n  tools: [{tool: x, class: 3}]", "class must be"},
		{"no program", "calls:\n  programs: [{answers: [1]}]", "a program needs its name"},
		{"a program with a folder", "calls:\n  programs: [{program: /bin/x}]", "without its folder"},
		{"four words", "calls:\n  programs: [{program: a b c d}]", "at most two words of a subcommand"},
		{"an answer that is success", "calls:\n  programs: [{program: x, answers: [0]}]", "answers must be a whole number from 1 to 255"},
		{"an answer that is no number", "calls:\n  programs: [{program: x, answers: [one]}]", "answers must be a whole number"},
		{"unknown runner", "calls:\n  programs: [{program: x, runner: pytst}]", "there are any, cargo, ctest"},
		{"unknown use", "calls:\n  programs: [{program: x, operands: eat}]", "none of read, write, remove"},
		{"wrapper", "calls:\n  wrappers: [{program: x, input: yes please}]", "input must be true or false"},
		{"empty list", "calls:\n  marks: []", "marks"},
		{"empty mark", "calls:\n  marks: ['']", "marks"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("p.yaml", []byte(c.text))
			var fault *claims.Error
			if !errors.As(err, &fault) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// TestTables: the packs' tables add up, the later one's entry stands, and the
// built-in ones stay as they are.
func TestTables(t *testing.T) {
	parse := func(text string) *Pack {
		p, err := Parse("p.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := parse("calls: {tools: [{tool: Put, class: edit}, {tool: bash, class: read}], marks: [gone], programs: [{program: x  y, answers: [2]}]}")
	second := parse("calls: {tools: [{tool: put, class: read}], denied: ['No.']}")
	got := Default().With(first).With(second).Tables()
	if got.Tools["put"] != "read" || got.Tools["bash"] != "read" || !got.IsMark(" gone ") || len(got.Programs["x y"].Answers) != 1 {
		t.Errorf("%v %v", got.Tools["put"], got.Programs["x y"])
	}
	if denied := got.DeniedStarts; denied[len(denied)-1] != "No." {
		t.Errorf("denied %q", denied)
	}
	if plain := Default().Tables(); plain.Tools["bash"] != "shell" || plain.Tools["put"] != "" || plain.IsMark("gone") {
		t.Error("the built-in tables were changed")
	}
}
