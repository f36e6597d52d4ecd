package claims

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

const goodSchema = `[{"name":"t","inputSchema":{"type":"object","required":["a"]}}]`

// files are the schema files that tests name.
func files(name string) ([]byte, error) {
	switch name {
	case "good.json":
		return []byte(goodSchema), nil
	case "bad.json":
		return []byte(`{"name":"t","type":7}`), nil
	}
	return nil, fs.ErrNotExist
}

func TestLoad_OneFault(t *testing.T) {
	for _, c := range []struct {
		name, file, text string
		at               string // line:column, "" for none
		kind             Kind
		key, nearest     string
	}{
		{"empty file", "c.json", " \n", "", BadJSON, "", ""},
		{"not UTF-8", "c.json", "[\n {\"claim\":\"\xff\"}]", "2:12", BadJSON, "", ""},
		{"cut off", "c.json", "[{\"claim\":\"x\"}\n", "2:1", BadJSON, "", ""},
		{"trailing comma", "c.json", "[\n {\"claim\": \"x\",}\n]", "2:16", BadJSON, "", ""},
		{"bad literal", "c.json", "[\n {\"claim\": tru}\n]", "2:12", BadJSON, "", ""},
		{"colon missing", "c.json", "[\n {\"claim\" \"x\"}\n]", "2:11", BadJSON, "", ""},
		{"something behind", "c.json", "[{\"claim\":\"x\"}]\n\n [", "3:2", BadJSON, "", ""},
		{"column counts characters", "c.json", "[{\"claim\":\"éé\", x}]", "1:17", BadJSON, "", ""},
		{"too deep", "c.json", "[" + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "]", "1:101", BadJSON, "", ""},
		{"key twice", "c.json", "[{\"claim\":\"x\",\n\"claim\":\"y\"}]", "2:1", BadJSON, "claim", ""},
		{"key twice, escaped", "c.json", "[{\"claim\":\"x\",\n \"\\u0063laim\":\"y\"}]", "2:2", BadJSON, "claim", ""},
		{"comment in JSON", "c.json", "// x\n[]", "1:1", BadJSON, "", ""},
		{"no list", "c.json", "7", "1:1", WrongType, "claims", ""},
		{"empty list", "c.json", " []", "1:2", EmptyList, "claims", ""},
		{"claims missing", "c.json", "\n{}", "2:1", MissingKey, "claims", ""},
		{"claims is null", "c.json", "{\"claims\": null}", "1:12", WrongType, "claims", ""},
		{"claims misspelt", "c.json", "{\"claim\": []}", "1:2", UnknownKey, "claim", "claims"},
		{"claim is a string", "c.json", "[{\"claim\":\"x\"},\n  \"y\"]", "2:3", WrongType, "claims", ""},
		{"claim missing", "c.json", "[{\"claim\":\"x\"},\n {\"must_show\":[\"a\"]}]", "2:2", MissingKey, "claim", ""},
		{"claim empty", "c.json", "[{\"claim\":\"\"}]", "1:11", MissingKey, "claim", ""},
		{"claim is a number", "c.json", "[{\"claim\":7}]", "1:11", WrongType, "claim", ""},
		{"key misspelt", "c.json", "[\n{\"claim\":\"x\", \"must_shew\":[\"a\"]}]", "2:15", UnknownKey, "must_shew", "must_show"},
		{"key far from all", "c.json", "[{\"claim\":\"x\",\"frobnicate\":1}]", "1:15", UnknownKey, "frobnicate", ""},
		{"quotes empty", "c.json", "[{\"claim\":\"x\",\"quotes\":[]}]", "1:24", EmptyList, "quotes", ""},
		{"key in capitals", "c.json", "[{\"claim\":\"x\",\"Must_show\":[\"a\"]}]", "1:15", UnknownKey, "Must_show", "must_show"},
		{"trace's keys in a file", "c.json", "[{\"claim\":\"x\",\"type\":\"claim\"}]", "1:15", UnknownKey, "type", ""},
		{"kind", "c.json", "[{\"claim\":\"x\",\"kind\":\"tests_pass\"}]", "1:22", UnknownKind, "kind", ""},
		{"must_show empty", "c.json", "[{\"claim\":\"x\",\"must_show\": []}]", "1:28", EmptyList, "must_show", ""},
		{"must_show no list", "c.json", "[{\"claim\":\"x\",\"must_show\":\"a\"}]", "1:27", WrongType, "must_show", ""},
		{"must_show of numbers", "c.json", "[{\"claim\":\"x\",\"must_show\":[\"a\",7]}]", "1:32", WrongType, "must_show", ""},
		{"matcher of nothing", "c.json", `[{"claim":"x","must_show":[{}]}]`, "1:28", MissingKey, "must_show", ""},
		{"matcher of nothing but a pick", "c.json", `[{"claim":"x","must_show":[{"pick":"all"}]}]`, "1:28", MissingKey, "must_show", ""},
		{"matcher key misspelt", "c.json", `[{"claim":"x","must_show":[{"clas":"edit"}]}]`, "1:29", UnknownKey, "clas", "class"},
		{"class unknown", "c.json", `[{"claim":"x","must_show":[{"class":"edits"}]}]`, "1:37", BadValue, "class", "edit"},
		{"cmd is no pattern", "c.json", `[{"claim":"x","must_show":[{"cmd":"("}]}]`, "1:35", BadValue, "cmd", ""},
		{"path is no glob", "c.json", `[{"claim":"x","must_show":[{"path":"a[","class":"edit"}]}]`, "1:36", BadValue, "path", ""},
		{"status unknown", "c.json", `[{"claim":"x","must_show":[{"tool":"a","status":"fail"}]}]`, "1:49", BadValue, "status", ""},
		{"pick unknown", "c.json", `[{"claim":"x","must_show":[{"tool":"a","pick":"last"}]}]`, "1:47", BadValue, "pick", "latest"},
		{"after unknown", "c.json", `[{"claim":"x","must_show":[{"tool":"a","after":"last_edits"}]}]`, "1:48", BadValue, "after", ""},
		{"tests of nothing", "c.json", `[{"claim":"x","must_show":[{"tool":"a","tests":{}}]}]`, "1:48", MissingKey, "tests", ""},
		{"tests of a fraction", "c.json", `[{"claim":"x","must_show":[{"tool":"a","tests":{"total":1.5}}]}]`, "1:57", BadValue, "total", ""},
		{"output of nothing", "c.json", `[{"claim":"x","must_show":[{"tool":"a","output":{}}]}]`, "1:49", MissingKey, "output", ""},
		{"child is false", "c.json", `[{"claim":"x","must_show":[{"tool":"a","child":false}]}]`, "1:48", BadValue, "child", ""},
		{"recovery unknown", "c.json", `[{"claim":"x","must_not_fail":[{"tool":"a","recovery":"verify"}]}]`, "1:55", BadValue, "recovery", ""},
		{"status in must_not_fail", "c.json", `[{"claim":"x","must_not_fail":[{"tool":"a","status":"ok"}]}]`, "1:44", UnknownKey, "status", ""},
		{"count of nothing", "c.json", `[{"claim":"x","count":[{"equals":1}]}]`, "1:24", MissingKey, "of", ""},
		{"count without a number", "c.json", `[{"claim":"x","count":[{"of":"a"}]}]`, "1:24", MissingKey, "count", ""},
		{"count with equals and max", "c.json", `[{"claim":"x","count":[{"of":"a","equals":1,"max":2}]}]`, "1:24", BadValue, "count", ""},
		{"distinct begins elsewhere", "c.json", `[{"claim":"x","count":[{"of":"a","equals":1,"distinct":"file_path"}]}]`, "1:56", BadValue, "distinct", ""},
		{"coverage without lines", "c.json", `[{"claim":"x","coverage":[{"path":"a"}]}]`, "1:27", MissingKey, "coverage", ""},
		{"quote is a string", "c.json", `[{"claim":"x","quotes":["a"]}]`, "1:25", WrongType, "quotes", ""},
		{"run of nothing", "c.json", `[{"claim":"x","run":{"no_pending":false}}]`, "1:21", MissingKey, "run", ""},
		{"end empty", "c.json", `[{"claim":"x","run":{"end":[]}}]`, "1:28", EmptyList, "end", ""},
		{"ground by matcher of nothing", "c.json", `[{"claim":"x","grounds":[{"from":{"pick":"latest"},"field":"a","equals":1}]}]`, "1:34", MissingKey, "from", ""},
		{"empty tool name", "c.json", "[{\"claim\":\"x\",\"must_not_fail\":[\"\"]}]", "1:32", BadValue, "must_not_fail", ""},
		{"id twice", "c.json", "[{\"claim\":\"x\",\"id\":\"a\"},\n{\"claim\":\"y\",\"id\":\"a\"}]", "2:1", DuplicateID, "id", ""},
		{"id is another's default", "c.json", "[{\"claim\":\"x\",\"id\":\"c2\"},\n{\"claim\":\"y\"}]", "2:1", DuplicateID, "id", ""},
		{"id is a number", "c.json", "[{\"claim\":\"x\",\"id\":7}]", "1:20", WrongType, "id", ""},
		{"grounds with two kinds", "c.json", "[{\"claim\":\"x\",\"grounds\":{\"all_of\":[],\"any_of\":[]}}]", "1:25", BadValue, "grounds", ""},
		{"grounds of another kind", "c.json", "[{\"claim\":\"x\",\"grounds\":{\"allof\":[]}}]", "1:26", UnknownKey, "allof", "all_of"},
		{"grounds empty", "c.json", "[{\"claim\":\"x\",\"grounds\":{\"any_of\":[]}}]", "1:35", EmptyList, "grounds", ""},
		{"operator misspelt", "c.json", "[{\"claim\":\"x\",\"grounds\":[{\"from\":1,\"field\":\"a\",\"equal\":1}]}]", "1:48", UnknownKey, "equal", "equals"},
		{"two operators", "c.json", "[{\"claim\":\"x\",\"grounds\":[{\"from\":1,\"field\":\"a\",\"equals\":1,\"min\":1}]}]", "1:26", BadValue, "grounds", ""},
		{"empty segment", "c.json", "[{\"claim\":\"x\",\"grounds\":[{\"from\":1,\"field\":\"a..b\",\"equals\":1}]}]", "1:26", BadValue, "grounds", ""},
		{"cap of a fraction", "c.json", "[{\"claim\":\"x\",\"envelope\":{\"cap\":2.0}}]", "1:33", BadValue, "cap", ""},
		{"cap of zero", "c.json", "[{\"claim\":\"x\",\"envelope\":{\"cap\":0}}]", "1:33", BadValue, "cap", ""},
		{"cap in quotes", "c.json", "[{\"claim\":\"x\",\"envelope\":{\"cap\":\"2\"}}]", "1:33", BadValue, "cap", ""},
		{"schema list empty", "c.json", "[{\"claim\":\"x\",\"envelope\":{\"schema\":[]}}]", "1:36", EmptyList, "schema", ""},
		{"schema gone", "c.json", "[{\"claim\":\"x\",\"envelope\":{\"schema\":\"gone.json\"}}]", "1:36", BadSchema, "schema", ""},
		{"schema bad", "c.json", "[{\"claim\":\"x\",\"envelope\":{\"schema\":[\"good.json\",\"bad.json\"]}}]", "1:49", BadSchema, "schema", ""},

		{"empty YAML", "c.yaml", "\n", "", BadYAML, "", ""},
		{"only a comment", "c.yaml", "# nothing\n", "", BadYAML, "", ""},
		{"YAML not UTF-8", "c.yml", "- claim: x\n- claim: \xff\n", "2:10", BadYAML, "", ""},
		{"tab", "c.yaml", "- claim: x\n\tmust_show: [a]\n", "2:1", BadYAML, "", ""},
		{"anchor", "c.yaml", "- claim: &a x\n", "1:10", BadYAML, "", ""},
		{"alias", "c.yaml", "- claim: &a x\n- claim: *a\n", "1:10", BadYAML, "", ""},
		{"anchor on a list", "c.yaml", "- claim: x\n  must_show: &t [a]\n", "2:14", BadYAML, "", ""},
		{"alias of nothing", "c.yaml", "- claim: *a\n", "", BadYAML, "", ""},
		{"merge key", "c.yaml", "- {claim: x, <<: {id: a}}\n", "1:3", BadYAML, "", ""},
		{"YAML key twice", "c.yaml", "- claim: x\n  claim: y\n", "2:3", BadYAML, "claim", ""},
		{"two documents", "c.yaml", "- claim: x\n---\n- claim: y\n", "2:1", BadYAML, "", ""},
		{"a list as a key", "c.yaml", "- ? [a]\n  : b\n", "1:3", BadYAML, "", ""},
		{"YAML key misspelt", "c.yaml", "- claim: x\n  must_shown: [a]\n", "2:3", UnknownKey, "must_shown", "must_show"},
		{"YAML null", "c.yaml", "- claim:\n  id: a\n", "1:9", WrongType, "claim", ""},
		{"YAML wrong type", "c.yaml", "claims:\n  - claim: x\n    must_show: [true]\n", "3:17", WrongType, "must_show", ""},
		{"octal or decimal", "c.yaml", "- claim: x\n  grounds: [{from: 0777, field: a, equals: 1}]\n", "2:20", BadYAML, "", ""},
		{"underscore in a number", "c.yaml", "- claim: x\n  grounds: [{from: a, field: a, equals: 1_000}]\n", "2:41", BadYAML, "", ""},
		{"infinity", "c.yaml", "- claim: x\n  grounds: [{from: a, field: a, equals: .inf}]\n", "2:41", BadYAML, "", ""},
		{"number without a whole part", "c.yaml", "- claim: x\n  grounds: [{from: a, field: a, equals: .5}]\n", "2:41", BadYAML, "", ""},
		{"a tag that lies", "c.yaml", "- claim: x\n  grounds: [{from: a, field: a, equals: !!int true}]\n", "2:41", BadYAML, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			list, err := Load(c.file, []byte(c.text), Options{Source: SourceFile, ReadFile: files})
			var e *Error
			if !errors.As(err, &e) || list != nil {
				t.Fatalf("Load gave %v, %v, want an *Error alone", list, err)
			}
			at := ""
			if e.Line > 0 {
				at = fmt.Sprintf("%d:%d", e.Line, e.Column)
			}
			if at != c.at || e.Kind != c.kind || e.Key != c.key || e.Nearest != c.nearest || e.File != c.file || e.Detail == "" {
				t.Errorf("%v: at %s, kind %s, key %q, nearest %q; want %s, %s, %q, %q", e, at, e.Kind, e.Key, e.Nearest, c.at, c.kind, c.key, c.nearest)
			}
			if prefix := c.file + ":" + at; !strings.HasPrefix(e.Error(), prefix) {
				t.Errorf("the message %q does not begin with %s", e, prefix)
			}
		})
	}
}

