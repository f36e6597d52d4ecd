package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxArgs bounds the arguments of a call, in bytes.
const maxArgs = 1 << 20

// compile checks the schema of the arguments and reads what argv needs to know
// of it.
func (t *tool) compile() (map[string]property, error) {
	var shape struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(t.Parameters, &shape); err != nil {
		return nil, fmt.Errorf("no JSON schema: %w", err)
	}
	if shape.Type != "object" {
		return nil, errors.New(`the schema's type must be "object"`)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.Parameters))
	if err != nil {
		return nil, fmt.Errorf("no JSON schema: %w", err)
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothingElse{})
	const place = "mem:///parameters"
	if err := compiler.AddResource(place, doc); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	if t.schema, err = compiler.Compile(place); err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	props := map[string]property{}
	for name, raw := range shape.Properties {
		props[name] = property{scalar: isScalar(raw), required: slices.Contains(shape.Required, name)}
	}
	return props, nil
}

// nothingElse keeps a schema from reading files or the network.
type nothingElse struct{}

func (nothingElse) Load(url string) (any, error) {
	return nil, fmt.Errorf("the schema refers to %s, which is not loaded", url)
}

func isScalar(raw json.RawMessage) bool {
	var p struct {
		Type string `json:"type"`
	}
	return json.Unmarshal(raw, &p) == nil && slices.Contains([]string{"string", "number", "integer", "boolean"}, p.Type)
}

// checkArgs refuses arguments that are no object or not as the schema says. What
// it returns is the object's members.
func (t *tool) checkArgs(args json.RawMessage) (map[string]json.RawMessage, error) {
	if trimmed := bytes.TrimSpace(args); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, errors.New("the arguments are no JSON object")
	}
	if len(args) > maxArgs {
		return nil, fmt.Errorf("the arguments are longer than %d bytes", maxArgs)
	}
	// Canonical also refuses what a program could read otherwise than we do, and
	// numbers that would be written out to gigabytes.
	if _, err := Canonical(args); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return nil, fmt.Errorf("the arguments are no JSON: %w", err)
	}
	if err := t.schema.Validate(doc); err != nil {
		return nil, errors.New("the arguments do not fit the schema: " + violation(err))
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(args, &members); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	return members, nil
}

// violation is the validator's report without the schema's address, on one line.
func violation(err error) string {
	_, text, found := strings.Cut(err.Error(), "\n")
	if !found {
		text = err.Error()
	}
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	for i, line := range lines {
		lines[i] = strings.TrimLeft(line, " -")
	}
	return strings.Join(lines, "; ")
}
