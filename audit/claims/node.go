package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"nightaudit/trace"
)

// node is a JSON or YAML value with its place, so that one loader serves both.
type node struct {
	line, column int
	kind         string // object, list, string, number, boolean, null
	text         string // of a string; a number as JSON
	boolean      bool
	list         []node
	members      []member
}

type member struct {
	key          string
	line, column int
	value        node
}

// member returns a member's value; the zero node where there is none.
func (n node) member(key string) node {
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return node{}
}

// value decodes the node into plain Go values, numbers as json.Number.
func (n node) value() any {
	switch n.kind {
	case "object":
		m := make(map[string]any, len(n.members))
		for _, mem := range n.members {
			m[mem.key] = mem.value.value()
		}
		return m
	case "list":
		l := make([]any, len(n.list))
		for i, e := range n.list {
			l[i] = e.value()
		}
		return l
	case "string":
		return n.text
	case "number":
		return json.Number(n.text)
	case "boolean":
		return n.boolean
	default:
		return nil
	}
}

// maxDepth bounds how deep a claims file may nest.
const maxDepth = 100

// parse reads a claims file: JSON where its first character or its name says so,
// else YAML.
func parse(file string, data []byte) (node, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	isYAML := strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
	if !isYAML && (strings.HasSuffix(file, ".json") || len(trimmed) == 0 || trimmed[0] == '[' || trimmed[0] == '{') {
		return parseJSON(file, data)
	}
	return parseYAML(file, data)
}

// notText refuses what is no UTF-8 text, or no text at all.
func notText(file string, data []byte, kind Kind) error {
	if len(bytes.TrimLeft(data, " \t\r\n")) == 0 {
		return &Error{File: file, Kind: kind, Detail: "the file is empty; it needs a list of claims"}
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			line, column := place(data, int64(i))
			return &Error{File: file, Line: line, Column: column, Kind: kind, Detail: "not UTF-8 text"}
		}
		i += n
	}
	return nil
}

type jsonParser struct {
	file string
	data []byte
	dec  *json.Decoder
	// The place that was worked out last. Places only move forward, so that a file
	// is counted through once and not once a token.
	last         int64
	line, column int
}

func parseJSON(file string, data []byte) (node, error) {
	if err := notText(file, data, BadJSON); err != nil {
		return node{}, err
	}
	p := &jsonParser{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data)), line: 1, column: 1}
	p.dec.UseNumber()
	// The decoder's tokens give the places of values, but not those of faults.
	var syntax *trace.SyntaxError
	if _, err := trace.ParseValue(data); errors.As(err, &syntax) {
		detail := "not JSON: " + syntax.Reason
		if syntax.Offset == int64(len(data)) {
			detail = "not JSON: the file ends too early"
		}
		return node{}, p.fail(syntax.Offset, detail)
	}
	return p.value(0)
}

// fail makes an error at a place of the text.
func (p *jsonParser) fail(offset int64, detail string) error {
	line, column := place(p.data, offset)
	return &Error{File: p.file, Line: line, Column: column, Kind: BadJSON, Detail: detail}
}

