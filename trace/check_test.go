package trace

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// jsonTexts are texts that a reader of JSON must take or refuse.
var jsonTexts = []struct {
	name, text string
	ok         bool
}{
	{"empty", "", false},
	{"only spaces", " \t\r\n", false},
	{"byte-order mark", "\xef\xbb\xbf{}", false},
	{"spaces around", " \t\r\n{} \n", true},
	{"form feed around", "\f{}", false},
	{"no-break space around", "\u00a0{}", false},
	{"two values", "{}{}", false},
	{"comma behind", "{},", false},

	{"null", "null", true},
	{"true", "true", true},
	{"false", "false", true},
	{"capital literal", "True", false},
	{"literal cut off", "nul", false},
	{"literal with a tail", "nullx", false},
	{"literal with a digit", "[true1]", false},
	{"NaN", "NaN", false},
	{"Infinity", "-Infinity", false},
	{"comment", "{} // x", false},
	{"single quotes", "{'a':1}", false},

	{"zero", "0", true},
	{"minus zero", "-0", true},
	{"minus alone", "-", false},
	{"plus", "+1", false},
	{"leading zero", "01", false},
	{"minus leading zero", "-01", false},
	{"two zeros", "00", false},
	{"fraction", "1.5", true},
	{"fraction without digits", "1.", false},
	{"fraction without a whole part", ".5", false},
	{"two points", "1.2.3", false},
	{"exponent", "1e5", true},
	{"exponent signs", "[1E+5,1e-5,0e0,0.0e+00]", true},
	{"exponent without digits", "1e", false},
	{"exponent with a sign only", "1e+", false},
	{"exponent with a fraction", "1e1.5", false},
	{"number out of range", "1e999", true},
	{"many digits", strings.Repeat("9", 5000), true},
	{"hexadecimal", "0x1f", false},
	{"underscore", "1_000", false},
	{"other script's digit", "١", false},
	{"minus and space", "- 1", false},

	{"empty string", `""`, true},
	{"all short escapes", `"\"\\\/\b\f\n\r\t"`, true},
	{"unknown escape", `"\x41"`, false},
	{"escaped newline", "\"\\\n\"", false},
	{"octal escape", `"\0"`, false},
	{"unicode escape", `"\u00e9\uABCD\uabcd"`, true},
	{"unicode escape cut off", `"\u00e"`, false},
	{"unicode escape with a letter", `"\u00eg"`, false},
	{"capital U", `"\U00e9"`, false},
	{"pair of surrogates", `"\ud83d\ude00"`, true},
	{"lone high surrogate", `"\ud83d"`, true},
	{"lone low surrogate", `"\ude00"`, true},
	{"surrogates the wrong way round", `"\ude00\ud83d"`, true},
	{"NUL escaped", `"\u0000"`, true},
	{"NUL raw", "\"\x00\"", false},
	{"newline raw", "\"\n\"", false},
	{"tab raw", "\"\t\"", false},
	{"escape character raw", "\"\x1b\"", false},
	{"delete raw", "\"\x7f\"", true},
	{"line separator raw", "\"\u2028\"", true},
	{"UTF-8", `"é€😀"`, true},
	{"lone continuation byte", "\"\x80\"", false},
	{"cut UTF-8", "\"\xe2\x82\"", false},
	{"overlong UTF-8", "\"\xc0\xaf\"", false},
	{"UTF-8 surrogate", "\"\xed\xa0\x80\"", false},
	{"beyond Unicode", "\"\xf4\x90\x80\x80\"", false},
	{"invalid UTF-8 in a key", "{\"\xff\":1}", false},
	{"invalid UTF-8 behind an escape", "\"\\n\xff\"", false},
	{"string without its end", `"abc`, false},
	{"string ends in an escape", `"abc\`, false},
	{"string ends in an escaped quote", `"abc\"`, false},
	{"escaped backslash at the end", `"abc\\"`, true},

	{"empty list", "[]", true},
	{"spaces in an empty list", "[ \n]", true},
	{"list", `[1,"a",null,[],{}]`, true},
	{"trailing comma", "[1,]", false},
	{"leading comma", "[,1]", false},
	{"double comma", "[1,,2]", false},
	{"comma missing", "[1 2]", false},
	{"colon in a list", "[1:2]", false},
	{"list closed by a brace", "[1}", false},
	{"empty list closed by a brace", "[}", false},
	{"list without its end", "[1", false},
	{"list opened only", "[", false},
	{"list closed only", "]", false},
	{"closed twice", "[]]", false},

	{"empty object", "{}", true},
	{"object", `{"a":1,"b":{"c":[{}]}}`, true},
	{"spaces in an object", "{ \"a\" :\t1 ,\r\n\"b\" : 2 }", true},
	{"key twice", `{"a":1,"a":2}`, true},
	{"empty key", `{"":1}`, true},
	{"key without quotes", "{a:1}", false},
	{"key is a number", "{1:1}", false},
	{"colon missing", `{"a" 1}`, false},
	{"two colons", `{"a"::1}`, false},
	{"value missing", `{"a":}`, false},
	{"only a key", `{"a"}`, false},
	{"trailing comma in an object", `{"a":1,}`, false},
	{"leading comma in an object", `{,"a":1}`, false},
	{"object closed by a bracket", `{"a":1]`, false},
	{"object cut behind the key", `{"a"`, false},
	{"object cut behind the colon", `{"a":`, false},
	{"object cut behind the comma", `{"a":1,`, false},
	{"object cut inside a nested list", `{"a":[1,`, false},
}

func TestParseValue_Texts(t *testing.T) {
	for _, c := range jsonTexts {
		_, err := ParseValue([]byte(c.text))
		if (err == nil) != c.ok {
			t.Errorf("%s: ParseValue(%.60q) gave %v, want accepted %v", c.name, c.text, err, c.ok)
		}
		var syntax *SyntaxError
		if err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > int64(len(c.text)) || syntax.Reason == "") {
			t.Errorf("%s: the error %v names no place in the text", c.name, err)
		}
		if other := json.Valid([]byte(c.text)) && utf8.ValidString(c.text); other != c.ok {
			t.Errorf("%s: the table says %v, encoding/json and UTF-8 say %v", c.name, c.ok, other)
		}
	}
}

