package configs

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"nightaudit/trace/detect"
)

var update = flag.Bool("update", false, "write the messages into testdata")

// env is a getenv of its own.
func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "nightaudit.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func load(t *testing.T, text string) Config {
	t.Helper()
	c, err := Load(write(t, text), env("HOME", "/home/u"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestExample holds the commented file to Default, key by key.
func TestExample(t *testing.T) {
	c, d, err := parse("nightaudit.yaml", Example())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.err(); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(c, Default()) {
		t.Errorf("nightaudit.yaml is\n%+v\nDefault is\n%+v", c, Default())
	}
	if err := c.Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for _, key := range paths(reflect.TypeFor[Config](), "") {
		if !strings.Contains(key, "[]") && d.lines[key] == 0 {
			t.Errorf("%s is missing", key)
		}
	}
}

// TestExample_Lists reads the examples in the comments, which must hold every key
// of a list's entries and be right.
func TestExample_Lists(t *testing.T) {
	for _, list := range []string{"sources", "tools"} {
		var text strings.Builder
		in := false
		for line := range strings.Lines(string(Example())) {
			in = in && strings.HasPrefix(line, "#") || line == "#   "+list+":\n"
			if in {
				text.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "#"), "   "))
			}
		}
		c, d, err := parse("example", []byte(text.String()))
		if err != nil {
			t.Fatalf("%s: %v\n%s", list, err, text.String())
		}
		d.add(c.faults()...)
		if err := d.err(); err != nil {
			t.Errorf("%s: %v", list, err)
		}
		for _, key := range paths(reflect.TypeFor[Config](), "") {
			first := strings.ReplaceAll(key, "[]", "[0]")
			if strings.HasPrefix(key, list+"[]") && d.lines[first] == 0 && key != "tools[].parameters_file" {
				t.Errorf("%s is missing", key)
			}
		}
	}
}

// TestMistakes reads files with one mistake each. Their first line holds the
// message.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(data), "\n")
			want := strings.TrimPrefix(first, "# want: ")
			_, err = Load(file, env("HOME", "/home/u"))
			if err == nil {
				t.Fatal("no error")
			}
			got := strings.ReplaceAll(strings.ReplaceAll(err.Error(), file, "FILE"), strings.Join(Formats, ", "), "FORMATS")
			if *update {
				fixed := strings.Replace(string(data), first, "# want: "+got, 1)
				if err := os.WriteFile(file, []byte(fixed), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if strings.Contains(got, "sk-not") || strings.Contains(got, "hunter2") {
				t.Error("the message shows a secret")
			}
		})
	}
}

func TestLoad_AllMistakesAtOnce(t *testing.T) {
	file := write(t, "settle: 3\nbudget:\n  tokens: true\n  period: year\nlog:\n  levl: info\ntools:\n  - name: x\n    class: red\n")
	_, err := Load(file, env("HOME", "/home/u"))
	if err == nil {
		t.Fatal("no error")
	}
	var keys []string
	for line := range strings.Lines(err.Error()) {
		rest := strings.TrimPrefix(line, file+":")
		number, rest, _ := strings.Cut(rest, ": ")
		key, _, _ := strings.Cut(rest, ": ")
		keys = append(keys, number+" "+key)
	}
	want := []string{"1 settle", "3 budget.tokens", "4 budget.period", "6 log.levl", "8 tools[0].argv", "9 tools[0].class"}
	if !slices.Equal(keys, want) {
		t.Errorf("got %q\nwant %q", keys, want)
	}
	var field *FieldError
	if !errors.As(err, &field) || field.Key != "settle" || field.Line != 1 || field.File != file {
		t.Errorf("first mistake is %+v", field)
	}
}

