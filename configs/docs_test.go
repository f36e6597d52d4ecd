package configs

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestDocs holds docs/config.md to Config: each key once, with the default of
// nightaudit.yaml, and each example right.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (?:`([^`]*)`)? ?\\| (.+) \\|$")
	root, err := parseYAML(Example())
	if err != nil {
		t.Fatal(err)
	}
	defaults := defaultTexts(root, "")
	var got []string
	for _, m := range row.FindAllStringSubmatch(string(data), -1) {
		key, value := m[1], m[2]
		got = append(got, key)
		if want, ok := defaults[key]; ok && value != want {
			t.Errorf("%s: the default is %s, not %s", key, want, value)
		}
	}
	var want []string
	for _, key := range paths(reflect.TypeFor[Config](), "") {
		if _, ok := defaults[key]; ok || strings.Contains(key, "[]") { // no sections
			want = append(want, key)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("docs/config.md has the keys\n%s\nConfig has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, m := range regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		load(t, m[1])
	}
}

// defaultTexts are the values of nightaudit.yaml as they are written there.
func defaultTexts(section *yaml.Node, key string) map[string]string {
	out := map[string]string{}
	for i := 0; i < len(section.Content); i += 2 {
		name, value := inside(key, section.Content[i].Value), section.Content[i+1]
		switch {
		case value.Kind == yaml.MappingNode:
			maps.Copy(out, defaultTexts(value, name))
		case value.Kind == yaml.SequenceNode:
			out[name] = "[]"
		case value.Style == yaml.DoubleQuotedStyle:
			out[name] = strconv.Quote(value.Value)
		default:
			out[name] = value.Value
		}
	}
	return out
}
