package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"nightaudit/audit/claims"
)

func TestDefault(t *testing.T) {
	if _, err := Parse("coding.yaml", codingYAML); err != nil {
		t.Fatal(err)
	}
	names := Default().Kinds().Names()
	for _, kind := range strings.Fields(`tests_pass build_pass lint_clean types_check file_edited file_created file_deleted file_read
		committed pushed pr_opened deployed service_restarted migration_applied dependency_installed record_created message_sent
		command_ran delegated counted no_changes_made nothing_found fixed_bug`) {
		if !slices.Contains(names, kind) {
			t.Errorf("there is no rule for %s", kind)
		}
	}
	if !slices.IsSorted(names) {
		t.Errorf("the names are not sorted: %v", names)
	}
}

func TestSentences(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"two", "Tests pass. I pushed it.", []string{"Tests pass.", "I pushed it."}},
		{"file names", "Edited a.go and b.py. See src/c.ts.", []string{"Edited a.go and b.py.", "See src/c.ts."}},
		{"abbreviations", "Some files, e.g. Makefile, etc. I kept. Then v1.2.3 Released.", []string{"Some files, e.g. Makefile, etc. I kept.", "Then v1.2.3 Released."}},
		{"small letter goes on", "It took 3.5s. and more", []string{"It took 3.5s. and more"}},
		{"code is one word", "Ran `a. B`. Done.", []string{"Ran `a. B`.", "Done."}},
		{"an open code mark", "Ran `a. Done.", []string{"Ran `a.", "Done."}},
		{"lists", "- one\n* two\n1. three\n2) four\n  - five", []string{"one", "two", "three", "four", "five"}},
		{"a list item of two lines", "- the tests do\n  not pass\n- x", []string{"the tests do not pass", "x"}},
		{"a paragraph of two lines", "The tests do\nnot pass.", []string{"The tests do not pass."}},
		{"headings", "## Summary\nAll good", []string{"Summary", "All good"}},
		{"boxes", "- [x] done\n- [ ] open\n☐ open too", []string{"done", "☐ open", "☐ open too"}},
		{"emoji", "✅ Tests pass\n🎉 🚀 Deployed\n✔️ Lint", []string{"Tests pass", "Deployed", "Lint"}},
		{"a cross stays", "❌ Tests pass", []string{"❌ Tests pass"}},
		{"fences", "a\n```go\nAll tests pass\n```\nb\n~~~\nc\n```\n~~~\nd", []string{"a", "b", "d"}},
		{"an open fence", "a\n```\nAll tests pass", []string{"a"}},
		{"a longer fence", "````\n```\nAll tests pass\n```\n````\nb", []string{"b"}},
		{"code that begins a line", "```x``` is code", []string{"```x``` is code"}},
		{"quoted lines", "> All tests pass\nb", []string{"b"}},
		{"tables", "| a | b |\n|---|---|\n| Tests | 142 passed |", []string{"a | b", "Tests | 142 passed"}},
		{"bold", "**Done.** All good.", []string{"**Done.**", "All good."}},
		{"nothing", " \n---\n...\n42\n", nil},
		{"bad UTF-8", "a\xffb", []string{"a\uFFFDb"}},
		{"Windows lines", "- a\r\n- b\r\n", []string{"a", "b"}},
	} {
		if got := Sentences(c.text); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestStatements(t *testing.T) {
	list, not := Default().Statements("## Summary\n\nFixed add in `calc.py`; all 12 tests pass and I deployed it. The docs should be next.\n\n- ✅ Lint is clean\n- Pushed? No.\n")
	var got []string
	for _, c := range list {
		if c.Source != claims.SourceRule || c.Line != 0 && c.Line != 1 || c.Empty() || !json.Valid(c.Requirement) {
			t.Errorf("%+v", c)
		}
		got = append(got, c.ID+" "+c.Kind+" "+c.Text)
	}
	const first = "Fixed add in `calc.py`; all 12 tests pass and I deployed it."
	want := []string{"s1 tests_pass " + first, "s2 file_edited " + first, "s3 deployed " + first, "s4 lint_clean Lint is clean"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if want := []string{"Summary", "The docs should be next.", "Pushed?", "No."}; !slices.Equal(not, want) {
		t.Errorf("not checked: %q, want %q", not, want)
	}
	again, notAgain := Default().Statements("## Summary\n\nFixed add in `calc.py`; all 12 tests pass and I deployed it. The docs should be next.\n\n- ✅ Lint is clean\n- Pushed? No.\n")
	if !slices.Equal(not, notAgain) || fmt.Sprint(requirements(list)) != fmt.Sprint(requirements(again)) {
		t.Error("the same summary made other statements")
	}
}

func requirements(list []claims.Claim) (out []string) {
	for _, c := range list {
		out = append(out, c.ID+c.Kind+string(c.Requirement))
	}
	return out
}

// TestStatements_Parameters: what a sentence names is what must be shown.
func TestStatements_Parameters(t *testing.T) {
	for _, c := range []struct{ kind, sentence, want string }{
		{"tests_pass", "All 1,204 tests pass.", `"min_total":1204`},
		{"tests_pass", "1,204 tests pass.", `[^\\d.,])1204(?:$`},
		{"file_edited", "Updated `src/a.go:12`.", `"path":"**/src/a.go"}]}`},
		{"file_edited", "Updated ./a.go.", `"**/a.go"`},
		{"file_edited", "Updated `/repo/src/a.go`.", `"path":"/repo/src/a.go"`},
		{"file_edited", "Updated **a.go**, `b.go`, and c_test.go.", `"path":"**/b.go"},{"class":"edit"`},
		{"file_edited", "Updated **a.go**, `b.go`, and c_test.go.", `"path":"**/c_test.go"}]}`},
		{"file_edited", "Updated a.go and the tests.", `"path":"**/a.go"}]}`},
		{"file_edited", "Updated the README.", `"path":"**/README{,.*}"`},
		{"file_edited", "Updated [a.go](src/a.go).", `"**/a.go"`},
		{"file_created", `Created "notes.txt".`, `"**/notes.txt"`},
		{"command_ran", "I ran `go test ./... -run 'A|B'`.", `go(?:\\s+-\\S+)*\\s+test(?:\\s+-\\S+)*\\s+\\./\\.\\.\\.(?:\\s+-\\S+)*\\s+-run(?:\\s+-\\S+)*\\s+[`},
		{"committed", "Committed the fix as `a1b2c3d`.", `\\ba1b2c3d`},
		{"dependency_installed", "Installed `c++filt`.", `c\\+\\+filt`},
		{"record_created", "Created ticket OPS-123.", `"text":"OPS-123"`},
	} {
		list, _ := Default().Statements(c.sentence)
		i := slices.IndexFunc(list, func(x claims.Claim) bool { return x.Kind == c.kind })
		if i < 0 {
			t.Errorf("%q is no %s", c.sentence, c.kind)
			continue
		}
		if !strings.Contains(unescape(list[i].Requirement), c.want) {
			t.Errorf("%q: %s, want %s", c.sentence, list[i].Requirement, c.want)
		}
	}
}

func unescape(raw json.RawMessage) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(raw))
}