func TestParseValue_ErrorPlace(t *testing.T) {
	for _, c := range []struct {
		text   string
		offset int64
	}{
		{"", 0},
		{"  x", 2},
		{`{"a":1,}`, 7},
		{`{"a" 1}`, 5},
		{`[1,2 3]`, 5},
		{`["a\q"]`, 4},
		{`{"a":[1,`, 8},
		{`{} {}`, 3},
		{"[\"\x01\"]", 2},
	} {
		_, err := ParseValue([]byte(c.text))
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset != c.offset {
			t.Errorf("ParseValue(%q) gave %v, want an error at byte %d", c.text, err, c.offset)
		}
	}
}

func TestParseValue_Depth(t *testing.T) {
	nested := func(open, middle, end string, levels int) []byte {
		return []byte(strings.Repeat(open, levels) + middle + strings.Repeat(end, levels))
	}
	for _, c := range []struct {
		name string
		text []byte
		ok   bool
	}{
		{"lists at the limit", nested("[", "", "]", MaxDepth), true},
		{"lists over the limit", nested("[", "", "]", MaxDepth+1), false},
		{"objects at the limit", nested(`{"a":`, "1", "}", MaxDepth), true},
		{"objects over the limit", nested(`{"a":`, "1", "}", MaxDepth+1), false},
		{"an empty object is a level", nested("[", "{}", "]", MaxDepth), false},
		{"many siblings are no depth", []byte("[" + strings.Repeat("[],", 5000) + "[]]"), true},
		{"100,000 levels", nested("[", "", "]", 100_000), false},
		{"100,000 levels without an end", nested("[", "", "", 100_000), false},
	} {
		v, err := ParseValue(c.text)
		if (err == nil) != c.ok {
			t.Errorf("%s: %v, want accepted %v", c.name, err, c.ok)
		}
		if err == nil && skip(v.Raw(), 0) != len(v.Raw()) {
			t.Errorf("%s: skip does not find the end", c.name)
		}
		if !c.ok && err != nil && !strings.Contains(err.Error(), "nested deeper") {
			t.Errorf("%s: refused for another reason: %v", c.name, err)
		}
	}
}
