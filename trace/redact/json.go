package redact

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Secret is a secret that was found: its kind (bearer_token, openai_key,
// password), and the dotted path of the value that holds it. Never the value.
type Secret struct {
	Kind, Place string
}

// JSON replaces the secrets in a JSON text: string values that hold one, and
// those under a secret's name, in a list as well. All other bytes stay as they
// are. What is not JSON is taken as text.
func JSON(raw []byte) []byte {
	if !json.Valid(raw) {
		raw = []byte(Text(string(raw)))
		if !json.Valid(raw) {
			return raw
		}
		// What was wrong with it was part of a secret.
	}
	w := walker{raw: raw, edit: true}
	w.walk()
	if len(w.out) == 0 {
		return raw
	}
	return append(w.out, raw[w.copied:]...)
}

// Find lists what JSON would replace, in the order of the text.
func Find(raw []byte) []Secret {
	if !json.Valid(raw) {
		var found []Secret
		for _, sp := range scan(string(raw)) {
			found = append(found, Secret{Kind: sp.kind})
		}
		return found
	}
	w := walker{raw: raw}
	w.walk()
	return w.found
}

// level is an open list or object.
type level struct {
	list  bool
	index int    // of the element that is being read
	key   string // of the member that is being read
	under string // a secret's name that covers the elements of a list
	value bool   // in an object: a value comes next, not a key
}

// walker goes through valid JSON string by string.
type walker struct {
	raw   []byte
	edit  bool
	stack []level

	out    []byte // what was copied and changed so far
	copied int    // how far raw is in out
	found  []Secret
}

func (w *walker) walk() {
	for i := 0; i < len(w.raw); {
		top := len(w.stack) - 1
		switch w.raw[i] {
		case '{':
			w.stack = append(w.stack, level{})
		case '[':
			w.stack = append(w.stack, level{list: true, under: w.name()})
		case '}', ']':
			w.stack = w.stack[:top]
		case ':':
			w.stack[top].value = true
		case ',':
			w.stack[top].index++
			w.stack[top].value = false
		case '"':
			end := stringEnd(w.raw, i)
			w.text(i, end)
			i = end
			continue
		}
		i++
	}
}

// stringEnd returns the place behind the string that begins at raw[i].
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// name is the secret's name that the next value stands under, "" where none.
func (w *walker) name() string {
	if len(w.stack) == 0 {
		return ""
	}
	top := w.stack[len(w.stack)-1]
	switch {
	case top.list:
		return top.under
	case SecretName(top.key):
		return top.key
	default:
		return ""
	}
}

// text judges the string raw[start:end], quotes included.
func (w *walker) text(start, end int) {
	s := decode(w.raw[start:end])
	key := false
	if len(w.stack) > 0 {
		top := &w.stack[len(w.stack)-1]
		if key = !top.list && !top.value; key {
			top.key = s
		}
	}
	if name := w.name(); name != "" && !key {
		if s != "" && !isPlaceholder(s) && !isPlaceholder(credential(s)) {
			w.replace(start, end, Mark, kindOf(name, s))
		}
		return
	}
	spans := scan(s)
	if len(spans) == 0 {
		return
	}
	if w.edit {
		w.replace(start, end, Text(s), "")
		return
	}
	for i, sp := range spans {
		if i == 0 || sp.kind != spans[i-1].kind {
			w.replace(start, end, "", sp.kind)
		}
	}
}

func decode(raw []byte) string {
	inner := raw[1 : len(raw)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(inner)
	}
	return s
}

// credential is what follows the scheme of an Authorization value.
func credential(s string) string {
	scheme, rest, ok := strings.Cut(s, " ")
	if ok && rest != "" && len(scheme) <= 12 {
		return rest
	}
	return s
}

func kindOf(name, s string) string {
	scheme, _, _ := strings.Cut(s, " ")
	if strings.EqualFold(scheme, "bearer") {
		return "bearer_token"
	}
	if strings.EqualFold(scheme, "basic") {
		return "basic_auth"
	}
	if spans := scan(s); len(spans) > 0 {
		return spans[0].kind
	}
	return kindOfName(fold(name))
}

// replace notes a secret, or puts a text in the place of a string.
func (w *walker) replace(start, end int, text, kind string) {
	if !w.edit {
		w.found = append(w.found, Secret{Kind: kind, Place: w.place()})
		return
	}
	w.out = append(w.out, w.raw[w.copied:start]...)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(text) != nil {
		b.Reset()
		b.WriteString(`"` + Mark + `"`)
	}
	w.out = append(w.out, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
	w.copied = end
}

// place is the dotted path of the value that is being read.
func (w *walker) place() string {
	parts := make([]string, 0, len(w.stack))
	for _, l := range w.stack {
		if l.list {
			parts = append(parts, strconv.Itoa(l.index))
		} else {
			parts = append(parts, Text(l.key))
		}
	}
	return strings.Join(parts, ".")
}
