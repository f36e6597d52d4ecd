package trace

import (
	"errors"
	"io"
	"testing"
)

func TestSpill(t *testing.T) {
	var spill Spill
	own := source([]byte(`{"own":1}`))
	run := NewRun(spill.Source(own), "test")
	bodies := []Body{spill.Add([]byte(` {"a": 1} `)), value(t, `{"own":1}`).Body(), spill.Add([]byte(`"b"`)), spill.Add([]byte("no JSON"))}
	for i, want := range []string{`{"a": 1}`, `{"own":1}`, `"b"`, ""} {
		if raw, err := run.Body(bodies[i]); err != nil || string(raw) != want {
			t.Errorf("%d: %q, %v, want %q", i, raw, err, want)
		}
	}
	// A merged record reads the spilled values of the first run as they are.
	run.Calls = []Call{{Args: bodies[2]}}
	merged := Join(run, NewRun(source([]byte("{}")), "test"))
	if raw, err := merged.Body(merged.Calls[0].Args); err != nil || string(raw) != `"b"` {
		t.Errorf("merged: %q, %v", raw, err)
	}
	beyond := bodies[2]
	beyond.Length++
	if _, err := run.Body(beyond); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("beyond the end: %v", err)
	}
}