func TestLoad_Values(t *testing.T) {
	c := load(t, `
schedule: "@daily"
timezone: Asia/Tokyo
settle: 1h30m
sources:
  - name: CI.Runs
    paths: [~/a/**/*.jsonl, /b/*.jsonl, c.jsonl]
    expect: [{path: "**/x", claims: claims/x.yaml}]
budget: {tokens: 2_500_000, nightly: 100_000}
endpoint:
  base_url: https://example.com/v1
  model: Some/Model-4.1
rerun:
tools:
  - name: Config.Write
    argv: [w, "{Path}"]
    class: mutating
    parameters: |
      type: object
      required: [Path]
      properties: {Path: {type: string}}
    observes: [Other.Tool]
`)
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	check("settle", c.Settle, 90*time.Minute)
	check("tokens", c.Budget, Budget{Tokens: 2_500_000, Period: "month", Nightly: 100_000})
	check("model", c.Endpoint.Model, "Some/Model-4.1")
	check("an empty section", c.Rerun, Default().Rerun)
	check("format", c.Sources[0].Format, "auto")
	dir := filepath.Dir(c.Sources[0].Paths[2])
	check("paths", c.Sources[0].Paths, []string{"/home/u/a/**/*.jsonl", "/b/*.jsonl", dir + "/c.jsonl"})
	check("claims", c.Sources[0].Expect[0].Claims, dir+"/claims/x.yaml")
	check("glob of an expectation", c.Sources[0].Expect[0].Path, "**/x")
	check("tool", c.Tools[0].Name, "Config.Write")
	check("timeout", c.Tools[0].Timeout, time.Minute)
	check("output", c.Tools[0].MaxOutput, 16384)
	schema, err := c.Tools[0].ParametersJSON(nil)
	check("parameters", string(schema), `{"properties":{"Path":{"type":"string"}},"required":["Path"],"type":"object"}`)
	check("parameters' error", err, nil)
}

func TestLoad_NoFile(t *testing.T) {
	c, err := Load("", env("HOME", "/home/u"))
	if err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.StateDir = "/home/u/.local/state/nightaudit"
	if !reflect.DeepEqual(c, want) {
		t.Errorf("got %+v", c)
	}
	if _, err := Load(filepath.Join(t.TempDir(), "none.yaml"), env()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
	if c := load(t, "# nothing\n"); !reflect.DeepEqual(c, want) {
		t.Errorf("an empty file: %+v", c)
	}
}

// TestFormats: configs may not import the readers, and must know their names.
func TestFormats(t *testing.T) {
	want := append([]string{"auto"}, detect.Formats()...)
	got := slices.Clone(Formats)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("a source may have the formats %q, and there are %q", got, want)
	}
	doc, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range detect.Formats() {
		if !strings.Contains(string(doc), "\n| `"+f+"` | ") {
			t.Errorf("docs/formats.md does not say what the format %s is", f)
		}
	}
}

func TestLoad_TooLarge(t *testing.T) {
	_, err := Load(write(t, strings.Repeat("#\n", maxFile)), env("HOME", "/home/u"))
	if err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
}

func TestLoad_StateDir(t *testing.T) {
	for _, row := range []struct {
		name, key string
		env       []string
		want      string
	}{
		{"systemd", "", []string{"STATE_DIRECTORY", "/var/lib/na:/var/lib/x", "XDG_STATE_HOME", "/xs", "HOME", "/h"}, "/var/lib/na"},
		{"xdg", "", []string{"XDG_STATE_HOME", "/xs", "HOME", "/h"}, "/xs/nightaudit"},
		{"relative xdg", "", []string{"XDG_STATE_HOME", "xs", "HOME", "/h"}, "/h/.local/state/nightaudit"},
		{"home", "", []string{"HOME", "/h"}, "/h/.local/state/nightaudit"},
		{"configured", "~/s", []string{"STATE_DIRECTORY", "/var/lib/na", "HOME", "/h"}, "/h/s"},
		{"no home", "", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := Load(write(t, "state_dir: \""+row.key+"\"\n"), env(row.env...))
			if row.want == "" {
				if err == nil || !strings.Contains(err.Error(), "state_dir: ") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil || c.StateDir != row.want {
				t.Errorf("got %q, %v; want %q", c.StateDir, err, row.want)
			}
		})
	}
}

func TestShow_LoadsAgain(t *testing.T) {
	c := load(t, "sources: [{name: a, paths: [x]}]\ntools: [{name: t, argv: [x], class: read, parameters: \"type: object\\nproperties: {A: {}}\\n\"}]\n")
	text, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	if again := load(t, string(text)); !reflect.DeepEqual(canonical(t, again), canonical(t, c)) {
		t.Errorf("got %+v\nwant %+v", again, c)
	}
}

