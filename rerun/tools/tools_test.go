package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

const pathSchema = `{"type":"object","properties":{"path":{"type":"string","minLength":1},"n":{"type":"integer"},"hosts":{"type":"array"},"note":{"type":"string"}},"required":["path"],"additionalProperties":false}`

func command(change func(*Command)) Command {
	c := Command{Name: "config.read", Parameters: json.RawMessage(pathSchema), Argv: []string{"cat", "--", "{path}"}, Class: ClassRead}
	if change != nil {
		change(&c)
	}
	return c
}

func newSet(t *testing.T, commands ...Command) *Set {
	t.Helper()
	s, err := NewSet(commands)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestNewSet_NamesToolAndKey(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Command)
		want   string
	}{
		{"no name", func(c *Command) { c.Name = "" }, "tool #1: name:"},
		{"name", func(c *Command) { c.Name = "a b" }, "tool a b: name:"},
		{"no class", func(c *Command) { c.Class = "" }, "tool config.read: class: missing"},
		{"class", func(c *Command) { c.Class = "write" }, `class: "write" is none`},
		{"timeout", func(c *Command) { c.Timeout = -1 }, "timeout:"},
		{"output", func(c *Command) { c.MaxOutput = 10 }, "max_output:"},
		{"env", func(c *Command) { c.Env = []string{"A=b"} }, "env:"},
		{"env is the key's", func(c *Command) { c.Env = []string{KeyVariable} }, "env:"},
		{"no program", func(c *Command) { c.Argv = nil }, "argv: names no program"},
		{"program is a parameter", func(c *Command) { c.Argv = []string{"{path}"} }, "argv: the program itself"},
		{"NUL", func(c *Command) { c.Argv = []string{"cat", "a\x00"} }, "NUL"},
		{"unknown placeholder", func(c *Command) { c.Argv = []string{"cat", "{pth}"} }, "argv: {pth} is no parameter"},
		{"optional placeholder", func(c *Command) { c.Argv = []string{"cat", "{note}"} }, "argv: {note} must be a required"},
		{"list placeholder", func(c *Command) { c.Argv = []string{"cat", "{hosts}"} }, "argv: {hosts} must be declared as string"},
		{"script", func(c *Command) { c.Argv = []string{"sh", "-c", "cat {path}"} }, "part of a script"},
		{"script behind env", func(c *Command) { c.Argv = []string{"env", "/bin/bash", "-lc", "cat {path}"} }, "part of a script"},
		{"script of python", func(c *Command) { c.Argv = []string{"python3.12", "-c", "{path}"} }, "part of a script"},
		{"script in the option", func(c *Command) { c.Argv = []string{"perl", "-e{path}"} }, "part of a script"},
		{"script in a long option", func(c *Command) { c.Argv = []string{"node", "--eval={path}"} }, "part of a script"},
		{"schema is no JSON", func(c *Command) { c.Parameters = json.RawMessage(`{`) }, "parameters: no JSON schema"},
		{"schema of a list", func(c *Command) { c.Parameters = json.RawMessage(`{"type":"array"}`) }, "parameters: the schema's type"},
		{"schema from elsewhere", func(c *Command) {
			c.Parameters = json.RawMessage(`{"type":"object","properties":{"path":{"$ref":"file:///etc/passwd"}}}`)
		}, "parameters: compile the schema"},
		{"broken schema", func(c *Command) {
			c.Parameters = json.RawMessage(`{"type":"object","properties":{"path":{"type":"strng"}}}`)
		}, "parameters: compile the schema"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewSet([]Command{command(tt.change)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewSet() error = %v, want one with %q", err, tt.want)
			}
		})
	}
	if _, err := NewSet([]Command{command(nil), command(nil)}); err == nil || !strings.Contains(err.Error(), "declared twice") {
		t.Errorf("twice: %v", err)
	}
	_, err := NewSet([]Command{command(func(c *Command) { c.Class, c.Argv = "", nil }), command(func(c *Command) { c.Name = "b"; c.Timeout = -1 })})
	for _, want := range []string{"config.read: class", "config.read: argv", "b: timeout"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NewSet() error = %v, want also %q", err, want)
		}
	}
	newSet(t, command(func(c *Command) { c.Argv = []string{"sh", "-c", `cat "$1"`, "sh", "{path}"} }))
}

