package configs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
	"go.yaml.in/yaml/v3"
)

// maxFile is the largest configuration that is read, in bytes.
const maxFile = 1 << 20

// FieldError is one mistake.
type FieldError struct {
	File    string // "" where the Config was not read from one
	Line    int    // 0 where it is not known
	Key     string // e.g. tools[0].timeout
	Problem string
}

// Error is "file:line: key: problem".
func (e *FieldError) Error() string {
	s := e.Key + ": " + e.Problem
	switch {
	case e.File == "":
		return s
	case e.Line == 0:
		return e.File + ": " + s
	default:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, s)
	}
}

// Load reads and checks a file; path "" is Default. All paths in what it returns
// are absolute. The error joins every mistake, in the order of the file.
func Load(path string, getenv func(string) string) (Config, error) {
	var data []byte
	if path != "" {
		var err error
		if data, err = readFile(path); err != nil {
			return Config{}, fmt.Errorf("read configuration: %w", err)
		}
	}
	c, d, err := parse(path, data)
	if err != nil {
		return Config{}, err
	}
	d.add(c.faults()...)
	d.add(c.resolve(filepath.Dir(path), getenv)...)
	if err := d.err(); err != nil {
		return Config{}, err
	}
	return c, nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return data, nil
}

// parse decodes data onto Default. Viper alone would let too much pass: unknown
// keys without a value, 1.9 and true as numbers, 720 as nanoseconds. So the shape
// of the document is checked beside it, which also knows the lines; what has the
// wrong shape is in the document's mistakes and keeps its default in the Config.
func parse(file string, data []byte) (Config, *document, error) {
	fail := func(err error) (Config, *document, error) {
		text := strings.ReplaceAll(err.Error(), "unmarshal errors:\n  ", "")
		return Config{}, nil, fmt.Errorf("read configuration %s: %s", file, text)
	}
	root, err := parseYAML(data)
	if err != nil {
		return fail(err)
	}
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(data)); err != nil {
		if inner := errors.Unwrap(err); inner != nil {
			err = inner // without viper's "While parsing config"
		}
		return fail(err)
	}
	d := newDocument(file, root)
	c := Default()
	err = v.UnmarshalExact(&c, func(dc *mapstructure.DecoderConfig) {
		dc.TagName = "yaml"
		dc.WeaklyTypedInput = false
	})
	if err != nil && len(d.mistakes) == 0 {
		return fail(err)
	}
	c.setListDefaults()
	return c, d, nil
}

// parseYAML returns the root mapping, nil where the file holds nothing.
func parseYAML(data []byte) (*yaml.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("it holds a second document; only one is read")
	}
	root := doc.Content[0]
	if isNull(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("it must be a list of `key: value` lines")
	}
	return root, nil
}

// document is what is known of a file beside its values.
type document struct {
	file     string
	lines    map[string]int
	mistakes []*FieldError
}

// add takes mistakes of the values, except where the shape was wrong already.
func (d *document) add(found ...*FieldError) {
	shape := slices.Clone(d.mistakes)
	for _, e := range found {
		if !slices.ContainsFunc(shape, func(s *FieldError) bool { return within(s.Key, e.Key) || within(e.Key, s.Key) }) {
			e.File, e.Line = d.file, d.line(e.Key)
			d.mistakes = append(d.mistakes, e)
		}
	}
}

// line is that of the key, or of the nearest thing around it that is in the file.
func (d *document) line(key string) int {
	for key != "" {
		if n := d.lines[key]; n > 0 {
			return n
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return 0
}

func (d *document) err() error {
	slices.SortStableFunc(d.mistakes, func(a, b *FieldError) int { return cmp.Compare(a.Line, b.Line) })
	return join(d.mistakes)
}

func join(mistakes []*FieldError) error {
	errs := make([]error, len(mistakes))
	for i, e := range mistakes {
		errs[i] = e
	}
	return errors.Join(errs...)
}

// within tells whether key is outer or a part of it.
func within(key, outer string) bool {
	rest, ok := strings.CutPrefix(key, outer)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