func place(data []byte, offset int64) (line, column int) {
	before := data[:min(offset, int64(len(data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// token returns the next token and the place where it begins.
func (p *jsonParser) token() (tok json.Token, line, column int, err error) {
	from := p.dec.InputOffset()
	// The decoder's offset stands behind the token before: pass what lies between.
	for from < int64(len(p.data)) && strings.IndexByte(" \t\r\n,:", p.data[from]) >= 0 {
		from++
	}
	if tok, err = p.dec.Token(); err != nil {
		return nil, 0, 0, p.fail(from, "not JSON: "+strings.TrimPrefix(err.Error(), "json: "))
	}
	line, column = p.moveTo(from)
	return tok, line, column, nil
}

// moveTo is place for an offset that is not before the last one.
func (p *jsonParser) moveTo(offset int64) (line, column int) {
	between := p.data[p.last:offset]
	if n := bytes.Count(between, []byte{'\n'}); n > 0 {
		p.line, p.column = p.line+n, 1
		between = between[bytes.LastIndexByte(between, '\n')+1:]
	}
	p.column += utf8.RuneCount(between)
	p.last = offset
	return p.line, p.column
}

func (p *jsonParser) value(depth int) (node, error) {
	tok, line, column, err := p.token()
	if err != nil {
		return node{}, err
	}
	n := node{line: line, column: column}
	switch t := tok.(type) {
	case nil:
		n.kind = "null"
	case bool:
		n.kind, n.boolean = "boolean", t
	case json.Number:
		n.kind, n.text = "number", t.String()
	case string:
		n.kind, n.text = "string", t
	case json.Delim:
		if depth == maxDepth {
			return node{}, p.fail(p.dec.InputOffset()-1, fmt.Sprintf("nested deeper than %d levels", maxDepth))
		}
		if t == '[' {
			n.kind = "list"
			return p.list(n, depth)
		}
		n.kind = "object"
		return p.object(n, depth)
	}
	return n, nil
}

func (p *jsonParser) list(n node, depth int) (node, error) {
	for p.dec.More() {
		e, err := p.value(depth + 1)
		if err != nil {
			return node{}, err
		}
		n.list = append(n.list, e)
	}
	_, _, _, err := p.token()
	return n, err
}

func (p *jsonParser) object(n node, depth int) (node, error) {
	seen := map[string]bool{}
	for p.dec.More() {
		tok, line, column, err := p.token()
		if err != nil {
			return node{}, err
		}
		key, _ := tok.(string)
		if seen[key] {
			return node{}, &Error{File: p.file, Line: line, Column: column, Kind: BadJSON, Key: key, Detail: fmt.Sprintf("the key %q stands twice", key)}
		}
		seen[key] = true
		v, err := p.value(depth + 1)
		if err != nil {
			return node{}, err
		}
		n.members = append(n.members, member{key: key, line: line, column: column, value: v})
	}
	_, _, _, err := p.token()
	return n, err
}

func parseYAML(file string, data []byte) (node, error) {
	if err := notText(file, data, BadYAML); err != nil {
		return node{}, err
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF) || err == nil && isEmpty(doc):
		return node{}, &Error{File: file, Kind: BadYAML, Detail: "the file is empty; it needs a list of claims"}
	case err != nil:
		return node{}, yamlFault(file, err)
	}
	switch err := dec.Decode(&second); {
	case err == nil:
		return node{}, &Error{File: file, Line: second.Line, Column: second.Column, Kind: BadYAML, Detail: "a second document begins; one file holds one list of claims"}
	case !errors.Is(err, io.EOF):
		return node{}, yamlFault(file, err)
	}
	return fromYAML(file, doc.Content[0], 0)
}

// isEmpty holds for a document without content: "---" and nothing behind it.
func isEmpty(doc yaml.Node) bool {
	return len(doc.Content) == 0 || doc.Content[0].Kind == yaml.ScalarNode && doc.Content[0].Value == "" && doc.Content[0].Style == 0
}

var yamlLine = regexp.MustCompile(`^line (\d+): `)

// yamlFault takes the place out of the text of a parser's error.
func yamlFault(file string, err error) error {
	e := &Error{File: file, Kind: BadYAML, Detail: strings.TrimPrefix(err.Error(), "yaml: ")}
	if m := yamlLine.FindStringSubmatch(e.Detail); m != nil {
		e.Line, _ = strconv.Atoi(m[1])
		e.Column = 1
		e.Detail = e.Detail[len(m[0]):]
	}
	e.Detail = "not YAML: " + e.Detail
	return e
}

func fromYAML(file string, y *yaml.Node, depth int) (node, error) {
	n := node{line: y.Line, column: y.Column}
	fail := func(detail string) (node, error) {
		return node{}, &Error{File: file, Line: y.Line, Column: y.Column, Kind: BadYAML, Detail: detail}
	}
	if depth > maxDepth {
		return fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
	}
	if y.Anchor != "" || y.Kind == yaml.AliasNode {
		return fail("anchors and aliases are not allowed here; write the value out")
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.kind = "object"
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			k := y.Content[i]
			if k.Kind != yaml.ScalarNode || k.Tag == "!!merge" {
				return fail("a key that is no plain text")
			}
			if seen[k.Value] {
				return node{}, &Error{File: file, Line: k.Line, Column: k.Column, Kind: BadYAML, Key: k.Value, Detail: fmt.Sprintf("the key %q stands twice", k.Value)}
			}
			seen[k.Value] = true
			v, err := fromYAML(file, y.Content[i+1], depth+1)
			if err != nil {
				return node{}, err
			}
			n.members = append(n.members, member{key: k.Value, line: k.Line, column: k.Column, value: v})
		}
		return n, nil
	case yaml.SequenceNode:
		n.kind = "list"
		for _, c := range y.Content {
			e, err := fromYAML(file, c, depth+1)
			if err != nil {
				return node{}, err
			}
			n.list = append(n.list, e)
		}
		return n, nil
	case yaml.ScalarNode:
		return scalar(n, y, fail)
	default:
		return fail("not a value of the kinds that claims are made of")
	}
}

// isNumber tells whether a scalar is a number as JSON writes it.
func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

var plainInteger = regexp.MustCompile(`^(\+(0|[1-9][0-9]*)|0o[0-7]+|0x[0-9a-fA-F]+)$`)

// scalar gives a YAML scalar its JSON kind, by the core schema of YAML 1.2 (yes
// and no are strings).
func scalar(n node, y *yaml.Node, fail func(string) (node, error)) (node, error) {
	switch y.ShortTag() {
	case "!!null":
		n.kind = "null"
	case "!!bool":
		n.kind, n.boolean = "boolean", strings.EqualFold(y.Value, "true")
		if !n.boolean && !strings.EqualFold(y.Value, "false") {
			return fail("a boolean is true or false")
		}
	case "!!int":
		n.kind, n.text = "number", y.Value
		if !isNumber(n.text) {
			// What YAML 1.1 and 1.2 read alike; 0777 and 1_000 they do not.
			i, ok := new(big.Int).SetString(y.Value, 0)
			if !ok || !plainInteger.MatchString(y.Value) {
				return fail("a number that cannot be read for sure; write it in decimal digits, or in quotes if it is a text")
			}
			n.text = i.String()
		}
	case "!!float":
		n.kind, n.text = "number", y.Value
		if !isNumber(n.text) {
			return fail("a number that JSON does not know; write digits on both sides of the point, or quotes if it is a text")
		}
	default: // strings, and timestamps, which stay the text that they are
		n.kind, n.text = "string", y.Value
	}
	return n, nil
}
