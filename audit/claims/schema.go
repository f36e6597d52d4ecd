package claims

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ParseSchema reads a pinned schema file: one tool's schema, a list of them, or
// {tools: […]}. A tool's schema names it in "name" and holds its JSON Schema
// itself, or below inputSchema, input_schema or parameters.
func ParseSchema(name string, data []byte) (Schema, error) {
	s := Schema{Name: name, SHA256: sum(data), Tools: map[string]*jsonschema.Schema{}}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		return s, fmt.Errorf("schema %s is not JSON: %w", name, err)
	}
	list, isList := doc.([]any)
	if m, ok := doc.(map[string]any); ok {
		if tools, ok := m["tools"].([]any); ok {
			list, isList = tools, true
		}
	}
	if !isList {
		list = []any{doc}
	}
	for i, e := range list {
		if err := s.add(e, fmt.Sprintf("schema-%d.json", i)); err != nil {
			return s, fmt.Errorf("schema %s: %w", name, err)
		}
	}
	return s, nil
}

func (s *Schema) add(doc any, url string) error {
	m, ok := doc.(map[string]any)
	if !ok {
		return errors.New("a schema must be an object")
	}
	tool, _ := m["name"].(string)
	if tool == "" {
		return nil
	}
	for _, key := range []string{"inputSchema", "input_schema", "parameters"} {
		if inner, ok := m[key].(map[string]any); ok {
			m = inner
			break
		}
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{}) // a schema pulls in nothing: no files, no network
	if err := c.AddResource(url, m); err != nil {
		return fmt.Errorf("tool %s: %w", tool, err)
	}
	compiled, err := c.Compile(url)
	if err != nil {
		return fmt.Errorf("tool %s: %w", tool, err)
	}
	s.Tools[tool] = compiled
	return nil
}

// noLoader refuses every reference that leaves the schema.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s lies outside the pinned schema", url)
}
