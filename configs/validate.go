package configs

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of what a number may be; beyond them it is a slip of the hand.
const (
	maxTokens    = 1 << 50
	minMaxOutput = 256
)

// Formats are the formats that a source may have: auto looks at the content.
var Formats = []string{
	"auto",
	"atif",
	"claude-code",
	"claude-stream-json",
	"cline",
	"codex",
	"codex-exec-json",
	"gemini-cli",
	"gemini-stream-json",
	"goose",
	"iflow",
	"mcp",
	"messages",
	"mini-swe-agent",
	"native",
	"openclaw",
	"opencode",
	"openhands",
	"otlp",
	"pi",
	"qwen-code",
	"qwen-stream-json",
	"swe-agent",
}

var (
	sourceName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	toolName   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,99}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// Validate joins every mistake in the values, each a *FieldError. Load has done so.
func (c Config) Validate() error { return join(c.faults()) }

// checker gathers mistakes.
type checker struct{ found []*FieldError }

func (k *checker) add(key, format string, args ...any) {
	k.found = append(k.found, &FieldError{Key: key, Problem: fmt.Sprintf(format, args...)})
}

func (k *checker) oneOf(key, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		k.add(key, "%q is none of %s", value, strings.Join(allowed, ", "))
	}
}

func (k *checker) between(key string, value, least, most int64) {
	switch {
	case value < least:
		k.add(key, "%d is too small; it must be %d at least", value, least)
	case value > most:
		k.add(key, "%d is too large; it may be %d at most", value, most)
	}
}

func (k *checker) positive(key string, d time.Duration) {
	if d <= 0 {
		k.add(key, "%v must be longer than nothing", d)
	}
}

func (k *checker) zone(key, name string) {
	if _, err := time.LoadLocation(name); err != nil {
		k.add(key, "%q is no time zone known here; write an IANA name such as Europe/Paris, or \"\" for the machine's own", name)
	}
}

func (k *checker) glob(key, pattern string) {
	if pattern == "" {
		k.add(key, "is empty; write a path or a glob")
	} else if _, err := path.Match(pattern, ""); err != nil {
		k.add(key, "%q is no glob: a bracket is open", pattern)
	}
}

func (c Config) faults() []*FieldError {
	k := &checker{}
	k.schedule(c.Schedule)
	k.zone("timezone", c.Timezone)
	k.oneOf("catch_up", c.CatchUp, "once", "skip")
	if c.Settle < 0 {
		k.add("settle", "%v is negative", c.Settle)
	}
	k.sources(c.Sources, k.formats(c.Formats))
	k.budget(c.Budget)
	k.endpoint(c.Endpoint)
	k.rerun(c.Rerun)
	k.tools(c.Tools)
	k.oneOf("log.format", c.Log.Format, "text", "json")
	k.oneOf("log.level", c.Log.Level, "debug", "info", "warn", "error")
	return k.found
}

// schedule looks at the outline only; the scheduler reads the fields.
func (k *checker) schedule(spec string) {
	switch fields := strings.Fields(spec); {
	case strings.HasPrefix(spec, "TZ=") || strings.HasPrefix(spec, "CRON_TZ="):
		k.add("schedule", "holds a zone; write it under timezone")
	case strings.HasPrefix(spec, "@") && len(fields) > 0:
	case len(fields) != 5:
		k.add("schedule", "%q has %d fields, not five: minute, hour, day of month, month, day of week", spec, len(fields))
	}
}

// formats checks the operator's own formats and returns the names that a source
// may have.
func (k *checker) formats(formats []Format) []string {
	seen := map[string]bool{}
	names := slices.Clone(Formats)
	for i, f := range formats {
		key := fmt.Sprintf("formats[%d]", i)
		k.name(key, f.Name, sourceName, "letters, digits and . _ -", seen)
		switch {
		case slices.Contains(Formats, f.Name):
			k.add(key+".name", "%q is the name of a built-in format; choose another", f.Name)
		case f.JQ != "" && f.JQFile != "":
			k.add(key+".jq", "stands beside jq_file; keep one of them")
		case strings.TrimSpace(f.JQ) == "" && f.JQFile == "":
			k.add(key+".jq", "is missing; write a jq filter that makes native records, or name its file in jq_file")
		}
		names = append(names, f.Name)
	}
	return names
}

