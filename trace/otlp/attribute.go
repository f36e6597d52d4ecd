package otlp

import (
	"encoding/json"
	"strings"

	"nightaudit/trace"
)

// maxDepth is how deep the values of attributes are followed; hostile ones nest.
const maxDepth = 64

// attrs are the attributes of a span, a log record or a resource by their keys, as
// the values that they hold.
type attrs map[string]trace.Value

func attributes(of trace.Value) attrs {
	a := attrs{}
	for kv := range of.Get("attributes").Elements() {
		if key := kv.Get("key").Text(); key != "" {
			a[key] = held(kv.Get("value"))
		}
	}
	return a
}

// held returns what an AnyValue holds: its one member.
func held(v trace.Value) trace.Value {
	for _, m := range v.Members() {
		return m
	}
	return trace.Value{}
}

func (a attrs) text(names ...string) string {
	for _, n := range names {
		if s := a[n].Text(); s != "" {
			return s
		}
	}
	return ""
}

func (a attrs) first(names ...string) trace.Value {
	for _, n := range names {
		if v := a[n]; v.Given() {
			return v
		}
	}
	return trace.Value{}
}

// flag reads a boolean, which some writers give as text.
func (a attrs) flag(name string) trace.Flag {
	v := a[name]
	switch strings.ToLower(v.Text()) {
	case "true":
		return trace.FlagTrue
	case "false":
		return trace.FlagFalse
	}
	return v.Flag()
}

// count reads a number of tokens, which may be written as text; damage writes
// anything, and would overflow the sums.
func (a attrs) count(names ...string) int64 {
	for _, n := range names {
		v := a[n]
		if v.Kind() == trace.KindString {
			v, _ = trace.ParseValue([]byte(v.Text()))
		}
		if c, ok := v.Int(); ok && c > 0 && c < 1<<40 {
			return c
		}
	}
	return 0
}

// body is the place of a value: of JSON within a text, of a text as it is, of a
// structured value spilled as plain JSON.
func (r *reader) body(v trace.Value) trace.Body {
	if v.Kind() == trace.KindObject {
		return r.spill.Add(plain(v, 0))
	}
	_, b := v.Inner()
	return b
}

// value is what an attribute holds as plain JSON, decoded where it is text.
func value(v trace.Value) trace.Value {
	if v.Kind() == trace.KindObject {
		p, _ := trace.ParseValue(plain(v, 0))
		return p
	}
	inner, _ := v.Inner()
	return inner
}

// plain writes an array or a list of key-values as the JSON that it stands for.
func plain(v trace.Value, depth int) []byte {
	values := v.Get("values")
	if v.Kind() != trace.KindObject || depth > maxDepth {
		if len(v.Raw()) == 0 {
			return []byte("null")
		}
		return v.Raw()
	}
	var b []byte
	object := false
	for e := range values.Elements() {
		object = e.Get("key").Kind() == trace.KindString && e.Get("value").Kind() == trace.KindObject
		break
	}
	for e := range values.Elements() {
		if len(b) > 0 {
			b = append(b, ',')
		}
		if object {
			key, err := json.Marshal(e.Get("key").Text())
			if err != nil {
				continue
			}
			b = append(append(b, key...), ':')
			e = e.Get("value")
		}
		if n, err := trace.ParseValue([]byte(e.Get("intValue").Text())); err == nil && n.Kind() == trace.KindNumber {
			b = append(b, n.Raw()...) // 64-bit numbers are written as text
			continue
		}
		b = append(b, plain(held(e), depth+1)...)
	}
	if object {
		return append(append([]byte{'{'}, b...), '}')
	}
	return append(append([]byte{'['}, b...), ']')
}
