package trace

import (
	"fmt"
	"slices"
	"testing"
)

func value(t *testing.T, text string) Value {
	t.Helper()
	v, err := ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestPairs(t *testing.T) {
	run := &Run{}
	p := NewPairs(run)
	result := func(id ID, line int, text string) bool {
		_, fresh := p.Result(id, Position{Line: line}, value(t, text), Value{})
		return fresh
	}
	p.AddBatch("m1", []Call{{ID: "a", Tool: "x"}, {ID: "b", Tool: "y"}})
	p.AddBatch("m2", []Call{{ID: "a", Tool: "x"}})
	result("a", 4, `"second"`) // the nearest call under the id
	result("a", 5, `"first"`)
	if result("a", 6, `"first"`) {
		t.Error("the same result once more is taken for another")
	}
	result("a", 7, `"third"`)
	result("zz", 8, `"nobody's"`)
	result("", 9, `1`)
	p.Add(Call{Tool: "nameless"})
	if _, ok := p.Open("b"); !ok {
		t.Error("b is not open")
	}
	if _, ok := p.Open("a"); ok {
		t.Error("a is open")
	}
	if len(p.Known("a")) != 3 {
		t.Errorf("%v are known as a", p.Known("a"))
	}
	p.Finish()
	var got []string
	for _, c := range run.Calls {
		got = append(got, fmt.Sprintf("%s %s %d %v", c.ID, c.Batch, c.ResultPos.Line, c.ResultOnly))
	}
	want := []string{"a m1 5 false", "b m1 0 false", "a  4 false", "a  7 true", "zz  8 true", "  9 true", "  0 false"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(run.Gaps) != 1 || run.Gaps[0].Pos.Line != 8 {
		t.Errorf("gaps %v", run.Gaps)
	}
}

func TestPairs_Repeats(t *testing.T) {
	p := NewPairs(&Run{})
	args := value(t, `{"a":1}`).Body()
	p.Add(Call{ID: "a", Tool: "x", Args: args})
	for i, tt := range []struct {
		c    Call
		want bool
	}{
		{Call{ID: "a", Tool: "x", Args: args}, true},
		{Call{ID: "b", Tool: "x", Args: args}, false},
		{Call{ID: "a", Tool: "y", Args: args}, false},
		{Call{ID: "a", Tool: "x", Args: value(t, `{"a":2}`).Body()}, false},
		{Call{Tool: "x", Args: args}, false},
	} {
		if got := p.Repeats(&tt.c); got != tt.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

func TestTalk(t *testing.T) {
	const call, ask = "call", "?"
	for _, tt := range []struct {
		name string
		said []string // a prompt begins with a question mark
		want string
	}{
		{"nothing", nil, ""},
		{"one answer", []string{"?do", "done"}, "done"},
		{"behind the last call", []string{"?do", "I will", call, "done", "really"}, "done\n\nreally"},
		{"ends with a call", []string{"?do", "I will", call}, ""},
		{"the last turn", []string{"?do", "done", "?more", "done more"}, "done more"},
		{"a prompt without an answer", []string{"?do", "done", "?thanks"}, "done"},
		{"a prompt answered by a call", []string{"?do", "done", "?more", call}, ""},
		{"blanks", []string{"?do", "done", "? ", " "}, "done"},
	} {
		var talk Talk
		for i, s := range tt.said {
			switch {
			case s == call:
				talk.Called()
			case s[:1] == ask:
				talk.Prompt(s[1:])
			default:
				talk.Said(s, Position{Line: i + 1})
			}
		}
		run := &Run{}
		talk.Finish(run)
		if run.Summary != tt.want || (run.Summary != "") != run.SummaryPos.Set() {
			t.Errorf("%s: %q at %+v", tt.name, run.Summary, run.SummaryPos)
		}
		if len(tt.said) > 0 && run.Task != "do" {
			t.Errorf("%s: task %q", tt.name, run.Task)
		}
	}
}
