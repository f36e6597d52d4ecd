package claims

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestPublishedSchema holds docs/claims.schema.json to the loader: what the loader
// takes the schema takes, and what is wrong by shape both refuse. Patterns, globs
// and double ids are the loader's alone.
func TestPublishedSchema(t *testing.T) {
	data, err := os.ReadFile("../../docs/claims.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("claims.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("claims.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	check := func(text []byte) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return
		}
		n++
		_, loadErr := Load("c.json", text, Options{Source: SourceFile, ReadFile: func(string) ([]byte, error) { return []byte(`{"name": "t"}`), nil }})
		if schemaErr := schema.Validate(v); (loadErr == nil) != (schemaErr == nil) {
			t.Errorf("%s\nloader: %v\nschema: %v", text, loadErr, schemaErr)
		}
	}
	for _, file := range []string{"claims.jsonl", "cases.jsonl"} {
		f, err := os.Open("../../testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		sc := bufio.NewScanner(f)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var row struct{ Claims json.RawMessage }
			if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			text := []byte(row.Claims)
			var s string
			if json.Unmarshal(text, &s) == nil {
				text = []byte(s)
			}
			check(text)
		}
	}
	for _, text := range []string{
		`[{"claim":"x","must_show":[{}]}]`, `[{"claim":"x","must_show":[{"class":"edits"}]}]`, `[{"claim":"x","must_show":[{"tool":"a","child":false}]}]`,
		`[{"claim":"x","count":[{"of":"a"}]}]`, `[{"claim":"x","run":{}}]`, `[{"claim":"x","run":{"no_pending":false}}]`, `[{"claim":"x","quotes":["a"]}]`,
		`[{"claim":"x","grounds":[{"from":"c1","field":"a","equals":1,"exists":true}]}]`, `[{"claim":"x","grounds":[{"from":{"tool":"a","pick":"latest"},"field":"a","min":1}]}]`,
		`[{"claim":"x","no_duplicates":[{"tool":"create_*","key":"args.idempotency_key"}]}]`, `[{"claim":"x","no_duplicates":[{"tool":"create_*","key":"idempotency_key"}]}]`,
		`[{"claim":"x","coverage":[{"path":"a","lines":0}]}]`, `[{"claim":"x","envelope":{"cap":0}}]`, `[{"claim":"x","envelope":{"schema":["a","b"],"cap":1}}]`,
	} {
		check([]byte(text))
	}
	if n < 100 {
		t.Errorf("only %d claims files were compared", n)
	}
}
