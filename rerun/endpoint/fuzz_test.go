package endpoint

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
)

// FuzzAccept: whatever a server sends becomes either an answer that go-openai can
// read, whose calls have ids and arguments that are objects, or an *Error.
func FuzzAccept(f *testing.F) {
	for _, body := range []string{okBody, "[" + okBody + "]", `{"error":"x"}`, `{"errors":[{"code":1}]}`, `{"detail":[{"loc":["a",1],"msg":"m"}]}`, "data: x", "<html>", ""} {
		f.Add([]byte(body))
	}
	f.Add([]byte(callWith(`[{"id":"1","function":{"name":"status","arguments":{"a":1}}},{"function":{}}]`, `null`)))
	c, err := New(Options{Name: "fuzz", BaseURL: "http://localhost/v1", Model: "m"})
	if err != nil {
		f.Fatal(err)
	}
	p, err := c.Prepare(testRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		x := &exchange{client: c, prepared: p, status: 200, header: http.Header{}}
		normal, err := x.accept(body)
		if e := (*Error)(nil); err != nil {
			if !errors.As(err, &e) || e.Class == "" || e.Billed == "" || e.Message == "" || normal != nil {
				t.Fatalf("accept() = %q, %+v", normal, err)
			}
		} else if !json.Valid(normal) {
			t.Fatalf("accept() = %q", normal)
		}
		seen := map[string]bool{"": true}
		for _, call := range x.answer.calls {
			if seen[call.ID] || (call.Arguments == nil) == (call.BadArguments == "") || (call.Arguments != nil && call.Arguments[0] != '{') {
				t.Fatalf("call %+v", call)
			}
			seen[call.ID] = true
		}
		_ = x.refused(body, false)
	})
}
