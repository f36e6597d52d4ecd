package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
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
	if !utf8.Valid(data) {
		return node{}, &Error{File: file, Kind: BadJSON, Detail: "not UTF-8 text"}
	}
	trimmed := bytes.TrimLeft(data, " \t\r\n")
	isYAML := strings.HasSuffix(file, ".yaml") || strings.HasSuffix(file, ".yml")
	if len(trimmed) == 0 {
		return node{}, &Error{File: file, Kind: BadJSON, Detail: "the file is empty; it needs a list of claims"}
	}
	if !isYAML && (strings.HasSuffix(file, ".json") || trimmed[0] == '[' || trimmed[0] == '{') {
		return parseJSON(file, data)
	}
	return parseYAML(file, data)
}

type jsonParser struct {
	file string
	data []byte
	dec  *json.Decoder
}

func parseJSON(file string, data []byte) (node, error) {
	p := &jsonParser{file: file, data: data, dec: json.NewDecoder(bytes.NewReader(data))}
	p.dec.UseNumber()
	n, err := p.value(0)
	if err != nil {
		return node{}, err
	}
	if _, err := p.dec.Token(); !errors.Is(err, io.EOF) {
		return node{}, p.fail("something follows the end of the claims")
	}
	return n, nil
}

// fail makes an error at the place that the decoder has reached.
func (p *jsonParser) fail(detail string) error {
	line, column := p.place(p.dec.InputOffset())
	return &Error{File: p.file, Line: line, Column: column, Kind: BadJSON, Detail: detail}
}

func (p *jsonParser) place(offset int64) (line, column int) {
	before := p.data[:min(offset, int64(len(p.data)))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[start:]) + 1
}

// token returns the next token and the place where it begins.
func (p *jsonParser) token() (tok json.Token, line, column int, err error) {
	from := p.dec.InputOffset()
	tok, err = p.dec.Token()
	if err != nil {
		reason := "not JSON: " + strings.TrimPrefix(err.Error(), "json: ")
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			reason = "not JSON: the file ends too early"
		}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			from = syntax.Offset - 1
		}
		line, column = p.place(from)
		return nil, 0, 0, &Error{File: p.file, Line: line, Column: column, Kind: BadJSON, Detail: reason}
	}
	// The decoder's offset stands behind the token before: pass what lies between.
	for from < int64(len(p.data)) && strings.IndexByte(" \t\r\n,:", p.data[from]) >= 0 {
		from++
	}
	line, column = p.place(from)
	return tok, line, column, nil
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
			return node{}, p.fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
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
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return node{}, &Error{File: file, Kind: BadYAML, Detail: "the file is empty; it needs a list of claims"}
		}
		return node{}, &Error{File: file, Kind: BadYAML, Detail: "not YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		return node{}, &Error{File: file, Kind: BadYAML, Detail: "a second document follows; one file holds one list of claims"}
	}
	return fromYAML(file, doc.Content[0], 0)
}

func fromYAML(file string, y *yaml.Node, depth int) (node, error) {
	n := node{line: y.Line, column: y.Column}
	fail := func(detail string) (node, error) {
		return node{}, &Error{File: file, Line: y.Line, Column: y.Column, Kind: BadYAML, Detail: detail}
	}
	if depth > maxDepth {
		return fail(fmt.Sprintf("nested deeper than %d levels", maxDepth))
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
		return fail("anchors and aliases are not allowed here; write the value out")
	}
}

// scalar gives a YAML scalar its JSON kind, by the core schema of YAML 1.2 (yes
// and no are strings).
func scalar(n node, y *yaml.Node, fail func(string) (node, error)) (node, error) {
	switch y.ShortTag() {
	case "!!null":
		n.kind = "null"
	case "!!bool":
		n.kind, n.boolean = "boolean", strings.EqualFold(y.Value, "true")
	case "!!int":
		n.kind, n.text = "number", y.Value
		if !json.Valid([]byte(y.Value)) {
			var i int64
			if y.Decode(&i) != nil {
				return fail("a number that cannot be read; write it in decimal digits")
			}
			n.text = strconv.FormatInt(i, 10)
		}
	case "!!float":
		n.kind, n.text = "number", y.Value
		if !json.Valid([]byte(y.Value)) {
			return fail("a number that JSON does not know; write digits on both sides of the point")
		}
	default: // strings, and timestamps, which stay the text that they are
		n.kind, n.text = "string", y.Value
	}
	return n, nil
}
