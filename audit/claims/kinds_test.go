package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
)

// testKinds are kinds by their requirement; %s is the parameter path.
type testKinds map[string]string

func (k testKinds) Requirement(kind string, with map[string]string) (json.RawMessage, error) {
	if kind == "file_edited" {
		if with["path"] == "" {
			return nil, errors.New("file_edited needs path")
		}
		return json.RawMessage(fmt.Sprintf(k[kind], with["path"])), nil
	}
	return json.RawMessage(k[kind]), nil
}

func (k testKinds) Names() []string {
	return []string{"allowed", "any_ground", "bad", "ended", "envelopes", "file_edited", "grounded", "tests_pass"}
}

var kinds = testKinds{
	"tests_pass":  `{"must_show": [{"class": "test"}], "must_not_call": ["skip"]}`,
	"file_edited": `{"must_show": [{"class": "edit", "path": %q}]}`,
	"grounded":    `{"grounds": [{"from": {"tool": "a"}, "field": "x", "exists": true}]}`,
	"any_ground":  `{"grounds": {"any_of": [{"from": "a", "field": "x", "exists": true}, {"from": "b", "field": "x", "exists": true}]}}`,
	"ended":       `{"run": {"end": ["stop", "end_turn"], "no_pending": true}}`,
	"envelopes":   `{"envelope": {"cap": 20}}`,
	"bad":         `{"must_show": [{"class": "tests"}]}`,
}

func TestLoad_KindAddsUp(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"kind alone", `"kind": "tests_pass"`, `{"must_not_call":["skip"],"must_show":[{"class":"test"}]}`},
		{"the kind's come first", `"must_show": ["a"], "kind": "tests_pass"`, `{"must_not_call":["skip"],"must_show":[{"class":"test"},"a"]}`},
		{"other keys are added", `"kind": "tests_pass", "quotes": [{"text": "x"}]`, `{"must_not_call":["skip"],"must_show":[{"class":"test"}],"quotes":[{"text":"x"}]}`},
		{"parameters", `"kind": "file_edited", "with": {"path": "a\"b"}`, `{"must_show":[{"class":"edit","path":"a\"b"}]}`},
		{"a number as a parameter", `"kind": "file_edited", "with": {"path": 7}`, `{"must_show":[{"class":"edit","path":"7"}]}`},
		{"grounds", `"kind": "grounded", "grounds": [{"from": 1, "field": "y", "equals": 2}]`, `{"grounds":[{"exists":true,"field":"x","from":{"tool":"a"}},{"equals":2,"field":"y","from":1}]}`},
		{"grounds, all_of", `"kind": "grounded", "grounds": {"all_of": [{"from": 1, "field": "y", "equals": 2}]}`, `{"grounds":[{"exists":true,"field":"x","from":{"tool":"a"}},{"equals":2,"field":"y","from":1}]}`},
		{"grounds, any of one", `"kind": "grounded", "grounds": {"any_of": [{"from": 1, "field": "y", "equals": 2}]}`, `{"grounds":[{"exists":true,"field":"x","from":{"tool":"a"}},{"equals":2,"field":"y","from":1}]}`},
		{"ends that both allow", `"kind": "ended", "run": {"end": ["done", "stop"]}`, `{"run":{"end":["stop"],"no_pending":true}}`},
		{"pending is never allowed again", `"kind": "ended", "run": {"no_pending": false}`, `{"run":{"end":["stop","end_turn"],"no_pending":true}}`},
		{"the lower cap, own", `"kind": "envelopes", "envelope": {"cap": 5}`, `{"envelope":{"cap":5}}`},
		{"the lower cap, the kind's", `"kind": "envelopes", "envelope": {"cap": 100}`, `{"envelope":{"cap":20}}`},
		{"a schema of its own", `"kind": "envelopes", "envelope": {"schema": "good.json"}`, `{"envelope":{"cap":20,"schema":"good.json"}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := Load("c.json", []byte(`[{"claim": "x", `+c.text+`}]`), Options{Source: SourceFile, ReadFile: files, Kinds: kinds})
			if err != nil {
				t.Fatal(err)
			}
			if got := list[0]; string(got.Requirement) != c.want || got.Empty() || got.Kind == "" {
				t.Errorf("%s\nwant\n%s", got.Requirement, c.want)
			}
			// What is written out reads back as the same claim.
			again, err := Load("c.json", []byte(`[{"claim": "x", `+string(list[0].Requirement)[1:]+`]`), Options{ReadFile: files})
			if err != nil || string(again[0].Requirement) != c.want {
				t.Errorf("read again: %v, %v", again, err)
			}
		})
	}
}

func TestLoad_KindFaults(t *testing.T) {
	for _, c := range []struct {
		name, text, at string
		kind           Kind
		key, nearest   string
	}{
		{"unknown", `"kind": "test_pass"`, "1:25", UnknownKind, "kind", "tests_pass"},
		{"a number", `"kind": 7`, "1:25", WrongType, "kind", ""},
		{"parameters of no kind", `"with": {"a": "b"}`, "1:25", MissingKey, "with", ""},
		{"parameters in a list", `"kind": "tests_pass", "with": []`, "1:47", WrongType, "with", ""},
		{"a parameter that is a list", `"kind": "tests_pass", "with": {"a": []}`, "1:53", WrongType, "with", ""},
		{"an empty parameter", `"kind": "tests_pass", "with": {"a": ""}`, "1:53", MissingKey, "with", ""},
		{"a parameter is missing", `"kind": "file_edited"`, "1:25", BadValue, "with", ""},
		{"what the kind requires is bad", `"kind": "bad"`, "1:25", BadValue, "class", "test"},
		{"an empty list of its own", `"kind": "tests_pass", "must_show": []`, "1:52", EmptyList, "must_show", ""},
		{"a text of its own", `"kind": "tests_pass", "must_show": "a"`, "1:52", WrongType, "must_show", ""},
		{"any_of beside all_of", `"kind": "any_ground", "grounds": [{"from": 1, "field": "y", "equals": 2}]`, "1:50", BadValue, "grounds", ""},
		{"grounds of nothing", `"kind": "grounded", "grounds": {"all_of": []}`, "1:59", EmptyList, "grounds", ""},
		{"grounds are a number", `"kind": "grounded", "grounds": 7`, "1:48", WrongType, "grounds", ""},
		{"no end in common", `"kind": "ended", "run": {"end": ["done"]}`, "1:41", BadValue, "run", ""},
		{"run is a list", `"kind": "ended", "run": []`, "1:41", WrongType, "run", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load("c.json", []byte(`[{"claim": "x", `+c.text+`}]`), Options{Source: SourceFile, ReadFile: files, Kinds: kinds})
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%v, want an *Error", err)
			}
			if at := fmt.Sprintf("%d:%d", e.Line, e.Column); at != c.at || e.Kind != c.kind || e.Key != c.key || e.Nearest != c.nearest || e.File != "c.json" {
				t.Errorf("%v: at %s, kind %s, key %q, nearest %q; want %s, %s, %q, %q", e, at, e.Kind, e.Key, e.Nearest, c.at, c.kind, c.key, c.nearest)
			}
		})
	}
}

// TestLoadOne_Kind: the agent's own claim keeps its words where its kind is none.
func TestLoadOne_Kind(t *testing.T) {
	c, err := LoadOne("t", []byte(`{"kind":"nothing","claim":"x","id":"a"}`), 1, Options{Source: SourceTrace, Kinds: kinds})
	if err == nil || c.ID != "a" || c.Text != "x" || c.Kind != "nothing" || !c.Empty() {
		t.Errorf("%+v, %v", c, err)
	}
}
