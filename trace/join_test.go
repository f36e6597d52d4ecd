package trace

import (
	"io"
	"slices"
	"strings"
	"testing"
)

// readCalls makes a run of calls out of lines with id, parent and batch.
func readCalls(t *testing.T, text string) *Run {
	t.Helper()
	src := source([]byte(text))
	run := NewRun(src, "test")
	sc := NewScanner(t.Context(), src)
	for sc.Next() {
		rec := sc.Record()
		c := Call{ID: rec.Get("id").ID(), Parent: rec.Get("parent").ID(), Batch: rec.Get("batch").Text(), Tool: "t", Pos: rec.Pos, Record: rec.Body(), Args: rec.Get("args").Body()}
		if result := rec.Get("result"); result.Given() {
			c.Result, c.ResultPos = result.Body(), rec.Pos
		}
		run.Calls = append(run.Calls, c)
	}
	if err := sc.Finish(run); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestJoin_BodiesOfBothHalves(t *testing.T) {
	first := readCalls(t, "{\"id\":\"c1\",\"args\":{\"n\":1},\"result\":\"one\"}\n{\"id\":\"c2\",\"args\":{\"n\":2}}")
	second := readCalls(t, "{\"id\":\"c1\",\"args\":{\"n\":3},\"result\":\"three\"}\nnot JSON\n{\"args\":{\"n\":4},\"result\":\"four\"}\n")
	joined := Join(first, second)
	var got []string
	last := int64(-1)
	for _, c := range joined.Calls {
		args, err := joined.Body(c.Args)
		if err != nil {
			t.Fatal(err)
		}
		result, err := joined.Body(c.Result)
		if err != nil {
			t.Fatal(err)
		}
		record, err := joined.Body(c.Record)
		if err != nil || !strings.Contains(string(record), string(args)) {
			t.Errorf("record %s, %v", record, err)
		}
		got = append(got, string(args)+string(result))
		if c.Pos.Offset <= last {
			t.Errorf("call at %d follows one at %d", c.Pos.Offset, last)
		}
		last = c.Pos.Offset
		if c.ResultPos.Set() && c.ResultPos.Offset != c.Pos.Offset {
			t.Errorf("the result of the call at %d is at %d", c.Pos.Offset, c.ResultPos.Offset)
		}
	}
	if want := []string{`{"n":1}"one"`, `{"n":2}`, `{"n":3}"three"`, `{"n":4}"four"`}; !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	if len(joined.BadLines) != 1 {
		t.Errorf("bad lines %v", joined.BadLines)
	}
	if args, err := second.Body(second.Calls[0].Args); err != nil || string(args) != `{"n":3}` {
		t.Errorf("joining changed the second run: %s, %v", args, err)
	}
}

func TestJoin_Ids(t *testing.T) {
	for _, c := range []struct{ name, first, second string }{
		{"same ids", `{"id":"c1"} {"id":"c2"}`, `{"id":"c1"} {"id":"c2"}`},
		{"text and number", `{"id":1} {"id":"1"}`, `{"id":1} {"id":"1"}`},
		{"a prefix that is taken", `{"id":"rerun:c1"} {"id":"rerun:\"c1\""}`, `{"id":"c1"}`},
		{"a re-run of a re-run", `{"id":"c1"} {"id":"rerun:\"c1\""} {"parent":"rererun:x"}`, `{"id":"c1"} {"id":"rerun:\"c1\""}`},
	} {
		joined := Join(readCalls(t, c.first), readCalls(t, c.second))
		seen := map[ID]bool{}
		for _, call := range joined.Calls {
			if call.ID != "" && seen[call.ID] {
				t.Errorf("%s: the id %s stands twice", c.name, call.ID)
			}
			seen[call.ID] = true
		}
	}
}

func TestJoin_ParentsAndBatches(t *testing.T) {
	const text = `{"id":"p","batch":"b"} {"id":"k","parent":"p","batch":"b"} {"parent":"p"}`
	joined := Join(readCalls(t, text), readCalls(t, text))
	for half := range 2 {
		parent, kid, other := joined.Calls[3*half], joined.Calls[3*half+1], joined.Calls[3*half+2]
		if kid.Parent != parent.ID || other.Parent != parent.ID || kid.Batch != parent.Batch || other.ID != "" || other.Batch != "" {
			t.Errorf("half %d: parent %+v, child %+v, other %+v", half, parent, kid, other)
		}
	}
	if joined.Calls[0].ID == joined.Calls[3].ID || joined.Calls[0].Batch == joined.Calls[3].Batch {
		t.Error("the halves share an id or a batch")
	}
}

func TestJoin_ReadsOverTheSeam(t *testing.T) {
	p := joined(source([]byte("abc")), source([]byte("defg")))
	for _, c := range []struct {
		off  int64
		n    int
		want string
		err  error
	}{
		{0, 3, "abc", nil},
		{3, 4, "defg", nil},
		{5, 2, "fg", nil},
		{1, 4, "bc", io.ErrUnexpectedEOF},
		{6, 4, "g", io.EOF},
	} {
		b := make([]byte, c.n)
		n, err := p.ReadAt(b, c.off)
		if string(b[:n]) != c.want || err != c.err {
			t.Errorf("ReadAt(%d bytes, %d) gave %q, %v, want %q, %v", c.n, c.off, b[:n], err, c.want, c.err)
		}
	}
}
