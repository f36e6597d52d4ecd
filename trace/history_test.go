package trace

import (
	"errors"
	"io"
	"testing"
)

// TestBehind reads the bodies of both parts again, alone and as the first half of
// a merged record.
func TestBehind(t *testing.T) {
	history := []byte("{\"a\":1}\n{\"a\":22}\n")
	own := source([]byte("{\"a\":3}\n"))
	run := NewRun(Behind(history, own), "test")
	for _, part := range []struct {
		src  Source
		base int64
	}{{source(history), -int64(len(history))}, {own, 0}} {
		sc := NewScanner(t.Context(), part.src)
		for sc.Next() {
			rec := sc.Record().Shifted(part.base)
			run.Calls = append(run.Calls, Call{Pos: rec.Pos, Args: rec.Get("a").Body(), Record: rec.Body()})
		}
		if err := sc.Finish(run); err != nil {
			t.Fatal(err)
		}
	}
	merged := Join(run, readCalls(t, `{"args":4}`))
	for i, want := range []string{"1", "22", "3", "4"} {
		for _, r := range []*Run{run, merged} {
			if i == len(run.Calls) && r == run {
				continue
			}
			raw, err := r.Body(r.Calls[i].Args)
			if err != nil || string(raw) != want {
				t.Errorf("call %d: %q, %v, want %s", i, raw, err, want)
			}
		}
		if i > 0 && !merged.Calls[i-1].Pos.Before(merged.Calls[i].Pos) {
			t.Errorf("call %d at %d does not follow %d", i, merged.Calls[i].Pos.Offset, merged.Calls[i-1].Pos.Offset)
		}
	}
	for _, b := range []Body{{Offset: -100, Length: 3}, {Offset: -2, Length: 5}} {
		if _, err := run.Body(b); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

func TestValue_Inner(t *testing.T) {
	const text = `{"object":"{\"cmd\": [\"a\", \"b\\n\"]}","list":"[1]","number":"12","word":"{\"cmd\":","plain":{"x":1},"none":null}`
	run, _ := firstBody(t, source([]byte(text)))
	sc := NewScanner(t.Context(), source([]byte(text)))
	if !sc.Next() {
		t.Fatal("no record")
	}
	for name, want := range map[string]string{
		"object": `{"cmd": ["a", "b\n"]}`, "list": `[1]`, "number": `"12"`, "word": `"{\"cmd\":"`, "plain": `{"x":1}`, "none": `null`, "absent": "",
	} {
		v, b := sc.Record().Get(name).Inner()
		if string(v.Raw()) != want {
			t.Errorf("%s: %s, want %s", name, v.Raw(), want)
		}
		raw, err := run.Body(b)
		if err != nil || string(raw) != want {
			t.Errorf("%s: body %s, %v, want %s", name, raw, err, want)
		}
		again, err := run.Value(b)
		if err != nil || string(again.Raw()) != want || again.Kind() != v.Kind() {
			t.Errorf("%s: value %s, %v, want %s", name, again.Raw(), err, want)
		}
	}
}
