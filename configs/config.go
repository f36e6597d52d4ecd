// Package configs reads nightaudit.yaml: a path goes in, and what comes out is a
// checked Config, or every mistake in the file at once, each with its line, its
// key and what is allowed.
//
// Config is plain data. cmd translates it into the options of the other packages,
// which know nothing of it; whether a cron line, a schema or a key is any good is
// for them to say. No secret is ever in a Config: it holds names of variables and
// files, and APIKey reads them when the key is needed.
package configs

import (
	"bytes"
	_ "embed"
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed nightaudit.yaml
var example []byte

// Example is the commented file that holds every key with its default.
func Example() []byte { return bytes.Clone(example) }

// Config is the whole file. The keys are documented in nightaudit.yaml.
//
// There are no maps on purpose: viper lower-cases their keys, so what people name
// (sources, tools) is a list of things with a name.
type Config struct {
	StateDir string        `yaml:"state_dir"`
	Schedule string        `yaml:"schedule"`
	Timezone string        `yaml:"timezone"`
	CatchUp  string        `yaml:"catch_up"`
	Settle   time.Duration `yaml:"settle"`
	Sources  []Source      `yaml:"sources"`
	Formats  []Format      `yaml:"formats"`
	Rules    []string      `yaml:"rules"`
	Budget   Budget        `yaml:"budget"`
	Endpoint Endpoint      `yaml:"endpoint"`
	Rerun    Rerun         `yaml:"rerun"`
	Tools    []Tool        `yaml:"tools"`
	Log      Log           `yaml:"log"`
}

// Source is a set of traces.
type Source struct {
	Name   string   `yaml:"name"`
	Paths  []string `yaml:"paths"`
	Format string   `yaml:"format"`
	Expect []Expect `yaml:"expect"`
}

// Format is a form of traces of one's own: a jq filter turns its values into
// native records.
type Format struct {
	Name   string `yaml:"name"`
	JQ     string `yaml:"jq"`
	JQFile string `yaml:"jq_file"`
}

// Expect gives the runs whose trace matches Path, and whose task matches Task,
// both globs, a file of claims. One of the two is enough.
type Expect struct {
	Task   string `yaml:"task"`
	Path   string `yaml:"path"`
	Claims string `yaml:"claims"`
}

// Budget is the allowance of tokens.
type Budget struct {
	Tokens   int64  `yaml:"tokens"`
	Period   string `yaml:"period"`
	Timezone string `yaml:"timezone"`
	Nightly  int64  `yaml:"nightly"`
}

// Endpoint is the model that re-runs are sent to. None is configured while BaseURL
// is empty.
type Endpoint struct {
	Name               string        `yaml:"name"`
	BaseURL            string        `yaml:"base_url"`
	Model              string        `yaml:"model"`
	APIKeyEnv          string        `yaml:"api_key_env"`
	APIKeyFile         string        `yaml:"api_key_file"`
	Timeout            time.Duration `yaml:"timeout"`
	MaxCompletion      int           `yaml:"max_completion"`
	MaxCompletionField string        `yaml:"max_completion_field"`
	ContextWindow      int           `yaml:"context_window"`
	AllowPlainHTTP     bool          `yaml:"allow_plain_http"`
}

// Rerun bounds one attempt. How many there are is no setting.
type Rerun struct {
	Enabled     bool          `yaml:"enabled"`
	Unsupported bool          `yaml:"unsupported"`
	ModelCalls  int           `yaml:"model_calls"`
	ToolCalls   int           `yaml:"tool_calls"`
	Tokens      int64         `yaml:"tokens"`
	WallClock   time.Duration `yaml:"wall_clock"`
}

// Tool is a program that a re-run may call.
type Tool struct {
	Name           string        `yaml:"name"`
	Description    string        `yaml:"description"`
	Parameters     string        `yaml:"parameters"`
	ParametersFile string        `yaml:"parameters_file"`
	Argv           []string      `yaml:"argv"`
	Class          string        `yaml:"class"`
	Timeout        time.Duration `yaml:"timeout"`
	MaxOutput      int           `yaml:"max_output"`
	Dir            string        `yaml:"dir"`
	Env            []string      `yaml:"env"`
	Observes       []string      `yaml:"observes"`
}

// Log says how the daemon logs.
type Log struct {
	Format string `yaml:"format"`
	Level  string `yaml:"level"`
}

// Default is what holds where the file says nothing.
func Default() Config {
	return Config{
		Schedule: "30 2 * * *",
		CatchUp:  "once",
		Settle:   15 * time.Minute,
		Sources:  []Source{},
		Formats:  []Format{},
		Rules:    []string{},
		Budget:   Budget{Tokens: 10_000_000, Period: "month"},
		Endpoint: Endpoint{
			Name: "default", APIKeyEnv: "NIGHTAUDIT_API_KEY", Timeout: 2 * time.Minute,
			MaxCompletion: 1024, MaxCompletionField: "max_tokens",
		},
		Rerun: Rerun{Enabled: true, ModelCalls: 6, ToolCalls: 12, WallClock: 5 * time.Minute},
		Tools: []Tool{},
		Log:   Log{Format: "text", Level: "info"},
	}
}

// Defaults of what stands in a list, where Default has no place for them.
const (
	defaultFormat      = "auto"
	defaultToolTimeout = time.Minute
	defaultMaxOutput   = 16384
)

// setListDefaults fills what an entry of a list leaves out.
func (c *Config) setListDefaults() {
	for i := range c.Sources {
		s := &c.Sources[i]
		if s.Format == "" {
			s.Format = defaultFormat
		}
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		if t.Timeout == 0 {
			t.Timeout = defaultToolTimeout
		}
		if t.MaxOutput == 0 {
			t.MaxOutput = defaultMaxOutput
		}
	}
}

// Show is the Config as YAML that Load reads again.
func (c Config) Show() ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("show configuration: %w", err)
	}
	return b.Bytes(), enc.Close()
}