func load(t *testing.T, file, text string) []Claim {
	t.Helper()
	list, err := Load(file, []byte(text), Options{Source: SourceFile, ReadFile: files})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestLoad_Claims(t *testing.T) {
	const asJSON = `{"claims": [
 {"claim": "first", "must_show": ["a", "b"], "must_not_fail": ["c"]},
 {"claim": "second", "id": "two", "grounds": {"any_of": [{"from": 7, "field": "x.y", "min": 1, "max": 2.5}, {"from": "7", "field": "z", "in": [1, "a", null]}]}},
 {"claim": "third", "envelope": {"schema": ["good.json"], "cap": 20}},
 {"claim": "fourth"}
]}`
	const asYAML = `claims:
  - {claim: first, must_show: [a, b], must_not_fail: [c]}
  - claim: second
    id: two
    grounds:
      any_of:
        - {from: 7, field: x.y, min: 1, max: 2.5}
        - {from: "7", field: z, in: [1, a, null]}
  - claim: third
    envelope: {schema: [good.json], cap: 20}
  - claim: |-
      fourth
`
	one, two := load(t, "c.json", asJSON), load(t, "c.yaml", asYAML)
	for _, list := range [][]Claim{one, two, load(t, "claims.txt", "\xef\xbb\xbf"+asJSON), load(t, "claims", asYAML)} {
		if len(list) != 4 {
			t.Fatalf("%d claims, want 4", len(list))
		}
		if c := list[0]; c.ID != "c1" || c.Text != "first" || c.Line != 2 || c.Source != SourceFile || len(c.MustShow) != 2 || c.MustShow[0].Tool != "a" || c.MustShow[1].Tool != "b" || len(c.MustNotFail) != 1 || c.MustNotFail[0].Tool != "c" || c.Empty() {
			t.Errorf("first: %+v", c)
		}
		c := list[1]
		if c.ID != "two" || c.Grounds == nil || !c.Grounds.Any || len(c.Grounds.List) != 2 {
			t.Fatalf("second: %+v", c)
		}
		if g := c.Grounds.List[0]; g.From != "7" || g.Op != Between || *g.Min != "1" || *g.Max != "2.5" || g.Field != "x.y" {
			t.Errorf("first ground: %+v", g)
		}
		if g := c.Grounds.List[1]; g.From != `"7"` || g.Op != In || len(g.Value.([]any)) != 3 {
			t.Errorf("second ground: %+v", g)
		}
		if c := list[2]; c.Envelope == nil || c.Envelope.Cap != 20 || len(c.Envelope.Schemas) != 1 || c.Envelope.Schemas[0].Tools["t"] == nil || c.Envelope.Schemas[0].SHA256 != sum([]byte(goodSchema)) {
			t.Errorf("third: %+v", c.Envelope)
		}
		if c := list[3]; c.ID != "c4" || c.Text != "fourth" || !c.Empty() || string(c.Requirement) != "{}" {
			t.Errorf("fourth: %+v", c)
		}
	}
	for i := range one {
		if string(one[i].Requirement) != string(two[i].Requirement) {
			t.Errorf("claim %d: %s in JSON, %s in YAML", i+1, one[i].Requirement, two[i].Requirement)
		}
	}
}

// A long file must not be counted through once for every token: that took minutes
// for this one.
func TestLoad_ManyClaims(t *testing.T) {
	const many = 20_000
	text := "[\r\n" + strings.Repeat("  {\"claim\": \"ä\", \"must_show\": [\"x\"]},\r\n", many)
	start := time.Now()
	list, err := Load("c.json", []byte(text+`{"claim": "last", "must_show": ["x"]}]`), Options{})
	if err != nil || len(list) != many+1 || list[many].Line != many+2 {
		t.Fatalf("%d claims, %v", len(list), err)
	}
	_, err = Load("c.json", []byte(text+`  {"claim": "ä", "must_shw": ["x"]}]`), Options{})
	var fault *Error
	if !errors.As(err, &fault) || fault.Line != many+2 || fault.Column != 18 {
		t.Errorf("%v", err)
	}
	if d := time.Since(start); d > 30*time.Second {
		t.Errorf("took %v", d)
	}
}

// TestLoad_YAMLScalars reads what YAML 1.1 and 1.2 see differently.
func TestLoad_YAMLScalars(t *testing.T) {
	for text, want := range map[string]any{
		"yes": "yes", "no": "no", "on": "on", "off": "off", "y": "y", "NO": "NO",
		"true": true, "True": true, "false": false, "FALSE": false, "'true'": "true", "!!str true": "true",
		"null": nil, "~": nil, "''": "", "\"null\"": "null",
		"5": json.Number("5"), "-5": json.Number("-5"), "+5": json.Number("5"), "5.50": json.Number("5.50"), "1e3": json.Number("1e3"),
		"0x1F": json.Number("31"), "0o17": json.Number("15"), "'5'": "5", "!!str 5": "5", "1:30": "1:30", "12:30:45": "12:30:45",
		"2026-08-01": "2026-08-01", "2026-08-01T10:00:00Z": "2026-08-01T10:00:00Z", "1.2.3": "1.2.3",
		"123456789012345678901234567890": json.Number("123456789012345678901234567890"),
		"0.1000000000000000055511151231": json.Number("0.1000000000000000055511151231"),
	} {
		c := load(t, "c.yaml", "- claim: x\n  grounds: [{from: a, field: a, equals: "+text+"}]\n")[0]
		if got := c.Grounds.List[0].Value; got != want {
			t.Errorf("%s is %#v, want %#v", text, got, want)
		}
	}
}

func TestLoad_BigNumbersSurvive(t *testing.T) {
	const big = "123456789012345678901234567890123456789"
	for _, file := range []string{"c.json", "c.yaml"} {
		c := load(t, file, `[{"claim": "x", "grounds": [{"from": `+big+`, "field": "a", "min": -`+big+`.5, "max": `+big+`}]}]`)[0]
		g := c.Grounds.List[0]
		if string(g.From) != big || string(*g.Min) != "-"+big+".5" || string(*g.Max) != big || !strings.Contains(string(c.Requirement), `"max":`+big) {
			t.Errorf("%s: %+v, %s", file, g, c.Requirement)
		}
	}
}

func TestLoadOne(t *testing.T) {
	c, err := LoadOne("t", []byte(`{"type":"claim","ts":1,"claim":"x","must_show":["a"]}`), 3, Options{Source: SourceTrace})
	if err != nil || c.ID != "c3" || c.Source != SourceTrace || string(c.Requirement) != `{"must_show":["a"]}` {
		t.Errorf("%+v, %v", c, err)
	}
	for _, text := range []string{`{"claim":"x","foo":1}`, `{"claim":"x","claim":"y"}`, `{"claim":"x","envelope":{"schema":"good.json"}}`, `7`, `{"type":"claims"}`} {
		if c, err := LoadOne("t", []byte(text), 3, Options{Source: SourceTrace}); err == nil || c.ID != "c3" {
			t.Errorf("%s: %+v, %v, want an error and the id", text, c, err)
		}
	}
}

func TestLoad_SchemaMayNotPullInFiles(t *testing.T) {
	for _, ref := range []string{"other.json", "file:///etc/hosts", "https://example.com/s.json"} {
		_, err := ParseSchema("s.json", []byte(`{"name":"t","inputSchema":{"$ref":"`+ref+`"}}`))
		if err == nil {
			t.Errorf("a schema with a reference to %s was compiled", ref)
		}
	}
	for _, text := range []string{`{"tools":[{"name":"t","parameters":{}}]}`, `{"name":"t","input_schema":{}}`, `{"name":"t","type":"object"}`} {
		if s, err := ParseSchema("s.json", []byte(text)); err != nil || s.Tools["t"] == nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range []string{
		"", "[]", "---\n", "{}", "[{\"claim\":\"x\",\"must_show\":[\"a\"]}]", "- claim: x\n  must_show: [yes, 0x1f]\n", "claims:\n- claim: |\n    x\n",
		"[{\"claim\":\"x\",\"grounds\":{\"any_of\":[{\"from\":1,\"field\":\"a.b\",\"min\":1e400}]}}]", "- &a claim\n", "? !!int x\n", "- claim: x\n  envelope: {schema: good.json, cap: 99999999999999999999}\n",
		"- !!float true\n", "%YAML 1.2\n---\n[]", "{\"claims\":[{\"claim\":\"\xff\"}]}",
	} {
		f.Add(s, true)
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, asYAML bool) {
		file := "c.json"
		if asYAML {
			file = "c.yaml"
		}
		list, err := Load(file, []byte(text), Options{Source: SourceFile, ReadFile: files})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || list != nil {
				t.Fatalf("%v, %v", list, err)
			}
			lines := 1
			for _, lineEnd := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} { // YAML's
				lines += strings.Count(text, lineEnd)
			}
			if e.Line < 0 || e.Line > lines || (e.Line > 0) != (e.Column > 0) || e.Kind == "" {
				t.Fatalf("%+v in a text of %d lines", e, lines)
			}
			return
		}
		ids := map[string]bool{}
		for _, c := range list {
			if c.Text == "" || c.ID == "" || ids[c.ID] || !json.Valid(c.Requirement) || c.Empty() != (string(c.Requirement) == "{}") {
				t.Fatalf("%+v", c)
			}
			ids[c.ID] = true
		}
	})
}
