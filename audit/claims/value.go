package claims

import "encoding/json"

// Value is a value of a JSON or YAML file with its place, for other files of the
// audit that are read as strictly as claims are.
type Value struct {
	file string
	node node
}

// Read reads a file: JSON where its first character or its name says so, else
// YAML. The error is an *Error.
func Read(file string, data []byte) (Value, error) {
	n, err := parse(file, data)
	return Value{file, n}, err
}

func (v Value) loader() *loader { return &loader{file: v.file} }

// Fault makes an error at the value's place.
func (v Value) Fault(kind Kind, key, detail string) *Error {
	return &Error{File: v.file, Line: v.node.line, Column: v.node.column, Kind: kind, Key: key, Detail: detail}
}

// Fields calls read for each member of an object whose keys are known; none
// allowed: any key is.
func (v Value) Fields(what string, allowed []string, read func(key string, v Value) error) error {
	if v.node.kind != "object" {
		return v.loader().wrongType(v.node, what, "an object")
	}
	if allowed != nil {
		if err := v.loader().known(v.node, allowed); err != nil {
			return err
		}
	}
	for _, m := range v.node.members {
		if err := read(m.key, Value{v.file, m.value}); err != nil {
			return err
		}
	}
	return nil
}

// List returns the elements of a list that is not empty.
func (v Value) List(key string) ([]Value, error) {
	if err := v.loader().isList(v.node, key); err != nil {
		return nil, err
	}
	out := make([]Value, 0, len(v.node.list))
	for _, n := range v.node.list {
		out = append(out, Value{v.file, n})
	}
	return out, nil
}

// Text returns a string that is not empty.
func (v Value) Text(key string) (string, error) { return v.loader().text(v.node, key) }

// Any returns the value decoded, with numbers as json.Number.
func (v Value) Any() any { return v.node.value() }

// With returns another value, decoded as Any does it, that has this one's place
// throughout.
func (v Value) With(other any) (Value, error) {
	raw, err := json.Marshal(other)
	if err != nil {
		return Value{}, v.Fault(BadValue, "", err.Error())
	}
	n, err := parseJSON(v.file, raw)
	return Value{v.file, n.at(v.node.line, v.node.column)}, err
}
