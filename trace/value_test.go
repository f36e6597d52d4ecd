package trace

import (
	"math"
	"strings"
	"testing"
)

// mustParse parses a text that is JSON.
func mustParse(t *testing.T, text string) Value {
	t.Helper()
	v, err := ParseValue([]byte(text))
	if err != nil {
		t.Fatalf("ParseValue(%q): %v", text, err)
	}
	return v
}

func TestValue_ID(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       ID
	}{
		{"string", `"c1"`, `"c1"`},
		{"string of digits is no number", `"1"`, `"1"`},
		{"integer", `1`, `1`},
		{"integer with a fraction of zero", `1.0`, `1`},
		{"integer with an exponent", `1e2`, `100`},
		{"minus zero", `-0`, `0`},
		{"negative", `-12`, `-12`},
		{"integer of any size", `123456789012345678901234567890`, `123456789012345678901234567890`},
		{"escaped spelling", `"\u0063\u0031"`, `"c1"`},
		{"escaped slash", `"a\/b"`, `"a/b"`},
		{"HTML characters stay", `"<&>"`, `"<&>"`},
		{"empty string", `""`, ""},
		{"fraction", `1.5`, ""},
		{"almost an integer", `1.00000000000000000001`, ""},
		{"out of range", `1e400`, ""},
		{"absurd exponent", `1e999999`, ""},
		{"absurd negative exponent", `1e-999999`, ""},
		{"absurdly long", strings.Repeat("9", 1001), ""},
		{"null", `null`, ""},
		{"boolean", `true`, ""},
		{"list", `["c1"]`, ""},
		{"object", `{"id":"c1"}`, ""},
	} {
		if got := mustParse(t, c.text).ID(); got != c.want {
			t.Errorf("%s: ID of %.40s is %q, want %q", c.name, c.text, got, c.want)
		}
	}
	if got := (Value{}).ID(); got != "" {
		t.Errorf("ID of an absent value is %q", got)
	}
	if got := mustParse(t, `"a\"b"`).ID().String(); got != `a"b` {
		t.Errorf("String is %q", got)
	}
}

func TestValue_Flag(t *testing.T) {
	for text, want := range map[string]Flag{
		`true`: FlagTrue, `false`: FlagFalse, `null`: FlagAbsent, `1`: FlagInvalid, `0`: FlagInvalid, `"true"`: FlagInvalid, `[]`: FlagInvalid, `{}`: FlagInvalid,
	} {
		if got := mustParse(t, text).Flag(); got != want {
			t.Errorf("Flag of %s is %d, want %d", text, got, want)
		}
	}
	if got := (Value{}).Flag(); got != FlagAbsent {
		t.Errorf("Flag of an absent value is %d", got)
	}
}

func TestValue_Int(t *testing.T) {
	for _, c := range []struct {
		text string
		want int64
		ok   bool
	}{
		{"0", 0, true},
		{"-1", -1, true},
		{"201", 201, true},
		{"9223372036854775807", math.MaxInt64, true},
		{"9223372036854775808", 0, false},
		{"201.0", 0, false},
		{"2e2", 0, false},
		{"2E2", 0, false},
		{`"201"`, 0, false},
		{"true", 0, false},
		{"null", 0, false},
	} {
		if got, ok := mustParse(t, c.text).Int(); ok != c.ok || ok && got != c.want {
			t.Errorf("Int of %s is %d, %v, want %d, %v", c.text, got, ok, c.want, c.ok)
		}
	}
}

func TestValue_Get(t *testing.T) {
	v := mustParse(t, `{"a":1,"b":{"a":2,"a":3},"\u0063":4,"a":5,"":6,"A":7}`)
	for name, want := range map[string]string{"a": "5", "c": "4", "": "6", "A": "7", "B": "", "\\u0063": ""} {
		if got := string(v.Get(name).Raw()); got != want {
			t.Errorf("Get(%q) is %q, want %q", name, got, want)
		}
	}
	if got := string(v.Path("b", "a").Raw()); got != "3" {
		t.Errorf("the last of two equal names is %q, want 3", got)
	}
	if got := v.Path("a", "b", "c").Kind(); got != KindAbsent {
		t.Errorf("a path through a number leads to kind %d", got)
	}
}