func (k *checker) sources(sources []Source, formats []string) {
	seen := map[string]bool{}
	for i, s := range sources {
		key := fmt.Sprintf("sources[%d]", i)
		k.name(key, s.Name, sourceName, "letters, digits and . _ -", seen)
		k.oneOf(key+".format", s.Format, formats...)
		if len(s.Paths) == 0 {
			k.add(key+".paths", "is missing; list one path or glob at least")
		}
		for j, p := range s.Paths {
			k.glob(fmt.Sprintf("%s.paths[%d]", key, j), p)
		}
		for j, e := range s.Expect {
			expect := fmt.Sprintf("%s.expect[%d]", key, j)
			if e.Path == "" && e.Task == "" {
				k.add(expect, "needs path or task: a glob of the runs that it is about")
			}
			if e.Path != "" {
				k.glob(expect+".path", e.Path)
			}
			if e.Task != "" {
				k.glob(expect+".task", e.Task)
			}
			if e.Claims == "" {
				k.add(expect+".claims", "is missing; name a file of claims")
			}
		}
	}
}

func (k *checker) name(key, name string, allowed *regexp.Regexp, words string, seen map[string]bool) {
	switch {
	case name == "":
		k.add(key+".name", "is missing")
	case !allowed.MatchString(name):
		k.add(key+".name", "%q must be made of %s", name, words)
	case seen[name]:
		k.add(key+".name", "%q stands here twice", name)
	}
	seen[name] = true
}

func (k *checker) budget(b Budget) {
	k.between("budget.tokens", b.Tokens, 0, maxTokens)
	k.oneOf("budget.period", b.Period, "month", "day")
	k.zone("budget.timezone", b.Timezone)
	k.between("budget.nightly", b.Nightly, 0, max(b.Tokens, 0))
}

func (k *checker) endpoint(e Endpoint) {
	k.name("endpoint", e.Name, sourceName, "letters, digits and . _ -", map[string]bool{})
	if problem := baseURL(e.BaseURL); problem != "" {
		k.add("endpoint.base_url", "%s", problem)
	}
	if e.BaseURL != "" && e.Model == "" {
		k.add("endpoint.model", "is missing; base_url is set")
	}
	if e.APIKeyEnv != "" && !envName.MatchString(e.APIKeyEnv) {
		// What stands here may be the key itself, so it is not shown.
		k.add("endpoint.api_key_env", "is no name of an environment variable (and no place for the key itself)")
	}
	k.positive("endpoint.timeout", e.Timeout)
	k.between("endpoint.max_completion", int64(e.MaxCompletion), 1, maxTokens)
	k.oneOf("endpoint.max_completion_field", e.MaxCompletionField, "max_tokens", "max_completion_tokens")
	k.between("endpoint.context_window", int64(e.ContextWindow), 0, maxTokens)
}

// baseURL says what is wrong with an address, without showing it: people put
// passwords into them.
func baseURL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return "is no URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "":
		return "names no host"
	case u.User != nil:
		return "holds a user or a password; see api_key_env and api_key_file"
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return "must not hold a query or a fragment"
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return "must end before /chat/completions, which is added"
	}
	return ""
}

func (k *checker) rerun(r Rerun) {
	k.between("rerun.model_calls", int64(r.ModelCalls), 1, 1000)
	k.between("rerun.tool_calls", int64(r.ToolCalls), 1, 1000)
	k.between("rerun.tokens", r.Tokens, 0, maxTokens)
	k.positive("rerun.wall_clock", r.WallClock)
}

func (k *checker) tools(tools []Tool) {
	seen := map[string]bool{}
	for i, t := range tools {
		key := fmt.Sprintf("tools[%d]", i)
		k.name(key, t.Name, toolName, "letters, digits and _ . : / -", seen)
		if t.Class == "" {
			k.add(key+".class", "is missing; declare read, idempotent, mutating or forbidden")
		} else {
			k.oneOf(key+".class", t.Class, "read", "idempotent", "mutating", "forbidden")
		}
		if len(t.Argv) == 0 || t.Argv[0] == "" {
			k.add(key+".argv", "is missing; list the program and its arguments")
		}
		k.positive(key+".timeout", t.Timeout)
		k.between(key+".max_output", int64(t.MaxOutput), minMaxOutput, 1<<30)
		k.parameters(key, t)
		for j, name := range t.Env {
			if !envName.MatchString(name) {
				k.add(fmt.Sprintf("%s.env[%d]", key, j), "is no name of an environment variable (values do not belong here)")
			}
		}
		for j, name := range t.Observes {
			if name == "" {
				k.add(fmt.Sprintf("%s.observes[%d]", key, j), "is empty; name a tool")
			}
		}
	}
}

func (k *checker) parameters(key string, t Tool) {
	switch {
	case t.Parameters != "" && t.ParametersFile != "":
		k.add(key+".parameters_file", "stands beside parameters; give one of the two")
	case t.Parameters != "":
		if _, err := schemaJSON([]byte(t.Parameters)); err != nil {
			k.add(key+".parameters", "%v", err)
		}
	}
}
