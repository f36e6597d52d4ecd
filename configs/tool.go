package configs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ParametersJSON is the JSON schema of the tool's arguments, nil where it takes
// none. The schema is text in the file, since viper would lower-case its keys.
func (t Tool) ParametersJSON(readFile func(string) ([]byte, error)) (json.RawMessage, error) {
	text := []byte(t.Parameters)
	key := "parameters"
	if t.ParametersFile != "" {
		key = "parameters_file " + t.ParametersFile
		var err error
		if text, err = readFile(t.ParametersFile); err != nil {
			return nil, fmt.Errorf("parameters_file: %w", err)
		}
	} else if t.Parameters == "" {
		return nil, nil
	}
	schema, err := schemaJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return schema, nil
}

// schemaJSON turns a schema that is written in JSON or YAML into JSON. JSON is
// kept as it is: not all of it is YAML.
func schemaJSON(text []byte) (json.RawMessage, error) {
	if !json.Valid(text) {
		var value any
		if err := yaml.Unmarshal(text, &value); err != nil {
			return nil, fmt.Errorf("neither JSON nor YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		var err error
		if text, err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("cannot be written as JSON: %w", err)
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil || object == nil {
		return nil, errors.New("must be a JSON schema: an object, such as {type: object, properties: {…}}")
	}
	return text, nil
}