func TestSet_ClassAndDefinitions(t *testing.T) {
	s := newSet(
		t, command(nil),
		command(func(c *Command) { c.Name, c.Class = "config.write", ClassMutating }),
		command(func(c *Command) { c.Name, c.Class = "rm", ClassForbidden }),
		Command{Name: "status", Argv: []string{"true"}, Class: ClassIdempotent},
	)
	for name, want := range map[string]Class{"config.read": ClassRead, "config.write": ClassMutating, "rm": ClassForbidden, "nope": ClassForbidden, "status": ClassIdempotent} {
		if got := s.Class(name); got != want {
			t.Errorf("Class(%s) = %s, want %s", name, got, want)
		}
	}
	defs, err := s.Definitions(nil)
	if err != nil || len(defs) != 3 || defs[0].Name != "config.read" || !json.Valid(defs[2].Parameters) {
		t.Errorf("Definitions(nil) = %+v, %v", defs, err)
	}
	if defs, err = s.Definitions([]string{"status", "config.read"}); err != nil || defs[0].Name != "status" || len(defs) != 2 {
		t.Errorf("Definitions() = %+v, %v", defs, err)
	}
	for _, name := range []string{"rm", "nope"} {
		if _, err := s.Definitions([]string{name}); err == nil {
			t.Errorf("Definitions(%s) succeeded", name)
		}
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct{ in, want string }{
		{`{"b":1.0,"a":[1e0,10e-1,100E-2,-0.0,0e9]}`, `{"a":[1,1,1,0,0],"b":1}`},
		{"{ \"z\" : \"\\u0041<&>\\/\" ,\n\"a\":null}", `{"a":null,"z":"A<&>/"}`},
		{`[100,1.50,0.001,123e2,1e21,12345678901234567890123, -2.5e-3]`, `[100,1.5,1e-3,12300,1e21,12345678901234567890123,-25e-4]`},
		{`"é"`, `"é"`},
		{"\"e\u0301\"", "\"e\u0301\""},
		{`"\ud83d\ude00"`, `"😀"`},
		{`"\\ud800"`, `"\\ud800"`},
		{`9007199254740993`, `9007199254740993`},
	}
	for _, tt := range tests {
		got, err := Canonical(json.RawMessage(tt.in))
		if err != nil || string(got) != tt.want {
			t.Errorf("Canonical(%s) = %s, %v, want %s", tt.in, got, err, tt.want)
		}
		again, err := Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("Canonical(%s) = %s, %v: not stable", got, again, err)
		}
	}
	for _, in := range []string{``, `{`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `"\ud800"`, `"\udc00x"`, `{"\ud800":1}`, "\"\xff\"", `1e999999999`, `{"a":1}{}`, strings.Repeat("1", 500)} {
		if got, err := Canonical(json.RawMessage(in)); err == nil {
			t.Errorf("Canonical(%s) = %s, want an error", in, got)
		}
	}
}

func TestKey(t *testing.T) {
	key := func(run, tool, args string) string { return Key(run, tool, json.RawMessage(args)) }
	base := key("r", "config.write", `{"path":"/a","n":1}`)
	if len(base) != 64 {
		t.Errorf("Key() = %q", base)
	}
	for _, args := range []string{`{"n":1.0,"path":"/a"}`, ` {"path" : "\/a", "n": 10e-1 } `} {
		if key("r", "config.write", args) != base {
			t.Errorf("%s has another key", args)
		}
	}
	for _, other := range []string{
		key("r2", "config.write", `{"path":"/a","n":1}`), key("r", "config.writ", `e{"path":"/a","n":1}`),
		key("r", "config.write", `{"path":"/a","n":"1"}`), key("r", "config.write", `{"path":"/a","n":true}`),
		key("r", "config.write", `{"path":"/a","n":1`), key("r", "config.write", `{"path":"/a","n":1.0000000000000000000001}`),
		key("r", "config.write", `{"path":"/a","n":9007199254740993}`), key("r", "config.write", `{"path":"/a","n":9007199254740992}`),
		key("rconfig", ".write", `{"path":"/a","n":1}`),
	} {
		if other == base {
			t.Error("another call has the same key")
		}
	}
	if key("r", "t", `9007199254740993`) == key("r", "t", `9007199254740992`) {
		t.Error("numbers were rounded")
	}
}
