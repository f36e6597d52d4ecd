package redact

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode/utf8"
)

// prefix is the beginning of a kind of token, and what the rest must be.
type prefix struct {
	text string
	kind string
	fits func(rest string) bool
}

// prefixes are tried in this order, so the longer of two stands first.
var prefixes = []prefix{
	{"sk-ant-", "anthropic_key", vendorKey},
	{"sk-proj-", "openai_key", vendorKey},
	{"sk-svcacct-", "openai_key", vendorKey},
	{"sk-or-", "openrouter_key", vendorKey},
	{"sk-", "openai_key", plainKey},
	{"sk_live_", "stripe_key", solid(16)},
	{"sk_test_", "stripe_key", solid(16)},
	{"rk_live_", "stripe_key", solid(16)},
	{"whsec_", "webhook_secret", solid(16)},
	{"ghp_", "github_token", solid(20)},
	{"gho_", "github_token", solid(20)},
	{"ghu_", "github_token", solid(20)},
	{"ghs_", "github_token", solid(20)},
	{"ghr_", "github_token", solid(20)},
	{"github_pat_", "github_token", solid(20)},
	{"glpat-", "gitlab_token", func(rest string) bool { return len(rest) >= 16 && mixed(rest) }},
	{"AKIA", "aws_access_key", capitals(16)},
	{"ASIA", "aws_access_key", capitals(16)},
	{"xox", "slack_token", slack},
	{"AIza", "google_key", func(rest string) bool { return len(rest) >= 30 && len(rest) <= 40 && mixed(rest) }},
	{"gsk_", "groq_key", solid(20)},
	{"nvapi-", "nvidia_key", vendorKey},
	{"hf_", "huggingface_token", solid(20)},
	{"npm_", "npm_token", solid(30)},
	{"pypi-", "pypi_token", solid(30)},
	{"xai-", "xai_key", solid(30)},
	{"pplx-", "perplexity_key", solid(30)},
	{"csk-", "cerebras_key", solid(30)},
}

// tokenKind names the kind of a run that is a token by its own shape.
func tokenKind(run string) string {
	if len(run) < 16 {
		return ""
	}
	switch run[0] {
	case 's', 'r', 'w', 'g', 'A', 'x', 'n', 'h', 'p', 'c':
	default:
		return ""
	}
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(run, p.text); ok && p.fits(rest) {
			return p.kind
		}
	}
	return ""
}

// mixed tells whether letters and digits both occur, as in what a machine made.
func mixed(s string) bool {
	letter, digit := false, false
	for i := range len(s) {
		digit = digit || isDigit(s[i])
		letter = letter || isLower(s[i]) || isUpper(s[i])
	}
	return letter && digit
}

// longest is the longest stretch of letters and digits; names of CSS classes and
// functions are divided into short words.
func longest(s string) string {
	best := ""
	for part := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '-' || r == '_' }) {
		if len(part) > len(best) {
			best = part
		}
	}
	return best
}

// solid wants one stretch of at least n that looks made by a machine.
func solid(n int) func(string) bool {
	return func(rest string) bool {
		part := longest(rest)
		return len(part) >= n && (mixed(part) || caseMixed(part) || len(part) >= n+8)
	}
}

func caseMixed(s string) bool {
	return strings.ContainsFunc(s[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' }) &&
		strings.ContainsFunc(s, func(r rune) bool { return r >= 'a' && r <= 'z' })
}

// plainKey is what may follow sk-, with which CSS classes and words begin too.
func plainKey(rest string) bool {
	part := longest(rest)
	return len(part) >= 16 && mixed(part) || len(part) >= 24
}

func vendorKey(rest string) bool {
	return len(rest) >= 16 && mixed(rest) && len(longest(rest)) >= 6 || len(longest(rest)) >= 16
}

func capitals(n int) func(string) bool {
	return func(rest string) bool {
		if len(rest) != n {
			return false
		}
		for i := range n {
			if !isUpper(rest[i]) && !isDigit(rest[i]) {
				return false
			}
		}
		return true
	}
}

func slack(rest string) bool {
	return len(rest) >= 12 && strings.IndexByte("abeoprs", rest[0]) >= 0 && rest[1] == '-' && strings.ContainsAny(rest, "0123456789")
}

// jwtEnd returns the end of the JSON Web Token whose first part is s[start:end].
func jwtEnd(s string, start, end int) (int, bool) {
	if end-start < 10 || !strings.HasPrefix(s[start:end], "eyJ") {
		return 0, false
	}
	for range 2 {
		if end == len(s) || s[end] != '.' {
			return 0, false
		}
		part := end + 1
		for end = part; end < len(s) && isRun(s[end]); end++ {
		}
		if end-part < 4 {
			return 0, false
		}
	}
	return end, true
}

// isBasic tells whether a text is what HTTP's basic scheme sends: name:password
// in base64.
func isBasic(s string) bool {
	if len(s) < 4 {
		return false
	}
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		raw, err = base64.RawStdEncoding.DecodeString(s)
	}
	return err == nil && strings.Contains(string(raw), ":") && utf8.Valid(raw)
}

// isBearer tells a token behind the word bearer from the next word of a sentence.
func isBearer(s string) bool {
	return strings.HasPrefix(s, "sk-") || len(s) >= 8 && mixed(s) || len(s) >= 24
}

// random tells whether a run looks drawn at random: long, of both cases and
// digits, with many different characters, and not hexadecimal.
func random(run string) bool {
	if len(run) < 20 || len(run) > 512 {
		return false
	}
	var seen [128]int
	upper, lower, digit := false, false, false
	for i := range len(run) {
		c := run[i]
		seen[c&127]++
		upper, lower, digit = upper || isUpper(c), lower || isLower(c), digit || isDigit(c)
	}
	if !upper || !lower || !digit || len(longest(run)) < 12 {
		return false
	}
	bits := 0.0
	for _, n := range seen {
		if n > 0 {
			p := float64(n) / float64(len(run))
			bits -= p * math.Log2(p)
		}
	}
	return bits >= 3.5
}
