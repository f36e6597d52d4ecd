package configs

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

var durationType = reflect.TypeFor[time.Duration]()

// newDocument walks the file beside the type Config and notes lines and mistakes.
func newDocument(file string, root *yaml.Node) *document {
	d := &document{file: file, lines: map[string]int{}}
	if root != nil {
		d.walk(root, reflect.TypeFor[Config](), "")
	}
	return d
}

func (d *document) wrong(n *yaml.Node, key, format string, args ...any) {
	d.mistakes = append(d.mistakes, &FieldError{File: d.file, Line: n.Line, Key: key, Problem: fmt.Sprintf(format, args...)})
}

// walk holds a node to a type. It descends no deeper than the type does, so an
// alias cannot lead it in circles (and viper has refused such a file before).
func (d *document) walk(n *yaml.Node, t reflect.Type, key string) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	switch {
	case t == durationType:
		d.duration(n, key)
	case t.Kind() == reflect.Struct:
		d.section(n, t, key)
	case t.Kind() == reflect.Slice:
		d.list(n, t.Elem(), key)
	default:
		d.scalar(n, t.Kind(), key)
	}
}

func (d *document) section(n *yaml.Node, t reflect.Type, key string) {
	if isNull(n) && !strings.HasSuffix(key, "]") {
		return // nothing but comments below it: all defaults
	}
	if n.Kind != yaml.MappingNode {
		d.wrong(n, key, "must be a section of keys: %s", strings.Join(keysOf(t), ", "))
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if name.Tag == "!!merge" {
			d.wrong(name, inside(key, name.Value), "merge keys are not read; write the keys out")
			continue
		}
		field, ok := fieldOf(t, name.Value)
		if !ok {
			d.wrong(name, inside(key, name.Value), "%s", unknownKey(t, name.Value))
			continue
		}
		d.lines[inside(key, name.Value)] = name.Line
		d.walk(value, field.Type, inside(key, name.Value))
	}
}

func (d *document) list(n *yaml.Node, elem reflect.Type, key string) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrong(n, key, "must be a list: one line with a dash for each entry, or [a, b]")
		return
	}
	for i, e := range n.Content {
		entry := fmt.Sprintf("%s[%d]", key, i)
		d.lines[entry] = e.Line
		d.walk(e, elem, entry)
	}
}

// wholeNumber leaves out what YAML reads as another number than a person does:
// 010 is eight.
var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*(_[0-9]+)*)$`)

func (d *document) scalar(n *yaml.Node, kind reflect.Kind, key string) {
	switch {
	case isNull(n):
		d.wrong(n, key, "has no value; leave the key out to have its default")
	case kind == reflect.String && n.Kind == yaml.ScalarNode && n.Tag != "!!str":
		d.wrong(n, key, "must be text; write it in quotes: %q", n.Value)
	case kind == reflect.String && n.Tag != "!!str":
		d.wrong(n, key, "must be text")
	case kind == reflect.Bool && (n.Tag != "!!bool" || n.Value != "true" && n.Value != "false"):
		d.wrong(n, key, "must be true or false")
	case (kind == reflect.Int || kind == reflect.Int64) && (n.Tag == "!!str" || !wholeNumber.MatchString(n.Value)):
		d.wrong(n, key, "%smust be a whole number without quotes, such as 10_000_000", got(n))
	case kind == reflect.Int || kind == reflect.Int64:
		if _, err := strconv.ParseInt(strings.ReplaceAll(n.Value, "_", ""), 10, 64); err != nil {
			d.wrong(n, key, "%sis too large", got(n))
		}
	}
}

var longUnit = regexp.MustCompile(`^([0-9]{1,6})(d|w)$`)

func (d *document) duration(n *yaml.Node, key string) {
	switch {
	case isNull(n):
		d.wrong(n, key, "has no value; leave the key out to have its default")
		return
	case n.Kind != yaml.ScalarNode:
		d.wrong(n, key, "must be a duration, such as 15m")
		return
	}
	if m := longUnit.FindStringSubmatch(n.Value); m != nil {
		count, _ := strconv.Atoi(m[1])
		hours := count * map[string]int{"d": 24, "w": 7 * 24}[m[2]]
		d.wrong(n, key, "%sis in days or weeks, which are no units here; write %dh", got(n), hours)
		return
	}
	if n.Tag == "!!int" || n.Tag == "!!float" {
		d.wrong(n, key, "%sneeds a unit: s, m or h, such as 15m", got(n))
		return
	}
	if _, err := time.ParseDuration(n.Value); err != nil || n.Tag != "!!str" {
		d.wrong(n, key, "%sis no duration, such as 90s, 15m or 1h30m", got(n))
	}
}

// got quotes a short value that is no number or duration; a long one is somebody's
// text, perhaps a key in the wrong place.
func got(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode || len(n.Value) > 24 {
		return ""
	}
	return strconv.Quote(n.Value) + " "
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

func inside(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}

func fieldOf(t reflect.Type, name string) (reflect.StructField, bool) {
	for f := range t.Fields() {
		if f.Tag.Get("yaml") == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func keysOf(t reflect.Type) []string {
	var keys []string
	for f := range t.Fields() {
		keys = append(keys, f.Tag.Get("yaml"))
	}
	return keys
}

// paths lists every key below a type; [] stands behind lists.
func paths(t reflect.Type, key string) []string {
	var out []string
	for f := range t.Fields() {
		name := inside(key, f.Tag.Get("yaml"))
		out = append(out, name)
		switch ft := f.Type; {
		case ft.Kind() == reflect.Struct:
			out = append(out, paths(ft, name)...)
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			out = append(out, paths(ft.Elem(), name+"[]")...)
		}
	}
	return out
}

var secretName = regexp.MustCompile(`(?i)^(api_?)?(key|token|secret|password)s?$|authorization`)

// unknownKey says what may have been meant: the nearest key here, else the same
// key in another section.
func unknownKey(t reflect.Type, name string) string {
	best, least := "", len(name)/3+2
	for _, k := range keysOf(t) {
		if n := distance(strings.ToLower(name), k); n < least {
			best, least = k, n
		}
	}
	if least > 1 && secretName.MatchString(name) {
		return "unknown key; a secret never stands in this file: see endpoint.api_key_env and endpoint.api_key_file"
	}
	if best != "" {
		return fmt.Sprintf("unknown key; did you mean %s?", best)
	}
	all := paths(reflect.TypeFor[Config](), "")
	i := slices.IndexFunc(all, func(p string) bool { return strings.HasSuffix(p, "."+name) })
	if i >= 0 {
		return fmt.Sprintf("unknown key; did you mean %s?", all[i])
	}
	return "unknown key; known here: " + strings.Join(keysOf(t), ", ")
}

// distance is the Levenshtein distance of two texts, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}
