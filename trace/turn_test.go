package trace

import (
	"bytes"
	"testing"
)

func TestConclude(t *testing.T) {
	text := []byte(`["ask","one","two","more","three"]`)
	src := Source{Name: "x", Size: int64(len(text)), ReaderAt: bytes.NewReader(text)}
	list, err := ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	says := map[string]Body{}
	for v := range list.Elements() {
		says[v.Text()] = v.Body()
	}
	prompt := func(what string) Turn { return Turn{Texts: []Body{says[what]}} }
	said := func(what ...string) Turn {
		turn := Turn{ID: what[0], Agent: true}
		for _, w := range what {
			turn.Texts = append(turn.Texts, says[w])
		}
		return turn
	}
	acted := func(what string) Turn { return Turn{Agent: true, Acted: true, Texts: []Body{says[what]}} }
	for _, tt := range []struct {
		name, summary string
		turns         []Turn
	}{
		{"the last words", "one", []Turn{prompt("ask"), acted("two"), said("one")}},
		{"nothing behind the last call", "", []Turn{prompt("ask"), said("one"), acted("two")}},
		{"a prompt that was answered", "two", []Turn{prompt("ask"), said("one"), prompt("more"), said("two")}},
		{"one that was not", "one", []Turn{prompt("ask"), said("one"), prompt("more")}},
		{"one message of two texts", "one\ntwo", []Turn{prompt("ask"), said("one", "two")}},
		{"two messages", "one\n\ntwo", []Turn{prompt("ask"), said("one"), said("two")}},
		{"one that does not count", "one", []Turn{prompt("ask"), said("one"), said("three")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := NewRun(src, "test")
			if err := run.Conclude(tt.turns, func(turn Turn) bool { return turn.ID != "three" }); err != nil {
				t.Fatal(err)
			}
			if run.Summary != tt.summary || run.Task != "ask" {
				t.Errorf("summary %q, task %q", run.Summary, run.Task)
			}
		})
	}
}

func TestTree(t *testing.T) {
	for _, tt := range []struct {
		name  string
		links [][2]string // id and parent, in order
		want  string      // the ids that are live
	}{
		{"a line", [][2]string{{"a", ""}, {"b", "a"}, {"c", "b"}}, "abc"},
		{"a branch that was left", [][2]string{{"a", ""}, {"b", "a"}, {"c", "a"}}, "ac"},
		{"one that comes back", [][2]string{{"a", ""}, {"b", "a"}, {"c", "a"}, {"d", "b"}}, "abd"},
		{"a beginning that is missing", [][2]string{{"a", ""}, {"b", "a"}, {"d", "lost"}}, "abd"},
		{"a ring", [][2]string{{"a", "b"}, {"b", "a"}}, "ab"},
		{"nothing", nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var tree Tree
			for i, l := range tt.links {
				pos := Position{Line: i + 1, Offset: int64(i)}
				if !tree.Add(l[0], l[1], pos) || tree.Add(l[0], "x", pos) {
					t.Errorf("%s is not new, or new twice", l[0])
				}
			}
			live, got := tree.Live(), ""
			for i, l := range tt.links {
				if live(Turn{ID: l[0], Pos: Position{Line: i + 1, Offset: int64(i)}}) {
					got += l[0]
				}
			}
			if got != tt.want || !live(Turn{}) {
				t.Errorf("live are %q, want %q", got, tt.want)
			}
		})
	}
}
