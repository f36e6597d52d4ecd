package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// param is a parameter of a requirement: {name}, or {name?} where it may be left out.
type param struct {
	name     string
	optional bool
}

// placeholder is a parameter's place in a text. Braces of patterns and globs
// ({2,3}, {a,b}) look otherwise.
var placeholder = regexp.MustCompile(`\{([a-z][a-z0-9_]*)(\??)\}`)

const maxValue = 300 // bytes of a parameter's value

// errLeftOut: a text holds a parameter that may be left out, and is.
var errLeftOut = errors.New("left out")

// paramsOf lists the parameters of a requirement, sorted.
func paramsOf(v any) []param {
	found := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch t := v.(type) {
		case string:
			for _, m := range placeholder.FindAllStringSubmatch(t, -1) {
				optional, seen := found[m[1]]
				found[m[1]] = m[2] != "" && (optional || !seen)
			}
		case []any:
			for _, e := range t {
				walk(e)
			}
		case map[string]any:
			for _, e := range t {
				walk(e)
			}
		}
	}
	walk(v)
	var out []param
	for _, name := range slices.Sorted(maps.Keys(found)) {
		out = append(out, param{name, found[name]})
	}
	return out
}

// fill returns the requirement with parameters put in.
func (r *Rule) fill(with map[string]string) (json.RawMessage, error) {
	for name := range with {
		if !slices.ContainsFunc(r.params, func(p param) bool { return p.name == name }) {
			return nil, fmt.Errorf("%s has no parameter %q; it has %s", r.Kind, name, r.paramNames())
		}
	}
	values := map[string]string{}
	for _, p := range r.params {
		v, given := with[p.name]
		switch {
		case !given && !p.optional:
			return nil, fmt.Errorf("%s needs the parameter %s", r.Kind, p.name)
		case given && (v == "" || len(v) > maxValue || strings.ContainsFunc(v, unicode.IsControl)):
			return nil, fmt.Errorf("%s: the parameter %s must be one line of 1 to %d bytes", r.Kind, p.name, maxValue)
		case given:
			values[p.name] = v
		}
	}
	v, err := put(r.requirement, "", values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Kind, err)
	}
	return json.Marshal(v)
}

func (r *Rule) paramNames() string {
	if len(r.params) == 0 {
		return "none"
	}
	var out []string
	for _, p := range r.params {
		out = append(out, p.name)
	}
	return strings.Join(out, ", ")
}

// put puts values into a requirement. An entry of a list that needs a parameter
// which is left out is left out itself, and so is a key without a list: half a
// requirement would match what it was not meant for.
func put(v any, key string, values map[string]string) (any, error) {
	switch t := v.(type) {
	case string:
		return putText(t, key, values)
	case []any:
		out := []any{}
		for _, e := range t {
			switch filled, err := put(e, key, values); {
			case errors.Is(err, errLeftOut):
			case err != nil:
				return nil, err
			default:
				out = append(out, filled)
			}
		}
		if len(out) == 0 {
			return nil, errLeftOut
		}
		return out, nil
	case map[string]any:
		out := map[string]any{}
		for _, k := range slices.Sorted(maps.Keys(t)) {
			filled, err := put(t[k], k, values)
			if errors.Is(err, errLeftOut) && key == "" {
				continue // a key of the requirement itself
			}
			if err != nil {
				return nil, err
			}
			out[k] = filled
		}
		return out, nil
	default:
		return v, nil
	}
}

// numeric are the keys whose values are whole numbers.
var numeric = map[string]bool{"total": true, "min_total": true, "lines": true, "cap": true, "min": true, "max": true}

// putText puts values into one text, quoted for what the text is.
func putText(text, key string, values map[string]string) (any, error) {
	var missing, bad error
	number := false
	out := placeholder.ReplaceAllStringFunc(text, func(m string) string {
		name := placeholder.FindStringSubmatch(m)[1]
		v, ok := values[name]
		if !ok {
			missing = errLeftOut
			return ""
		}
		switch {
		case numeric[key]:
			number = true
			digits := strings.ReplaceAll(v, ",", "")
			if n, err := strconv.Atoi(digits); err != nil || n < 0 || n > 1e9 {
				bad = fmt.Errorf("the parameter %s must be a whole number, not %q", name, v)
			} else {
				v = strconv.Itoa(n)
			}
			return v
		case key == "cmd" && strings.TrimRight(name, "0123456789") == "command":
			return commandPattern(v)
		case key == "cmd":
			return quoteCommand(v)
		case key == "match" || key == "not_match":
			return quotePattern(v)
		case key == "path" || key == "edit_paths" || key == "coverage":
			return quoteGlob(cleanPath(v)) + spoken(v)
		case key == "tool" || key == "child":
			return quoteGlob(v)
		default:
			return v
		}
	})
	switch {
	case missing != nil:
		return nil, missing
	case bad != nil:
		return nil, bad
	case number:
		return json.Number(out), nil
	case key == "path" || key == "edit_paths":
		out = strings.Replace(out, "**//", "/", 1) // an absolute path stands for itself
	}
	return out, nil
}

// quotePattern makes a pattern that matches this text, whatever blanks it has
// between its words and whichever quotation marks around them.
func quotePattern(s string) string {
	words := strings.Fields(s)
	for i := range words {
		words[i] = anyQuote.Replace(regexp.QuoteMeta(words[i]))
	}
	return strings.Join(words, `\s+`)
}

var anyQuote = strings.NewReplacer(`"`, `["']`, `'`, `["']`)

// quoteCommand makes a pattern that matches this text in a command, also with
// options between its words: people leave them out where they speak of what they ran.
func quoteCommand(s string) string {
	return strings.ReplaceAll(quotePattern(s), `\s+`, `(?:\s+-\S+)*\s+`)
}

// commandPattern makes a pattern that matches the run of a command: at its start,
// however it is found or looked through, and not where another one speaks of it. A
// pipe or a list stands in the whole of a call.
func commandPattern(s string) string {
	start := `^(?:\S*/)?(?:python[\d.]*\s+-m\s+|(?:pnpm|yarn|bun)\s+(?:run\s+)?)?`
	if strings.ContainsAny(s, "|&;") {
		start = `(?:^|[;&|(\n]\s*)`
	}
	pattern := quoteCommand(s)
	if rest, ok := strings.CutPrefix(pattern, "python"); ok {
		pattern = `python[\d.]*` + strings.TrimPrefix(rest, "3")
	}
	return start + pattern
}

// quoteGlob makes a glob that matches exactly this text.
func quoteGlob(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(`\*?[]{},`, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// spoken is what a file's name may have behind it when people leave that out: the
// README is README.md.
func spoken(p string) string {
	switch path.Base(p) {
	case "README", "LICENSE", "CHANGELOG", "Dockerfile":
		return "{,.*}"
	}
	return ""
}

// cleanPath writes a path as the matcher of paths has it.
func cleanPath(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	p = strings.TrimPrefix(p, "~/")
	return path.Clean(p)
}