// TestKinds_Quoting: whatever a value holds, it matches itself and nothing else.
func TestKinds_Quoting(t *testing.T) {
	for _, v := range []string{"a.go", "a+b(c).go", "a[1].go", "a{b,c}.go", `a\d.go`, "a*.go", "a?.go", "$x^|.go", "src/[id]/page.tsx", "!a", "a-b", "{path}"} {
		raw, err := Default().Kinds().Requirement("file_edited", map[string]string{"path": v})
		if err != nil {
			t.Fatal(err)
		}
		var r struct {
			MustShow []struct{ Path string } `json:"must_show"`
		}
		if err := json.Unmarshal(raw, &r); err != nil {
			t.Fatal(err)
		}
		target := "x/" + strings.ReplaceAll(v, `\`, "/")
		if ok, err := doublestar.Match(r.MustShow[0].Path, target); err != nil || !ok {
			t.Errorf("%s: the glob %s does not match %s (%v)", v, r.MustShow[0].Path, target, err)
		}
		if ok, _ := doublestar.Match(r.MustShow[0].Path, "x/aXX.go"); ok {
			t.Errorf("%s: the glob %s matches another file", v, r.MustShow[0].Path)
		}
		if re := regexp.MustCompile("^" + quotePattern(v) + "$"); !re.MatchString(v) || re.MatchString("aXX.go") {
			t.Errorf("%s: the pattern %s", v, re)
		}
	}
}

func TestKinds_Faults(t *testing.T) {
	for _, c := range []struct {
		kind string
		with map[string]string
		want string
	}{
		{"file_edited", nil, "needs the parameter path"},
		{"file_edited", map[string]string{"path": ""}, "one line of 1 to"},
		{"file_edited", map[string]string{"path": "a\nb"}, "one line of 1 to"},
		{"file_edited", map[string]string{"path": "a", "file": "b"}, `no parameter "file"; it has path, path2, path3`},
		{"tests_pass", map[string]string{"total": "all"}, "whole number"},
		{"tests_pass", map[string]string{"total": "99999999999999999999"}, "whole number"},
		{"nothing", nil, `unknown kind "nothing"`},
	} {
		if raw, err := Default().Kinds().Requirement(c.kind, c.with); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %s, %v, want %q", c.kind, c.with, raw, err, c.want)
		}
	}
}

const minimal = "rules:\n  - kind: k\n    requirement: {must_show: [a]}\n    insufficient: x\n"

func TestParse_Faults(t *testing.T) {
	for _, c := range []struct {
		name, text, at string
		kind           claims.Kind
		detail         string
	}{
		{"empty", "", "0:0", claims.BadYAML, ""},
		{"a list", "- a", "1:1", claims.WrongType, ""},
		{"nothing in it", "{}", "1:1", claims.MissingKey, "empty"},
		{"unknown key", "rule: []", "1:1", claims.UnknownKey, ""},
		{"unknown key of a rule", minimal + "    sentence: [x]\n", "5:5", claims.UnknownKey, ""},
		{"no rules", "rules: []", "1:8", claims.EmptyList, ""},
		{"no requirement", "rules:\n  - kind: k\n    insufficient: x\n", "2:5", claims.MissingKey, "requirement"},
		{"an empty requirement", "rules:\n  - {kind: k, insufficient: x, requirement: {}}", "2:45", claims.MissingKey, "empty"},
		{"a bad requirement", "rules:\n  - {kind: k, insufficient: x, requirement: {must_show: [{clas: a}]}}", "2:45", claims.UnknownKey, "clas"},
		{"an id in a requirement", "rules:\n  - {kind: k, insufficient: x, requirement: {id: a}}", "2:45", claims.UnknownKey, ""},
		{"a schema in a requirement", "rules:\n  - {kind: k, insufficient: x, requirement: {envelope: {schema: a}}}", "2:45", claims.BadSchema, ""},
		{"all of it optional", "rules:\n  - {kind: k, insufficient: x, requirement: {must_show: ['{a?}']}}", "2:45", claims.MissingKey, "empty"},
		{"kind twice", minimal + minimal[len("rules:\n"):], "5:5", claims.BadValue, "twice"},
		{"kind in capitals", "rules:\n  - {kind: K}", "2:12", claims.BadValue, ""},
		{"a bad pattern", minimal + "    sentences: ['(']\n", "5:17", claims.BadValue, "RE2"},
		{"unknown words", minimal + "    sentences: ['{nothing}']\n", "5:17", claims.BadValue, "{nothing}"},
		{"a parameter of no use", minimal + "    sentences: ['(?P<x>a)']\n", "5:16", claims.BadValue, "{x}"},
		{"a parameter that no sentence gives", "rules:\n  - kind: k\n    requirement: {must_show: ['{x}']}\n    insufficient: x\n    sentences: [a]\n", "5:16", claims.BadValue, "{x}"},
		{"an unknown filter", minimal + "    lifts: [nothing]\n", "5:13", claims.BadValue, "negation"},
		{"weak is a text", minimal + "    weak: maybe\n", "5:11", claims.WrongType, ""},
		{"an example that does not fit", minimal + "    sentences: [abc]\n    examples: {fits: [def]}\n", "2:5", claims.BadValue, `k does not fit its example "def"`},
		{"an example that fits", minimal + "    sentences: [abc]\n    examples: {fits_not: [abc]}\n", "2:5", claims.BadValue, `k fits its example "abc"`},
		{"an example without a trace", minimal + "    examples: {pass: [{sentence: abc}]}\n", "5:23", claims.MissingKey, ""},
		{"a verdict where all pass", minimal + "    examples: {pass: [{sentence: abc, verdict: PASS, trace: ['{}']}]}\n", "5:39", claims.UnknownKey, ""},
		{"no such verdict", minimal + "    examples: {fail: [{sentence: abc, verdict: FAIL, trace: ['{}']}]}\n", "5:48", claims.BadValue, ""},
		{"a trace of numbers", minimal + "    examples: {pass: [{sentence: abc, trace: [7]}]}\n", "5:47", claims.WrongType, ""},
		{"words in capitals", "words: {A: b}", "1:12", claims.BadValue, ""},
	} {
		p, err := Parse("p.yaml", []byte(c.text))
		var e *claims.Error
		if !errors.As(err, &e) || p != nil {
			t.Errorf("%s: %v, %v, want an error alone", c.name, p, err)
			continue
		}
		if at := fmt.Sprintf("%d:%d", e.Line, e.Column); at != c.at || e.Kind != c.kind || e.File != "p.yaml" || !strings.Contains(e.Detail, c.detail) {
			t.Errorf("%s: %v at %s, kind %s; want %s, %s, %q", c.name, e, at, e.Kind, c.at, c.kind, c.detail)
		}
	}
}

func TestWith(t *testing.T) {
	more, err := Parse("p.yaml", []byte(`
words: {cup: 'cups?'}
filters: {others: ['\bthe supplier\b']}
neutral: ['\bno delay\b']
rules:
  - {kind: cups_counted, sentences: ['counted the {cup}'], requirement: {must_show: [cup.count]}, insufficient: x}
  - {kind: pushed, sentences: ['pushed the button'], requirement: {must_show: [button.push]}, insufficient: x}
`))
	if err != nil {
		t.Fatal(err)
	}
	both := Default().With(more)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"I counted the cups with no delay.", []string{"cups_counted"}},
		{"The supplier counted the cups.", nil},
		{"I pushed the changes.", nil},
		{"I pushed the button.", []string{"pushed"}},
		{"The tests pass with no delay.", []string{"tests_pass"}},
		{"The supplier is green and the tests pass.", nil},
	} {
		var got []string
		list, _ := both.Statements(c.text)
		for _, x := range list {
			got = append(got, x.Kind)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.text, got, c.want)
		}
	}
	if !Default().Fits("pushed", "I pushed the changes.") || Default().Fits("cups_counted", "I counted the cups.") {
		t.Error("With has changed the pack that it was called on")
	}
	if raw, err := both.Kinds().Requirement("pushed", nil); err != nil || string(raw) != `{"must_show":["button.push"]}` {
		t.Errorf("%s, %v", raw, err)
	}
	if !reflect.DeepEqual(both.Kinds().Names(), both.With(more).Kinds().Names()) {
		t.Error("adding a pack twice adds something")
	}
}

// TestStatements_Hostile: a summary is whatever an agent was made to write.
func TestStatements_Hostile(t *testing.T) {
	for name, text := range map[string]string{
		"a long sentence":    strings.Repeat("all tests pass and ", 20_000),
		"many sentences":     strings.Repeat("All tests pass. ", 20_000),
		"many code marks":    strings.Repeat("`", 200_000),
		"odd code marks":     strings.Repeat("` a. ", 100_000),
		"many stops":         strings.Repeat(". ", 200_000),
		"many emoji":         strings.Repeat("✅", 100_000),
		"many list marks":    strings.Repeat("- ", 100_000),
		"many short lines":   strings.Repeat("a\n", 200_000),
		"no end of a number": "All " + strings.Repeat("9", 1500) + " tests pass",
	} {
		from := time.Now()
		list, not := Default().Statements(text)
		if took := time.Since(from); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
		if len(list) > maxStatements*len(Default().rules) {
			t.Errorf("%s: %d claims", name, len(list))
		}
		if name == "many sentences" && (len(list) != maxStatements || len(not) != 20_000-maxStatements) {
			t.Errorf("%s: %d judged, %d not checked", name, len(list), len(not))
		}
	}
}

func FuzzStatements(f *testing.F) {
	for _, r := range Default().Rules() {
		for _, s := range slices.Concat(r.Examples.Fits, r.Examples.FitsNot) {
			f.Add(s)
		}
	}
	f.Add("Updated `{path}`. | a | ```\n> \"x\" 'y' \xff ☐ ✅ - [ ] **b** [l](u)")
	f.Fuzz(func(t *testing.T, text string) {
		list, not := Default().Statements(text)
		again, notAgain := Default().Statements(text)
		if !slices.Equal(not, notAgain) || !slices.Equal(requirements(list), requirements(again)) {
			t.Fatal("the same summary made other statements")
		}
		for i, c := range list {
			if c.ID != fmt.Sprintf("s%d", i+1) || c.Text == "" || c.Kind == "" || c.Empty() || c.Source != claims.SourceRule {
				t.Fatalf("%+v", c)
			}
			if _, err := claims.Load("c.json", []byte(`[{"claim":"x",`+string(c.Requirement[1:])+`]`), claims.Options{}); err != nil {
				t.Fatalf("%s: %v", c.Requirement, err)
			}
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(minimal)
	f.Add(minimal + "    sentences: ['{did}a (?P<x>b)']\n    examples: {fits: [a], pass: [{sentence: a, trace: [{}]}]}\n")
	f.Add("words: {a: b}\nfilters: {c: [d]}\nneutral: [e]\n")
	f.Add("rules:\n  - {kind: k, insufficient: x, requirement: {must_show: [{cmd: '{a} {b?}', path: '**/{c}'}]}}")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse("p.yaml", []byte(text))
		if err == nil {
			Default().With(p).Statements("All tests pass. I pushed it.")
			return
		}
		var e *claims.Error
		if !errors.As(err, &e) || p != nil {
			t.Fatalf("%v, %v", p, err)
		}
	})
}

func BenchmarkStatements(b *testing.B) {
	text := strings.Repeat("Fixed add in `calc.py`; all 12 tests pass and I deployed it. The docs should be next.\n", 20)
	for b.Loop() {
		Default().Statements(text)
	}
}