// canonical has no difference between an empty list and none.
func canonical(t *testing.T, c Config) any {
	t.Helper()
	text, err := c.Show()
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestDefaultPath(t *testing.T) {
	for _, row := range []struct {
		name string
		env  []string
		want []string
	}{
		{"named", []string{"NIGHTAUDIT_CONFIG", "x.yaml", "HOME", "/h"}, []string{"x.yaml"}},
		{"xdg", []string{"XDG_CONFIG_HOME", "/c", "HOME", "/h"}, []string{"/c/nightaudit/nightaudit.yaml", "/h/.config/nightaudit/nightaudit.yaml", "/etc/nightaudit/nightaudit.yaml"}},
		{"xdg is the default", []string{"XDG_CONFIG_HOME", "/h/.config", "HOME", "/h"}, []string{"/h/.config/nightaudit/nightaudit.yaml", "/etc/nightaudit/nightaudit.yaml"}},
		{"nothing", nil, []string{"/etc/nightaudit/nightaudit.yaml"}},
	} {
		if got := DefaultPath(env(row.env...)); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q", row.name, got)
		}
	}
}

func TestAPIKey(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"good": " k1\n", "empty": "\n", "two": "A=secret-a\nB=secret-b\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, variable, file, value, want, fault string
	}{
		{"none", "K", "", "", "", ""},
		{"variable", "K", "", "k0 ", "k0", ""},
		{"variable before file", "K", "good", "k0", "k0", ""},
		{"file", "K", "good", "", "k1", ""},
		{"file alone", "", "good", "k0", "k1", ""},
		{"empty file", "K", "empty", "", "", "is empty"},
		{"missing file", "K", "missing", "", "", "no such file"},
		{"a file of variables", "K", "two", "", "", "nothing else"},
		{"a variable of several lines", "K", "", "secret-a\nsecret-b", "", "nothing else"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c, err := Load(write(t, "endpoint: {api_key_env: \""+row.variable+"\", api_key_file: \""+row.file+"\"}\n"),
				env("HOME", "/h", "CREDENTIALS_DIRECTORY", dir))
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.APIKey(env("K", row.value), os.ReadFile)
			if got != row.want || (err == nil) != (row.fault == "") {
				t.Fatalf("got %q, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), row.fault) || strings.Contains(err.Error(), "secret")) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestLoad_KeyFileWithoutCredentials(t *testing.T) {
	file := write(t, "endpoint: {api_key_file: key}\n")
	c, err := Load(file, env("HOME", "/h"))
	if want := filepath.Join(filepath.Dir(file), "key"); err != nil || c.Endpoint.APIKeyFile != want {
		t.Errorf("got %q, %v; want %q", c.Endpoint.APIKeyFile, err, want)
	}
}

func TestParametersJSON(t *testing.T) {
	files := func(name string) ([]byte, error) {
		if name == "schema.json" {
			return []byte("{\n\t\"type\": \"object\"\n}"), nil
		}
		return nil, os.ErrNotExist
	}
	for _, row := range []struct {
		name  string
		tool  Tool
		want  string
		fault string
	}{
		{"none", Tool{}, "", ""},
		{"json is kept", Tool{Parameters: `{"B":1,"A":1.0}`}, `{"B":1,"A":1.0}`, ""},
		{"yaml", Tool{Parameters: "B: 1\nA: x"}, `{"A":"x","B":1}`, ""},
		{"file", Tool{ParametersFile: "schema.json"}, "{\n\t\"type\": \"object\"\n}", ""},
		{"missing file", Tool{Name: "t", ParametersFile: "x"}, "", "parameters_file: "},
		{"null", Tool{Parameters: "null"}, "", "must be a JSON schema"},
		{"list", Tool{Parameters: "[]"}, "", "must be a JSON schema"},
		{"nan", Tool{Parameters: "a: .nan"}, "", "cannot be written as JSON"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := row.tool.ParametersJSON(files)
			if string(got) != row.want || (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// FuzzLoad: whatever the file, Load says what is wrong or gives a Config that is
// valid and survives being shown and read again.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "nightaudit.yaml") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, d, err := parse("f", data)
		if err != nil {
			return
		}
		d.add(c.faults()...)
		d.add(c.resolve("/etc", env("HOME", "/home/u"))...)
		if d.err() != nil {
			return
		}
		text, err := c.Show()
		if err != nil {
			t.Fatal(err)
		}
		again, d, err := parse("f", text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		d.add(again.faults()...)
		if err := d.err(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if !reflect.DeepEqual(canonical(t, again), canonical(t, c)) {
			t.Errorf("got %+v\nwant %+v", again, c)
		}
	})
}
