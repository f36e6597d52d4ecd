package trace

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// depthOf counts how deep a JSON text nests; strings are passed over.
func depthOf(b []byte) int {
	depth, most := 0, 0
	inString := false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

// FuzzParseValue holds ParseValue against encoding/json. It accepts what that one
// accepts, but for two deliberate differences: text that is not UTF-8 (there
// replaced, here refused, since what cannot be read must not count as evidence),
// and nesting deeper than MaxDepth (there 10,000).
func FuzzParseValue(f *testing.F) {
	for _, c := range jsonTexts {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(`{"a":{"b":[1,2.50,"x\u00e9\ud800",null,true]},"a":-0,"\u0061":[[]]}`))
	f.Add([]byte(strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := ParseValue(b)
		want := json.Valid(b) && utf8.Valid(b) && depthOf(b) <= MaxDepth
		if (err == nil) != want {
			t.Fatalf("ParseValue(%q) gave %v, want accepted %v", b, err, want)
		}
		if err != nil {
			return
		}
		if got := skip(v.raw, 0); got != len(v.raw) {
			t.Fatalf("skip(%q) gave %d", v.raw, got)
		}
		dec := json.NewDecoder(bytes.NewReader(b))
		dec.UseNumber()
		var x any
		if err := dec.Decode(&x); err != nil {
			t.Fatal(err)
		}
		sameValue(t, v, x)
		if own, err := v.Decode(); err != nil || !bytes.Equal(marshal(t, own), marshal(t, x)) {
			t.Fatalf("Decode gave %v, %v, want %v", own, err, x)
		}
	})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// sameValue compares a Value with what encoding/json makes of it.
func sameValue(t *testing.T, v Value, x any) {
	t.Helper()
	switch want := x.(type) {
	case nil:
		if v.Kind() != KindNull || v.Given() {
			t.Fatalf("%s is of kind %d, want null", v.raw, v.Kind())
		}
	case bool:
		if flag := v.Flag(); v.Kind() != KindBool || (flag == FlagTrue) != want {
			t.Fatalf("%s is flag %d, want %v", v.raw, flag, want)
		}
	case string:
		if v.Kind() != KindString || v.Text() != want {
			t.Fatalf("%s is the text %q, want %q", v.raw, v.Text(), want)
		}
		if id := v.ID(); id.String() != want || (id == "") != (want == "") {
			t.Fatalf("%s has the id %q", v.raw, id)
		}
	case json.Number:
		sameNumber(t, v, want)
	case []any:
		elements := slices.Collect(v.Elements())
		if v.Kind() != KindArray || len(elements) != len(want) {
			t.Fatalf("%s has %d elements, want %d", v.raw, len(elements), len(want))
		}
		for i, e := range elements {
			sameValue(t, e, want[i])
		}
	case map[string]any:
		if v.Kind() != KindObject {
			t.Fatalf("%s is of kind %d, want an object", v.raw, v.Kind())
		}
		names := map[string]bool{}
		for k := range v.Members() {
			names[k.Text()] = true
		}
		if len(names) != len(want) {
			t.Fatalf("%s has %d names, want %d", v.raw, len(names), len(want))
		}
		for name, member := range want {
			sameValue(t, v.Get(name), member)
		}
	}
}

func sameNumber(t *testing.T, v Value, want json.Number) {
	t.Helper()
	if v.Kind() != KindNumber || string(v.raw) != want.String() {
		t.Fatalf("%s is no number %s", v.raw, want)
	}
	n, ok := v.Int()
	wantN, err := want.Int64()
	if ok != (err == nil) || ok && n != wantN {
		t.Fatalf("Int of %s is %d, %v, want %d, %v", v.raw, n, ok, wantN, err)
	}
	if wantF, err := want.Float64(); err == nil && v.Float() != wantF {
		t.Fatalf("Float of %s is %v, want %v", v.raw, v.Float(), wantF)
	}
	if id := v.ID(); id != "" {
		a, okA := new(big.Rat).SetString(string(id))
		b, okB := new(big.Rat).SetString(string(v.raw))
		if !okA || !okB || a.Cmp(b) != 0 {
			t.Fatalf("the id of %s is %s", v.raw, id)
		}
	}
}
