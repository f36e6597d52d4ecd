package rules

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"nightaudit/audit/claims"
)

// Statements returns the claims that a summary makes: one for each rule that fits a
// sentence. Every other sentence comes back as not checked. Ids are s1, s2, … in
// the order of the text.
func (p *Pack) Statements(summary string) (list []claims.Claim, notChecked []string) {
	for i, s := range Sentences(summary) {
		var found []claims.Claim
		if i < maxStatements && len(s) <= maxSentence {
			found = p.judge(s)
		}
		if len(found) == 0 {
			notChecked = append(notChecked, s)
		}
		for _, c := range found {
			c.ID = fmt.Sprintf("s%d", len(list)+1)
			list = append(list, c)
		}
	}
	return list, notChecked
}

// judge returns the claims of one sentence.
func (p *Pack) judge(s string) []claims.Claim {
	t := p.read(s)
	var out []claims.Claim
	for _, r := range p.rules {
		with, ok := t.fits(r)
		if !ok || t.excluded(r) {
			continue
		}
		if c, ok := p.claim(r, s, with); ok {
			out = append(out, c)
		}
	}
	return out
}

// sentence is one as patterns and filters see it.
type sentence struct {
	pack     *Pack
	text     string
	masked   string
	seen     string          // by the filters
	filtered map[string]bool // what each filter said; worked out once for all rules
}

func (p *Pack) read(s string) *sentence {
	t := &sentence{pack: p, text: plain(s), filtered: map[string]bool{}}
	t.masked = wholes(mask(t.text))
	t.seen = t.masked
	if p.ignore != nil {
		t.seen = p.ignore.ReplaceAllString(t.masked, " ")
	}
	return t
}

var fraction = regexp.MustCompile(`(\d+)( ?/ ?| of | out of )(\d+)`)

// wholes writes "48/48" and "48 of 48" as 48, which they mean; places stay the same.
func wholes(s string) string {
	b := []byte(s)
	for _, m := range fraction.FindAllStringSubmatchIndex(s, -1) {
		if s[m[2]:m[3]] == s[m[6]:m[7]] {
			for i := m[3]; i < m[7]; i++ {
				b[i] = ' '
			}
		}
	}
	return string(b)
}

// claim makes the claim that a sentence is, by a rule.
func (p *Pack) claim(r *Rule, text string, with map[string]string) (claims.Claim, bool) {
	record, err := json.Marshal(map[string]any{"claim": text, "kind": r.Kind, "with": with})
	if err != nil {
		return claims.Claim{}, false
	}
	c, err := claims.LoadOne(r.Kind, record, 1, claims.Options{Source: claims.SourceRule, Kinds: p.Kinds()})
	c.Unless = r.Unless
	return c, err == nil // what a parameter makes unreadable cannot be judged
}

// excluded tells whether a filter keeps a rule from the sentence.
func (t *sentence) excluded(r *Rule) bool {
	if r.not != nil && r.not.MatchString(t.masked) {
		return true
	}
	for name, re := range t.pack.excludes {
		if slices.Contains(r.lifts, name) {
			continue
		}
		if _, known := t.filtered[name]; !known {
			t.filtered[name] = re.MatchString(t.seen)
		}
		if t.filtered[name] {
			return true
		}
	}
	return false
}

// fits finds the first pattern that fits, and what it gives for the parameters.
func (t *sentence) fits(r *Rule) (with map[string]string, ok bool) {
	for _, re := range r.sentences {
		if m := re.FindStringSubmatchIndex(t.masked); m != nil {
			if with, ok := r.values(re, m, t.text); ok {
				return with, true
			}
		}
	}
	return nil, false
}

// values takes the parameters out of a match. One that is no value of its kind is
// left out where it may be.
func (r *Rule) values(re *regexp.Regexp, m []int, text string) (map[string]string, bool) {
	with := map[string]string{}
	for i, name := range re.SubexpNames() {
		if name == "" || m[2*i] < 0 {
			continue
		}
		if v := value(name, strings.TrimSpace(text[m[2*i]:m[2*i+1]])); v != "" {
			with[name] = v
		}
	}
	for _, p := range r.params {
		if _, given := with[p.name]; !given && !p.optional {
			return nil, false
		}
	}
	return with, true
}