func TestValue_OffsetsPointIntoTheText(t *testing.T) {
	const text = ` {"a": [10, "x", {"b" : null}] , "c":true}`
	v := mustParse(t, text)
	var walk func(Value)
	walk = func(v Value) {
		b := v.Body()
		if got := text[b.Offset : b.Offset+int64(b.Length)]; got != string(v.Raw()) {
			t.Errorf("the body of %s points to %s", v.Raw(), got)
		}
		for e := range v.Elements() {
			walk(e)
		}
		for _, m := range v.Members() {
			walk(m)
		}
	}
	walk(v)
}

func TestValue_UniqueNames(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		many.WriteString(`"k` + strings.Repeat("x", i) + `":0,`)
	}
	for _, c := range []struct {
		name, text string
		twice      bool
	}{
		{"none", `{}`, false},
		{"different", `{"a":1,"b":2}`, false},
		{"case differs", `{"a":1,"A":2}`, false},
		{"twice", `{"a":1,"b":2,"a":1}`, true},
		{"twice, one escaped", `{"ok":true,"\u006fk":false}`, true},
		{"twice, both escaped differently", `{"\u006fk":true,"o\u006b":false}`, true},
		{"nested only", `{"a":{"b":1,"b":2}}`, false},
		{"a text that looks like a key", `{"a":"\"a\":1"}`, false},
		{"twice behind many", `{` + many.String() + `"k":1}`, true},
		{"twice, both behind many", `{` + many.String() + `"z":1,"z":2}`, true},
		{"many different", `{` + many.String() + `"z":1}`, false},
		{"no object", `["a","a"]`, false},
	} {
		if err := mustParse(t, c.text).UniqueNames(); (err != nil) != c.twice {
			t.Errorf("%s: %v, want twice %v", c.name, err, c.twice)
		}
	}
	if err := mustParse(t, `{"`+strings.Repeat("k", 5000)+`":1,"`+strings.Repeat("k", 5000)+`":1}`).UniqueNames(); len(err.Error()) > 200 {
		t.Errorf("a long key makes an error of %d bytes", len(err.Error()))
	}
}

func TestValue_ExitCode(t *testing.T) {
	for text, want := range map[string]int32{
		"0": 0, "1": 1, "-1": -1, "-0": 0, "0.0": 0, "0e9": 0,
		"3221225477": math.MaxInt32, "-4294967296": math.MinInt32,
		"99999999999999999999": math.MaxInt32, "1e400": math.MaxInt32, "1e-400": math.MaxInt32, "0.5": math.MaxInt32, "1.0": math.MaxInt32,
	} {
		v, err := ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := v.ExitCode(); !ok || got != want {
			t.Errorf("%s: %d, %v, want %d", text, got, ok, want)
		}
	}
	for _, text := range []string{`"0"`, "null", "true", "[0]", "{}"} {
		v, err := ParseValue([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := v.ExitCode(); ok {
			t.Errorf("%s is read as %d", text, got)
		}
	}
}

func TestObject(t *testing.T) {
	var o Object
	o.Take(mustParse(t, `{"a":{"b":1},"c":2,"\u0063":3}`))
	for name, want := range map[string]string{"a": `{"b":1}`, "c": "3", "b": ""} {
		if got := string(o.Get(name).Raw()); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if got := string(o.Path("a", "b").Raw()); got != "1" {
		t.Errorf("a.b is %s", got)
	}
	if o.Take(mustParse(t, `[1]`)); o.Get("a").Kind() != KindAbsent {
		t.Error("a list has a member")
	}
}
