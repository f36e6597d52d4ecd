package rules

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Document describes every kind of a pack in Markdown: what it requires, what is
// not sufficient, and sentences that make such a claim.
func (p *Pack) Document() string {
	var b strings.Builder
	for _, r := range p.rules {
		r.document(&b)
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// Describe describes one kind as Document does; false where the pack has no such.
func (p *Pack) Describe(kind string) (string, bool) {
	r := p.rule(kind)
	if r == nil {
		return "", false
	}
	var b strings.Builder
	r.document(&b)
	return strings.TrimRight(b.String(), "\n") + "\n", true
}

func (r *Rule) document(b *strings.Builder) {
	fmt.Fprintf(b, "### %s\n\n", r.Kind)
	if len(r.params) > 0 {
		b.WriteString("Parameters: ")
		for i, param := range r.params {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(b, "`%s`", param.name)
			if param.optional {
				b.WriteString(" (may be left out)")
			}
		}
		b.WriteString(".\n\n")
	}
	b.WriteString("```yaml\n")
	writeRequirement(b, r.requirement)
	b.WriteString("```\n\n")
	fmt.Fprintf(b, "Not sufficient: %s\n\n", r.Insufficient)
	if r.Weak {
		b.WriteString("A trace can support this kind and not refute it: it is never CONTRADICTED.\n\n")
	}
	examples(b, "Fits", r.Examples.Fits)
	examples(b, "Does not fit", r.Examples.FitsNot)
	b.WriteByte('\n')
}

// examples shows the first few sentences of a list.
func examples(b *strings.Builder, title string, list []string) {
	if len(list) == 0 {
		return
	}
	var shown []string
	for _, s := range list[:min(len(list), 4)] {
		shown = append(shown, "“"+s+"”")
	}
	fmt.Fprintf(b, "- %s: %s\n", title, strings.Join(shown, " · "))
}

// writeRequirement writes a requirement with one line an entry, as JSON that is
// YAML as well.
func writeRequirement(b *strings.Builder, v any) {
	object, ok := v.(map[string]any)
	if !ok {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		list, ok := object[key].([]any)
		if !ok {
			fmt.Fprintf(b, "%s: %s\n", key, compact(object[key]))
			continue
		}
		fmt.Fprintf(b, "%s:\n", key)
		for _, e := range list {
			fmt.Fprintf(b, "  - %s\n", compact(e))
		}
	}
}

func compact(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "null" // what was read as JSON or YAML can be written
	}
	return strings.TrimSpace(b.String())
}
