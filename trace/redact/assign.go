package redact

import "strings"

// maxValue is how long a value behind a name may be, in bytes. What is longer is
// no credential, and looking for its end behind each of many names would cost
// more than the text is long.
const maxValue = 8 << 10

// assigned finds the value that text gives to the secret whose name is the run w:
// NAME=value, name: value, "name": "value", --name value.
func assigned(s string, w word) (span, bool) {
	name := w.of(s)
	v := valueOf(s, w)
	if !v.given {
		return span{}, false
	}
	value := s[v.start:v.end]
	if value == "" || len(value) >= maxValue || strings.HasPrefix(value, Mark) || isPlaceholder(value) {
		return span{}, false
	}
	folded := fold(strings.Trim(name, "-_"))
	header := strings.HasSuffix(folded, "authorization") || strings.HasSuffix(folded, "cookie")
	switch {
	case header:
		return headerValue(s, v, folded)
	case v.quoted:
		if !literal(value) {
			return span{}, false
		}
	case !bare(s, v, value, folded):
		return span{}, false
	}
	kind := tokenKind(value)
	if kind == "" {
		kind = kindOfName(folded)
	}
	return span{v.start, v.end, kind}, true
}

// value is what follows a name.
type value struct {
	start, end int
	given      bool
	quoted     bool
	sep        byte // '=', ':' or ' ' for an option's value
	spaced     bool // blanks before the separator or between it and the value
}

// valueOf reads separator and value behind a name.
func valueOf(s string, w word) value {
	i := skipQuote(s, w.end)
	gap := i
	i = skipBlanks(s, i)
	v := value{spaced: i > gap}
	switch {
	case i < len(s) && (s[i] == '=' || s[i] == ':'):
		v.sep = s[i]
		i++
		if i < len(s) && (s[i] == '=' || s[i] == '>') {
			if v.sep == s[i] { // a comparison
				return value{}
			}
			i++ // := and =>
		}
	case v.spaced && s[w.start] == '-' && gap == w.end:
		v.sep = ' '
	default:
		return value{}
	}
	start := skipBlanks(s, i)
	v.spaced = v.spaced || start > i
	v.start, v.given = start, start < len(s)
	if !v.given || v.sep == ' ' && s[start] == '-' {
		return value{}
	}
	open := skipQuote(s, start)
	if open > start {
		v.quoted = true
		v.start = open
		v.end = closing(s, open, s[start:open])
		return v
	}
	v.end = bareEnd(s, w, v)
	return v
}

func skipBlanks(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

// skipQuote passes a quotation mark, which text in text writes with backslashes.
func skipQuote(s string, i int) int {
	j := i
	for j < len(s) && s[j] == '\\' && j-i < 8 {
		j++
	}
	if j < len(s) && strings.IndexByte("\"'`", s[j]) >= 0 {
		return j + 1
	}
	return i
}

// closing finds the end of a quoted value: the same mark again, or the line's end.
func closing(s string, i int, quote string) int {
	mark := quote[len(quote)-1]
	stop := min(len(s), i+maxValue)
	for ; i < stop && s[i] != '\n'; i++ {
		if strings.HasPrefix(s[i:], quote) {
			return i
		}
		if s[i] == '\\' && len(quote) == 1 && i+1 < len(s) && s[i+1] != '\n' {
			i++
			continue
		}
		if s[i] == mark {
			return i
		}
	}
	return min(i, stop)
}

// bareEnd finds the end of a value without quotes. A line of an environment dump
// holds nothing but the value; elsewhere punctuation ends it too.
func bareEnd(s string, w word, v value) int {
	stops := "\"'`,;&)}]<>|"
	if v.sep == '=' && !v.spaced && (w.start == 0 || s[w.start-1] == '\n') || v.sep == ' ' {
		stops = "\"'`"
	}
	i := v.start
	if strings.HasPrefix(s[i:], Mark) {
		return i + len(Mark)
	}
	if s[i] == '<' { // a placeholder may hold blanks
		line := s[i:min(len(s), i+maxName)]
		if end := strings.IndexAny(line, ">\n"); end >= 0 && line[end] == '>' {
			return i + end + 1
		}
	}
	stop := min(len(s), i+maxValue)
	for i < stop && s[i] > ' ' && strings.IndexByte(stops, s[i]) < 0 {
		i++
	}
	return i
}

// plainWords are what schemas, code and messages put behind such names.
var plainWords = map[string]bool{
	"true": true, "false": true, "null": true, "none": true, "nil": true, "undefined": true, "string": true, "str": true,
	"bool": true, "boolean": true, "int": true, "integer": true, "number": true, "any": true, "optional": true, "required": true,
	"yes": true, "no": true, "bytes": true, "object": true, "unknown": true, "text": true, "invalid": true, "expired": true,
	"missing": true, "empty": true, "self": true, "this": true, "await": true, "new": true, "not": true, "error": true, "ok": true,
}

// literal tells whether a quoted value can be a secret: no sentence, no type.
func literal(v string) bool {
	return len(v) >= 3 && strings.Count(v, " ") < 3 && !plainWords[strings.ToLower(v)]
}

// bare tells whether a value without quotes is a secret rather than code or prose.
func bare(s string, v value, text, name string) bool {
	if len(text) < 3 || plainWords[strings.ToLower(strings.TrimRight(text, ".:!?"))] {
		return false
	}
	if strings.ContainsAny(text, "([{") || reference(text) && v.spaced {
		return false // a call, an index, a field: code
	}
	if mixed(text) && len(text) >= 6 {
		return true
	}
	password := strings.HasSuffix(name, "password") || strings.HasSuffix(name, "passwd") || strings.HasSuffix(name, "passphrase")
	lineEnds := v.end == len(s) || s[v.end] == '\n' || s[v.end] == '\r'
	switch v.sep {
	case '=':
		return !v.spaced && !allDigits(text)
	case ' ':
		return password || len(text) >= 20
	default:
		return password && lineEnds && len(text) >= 6
	}
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

// reference tells whether a text is a name in code: words joined by dots.
func reference(s string) bool {
	if strings.IndexByte(s, '.') < 0 {
		return false
	}
	for i := range len(s) {
		if !isLower(s[i]) && !isUpper(s[i]) && s[i] != '.' && s[i] != '_' {
			return false
		}
	}
	return true
}

// headerValue takes the rest of the line of an Authorization or Cookie header, or
// what the quotes around it hold.
func headerValue(s string, v value, name string) (span, bool) {
	end := v.end
	if !v.quoted {
		stop := min(len(s), v.start+maxValue)
		for end < stop && s[end] >= ' ' && strings.IndexByte("\"'`\\", s[end]) < 0 {
			end++
		}
		if end-v.start == maxValue {
			return span{}, false
		}
		for end > v.start && s[end-1] == ' ' {
			end--
		}
	}
	text := s[v.start:end]
	kind := kindOfName(name)
	if strings.HasSuffix(name, "cookie") {
		ok := strings.Contains(text, "=") || v.quoted && len(text) >= 8
		return span{v.start, end, kind}, ok && !strings.HasPrefix(text, Mark)
	}
	word, token, two := strings.Cut(text, " ")
	token = strings.TrimSpace(token)
	switch {
	case !two && len(text) >= 8 && mixed(text):
		return span{v.start, end, kind}, true
	case !two || strings.Contains(token, " ") || token == "" || isPlaceholder(token):
		return span{}, false
	case strings.EqualFold(word, "bearer"):
		kind = "bearer_token"
	case strings.EqualFold(word, "basic"):
		kind = "basic_auth"
	case !mixed(token) && len(token) < 20:
		return span{}, false
	}
	start := end - len(token)
	return span{start, end, kind}, !strings.HasPrefix(token, Mark)
}

// isPlaceholder tells whether a value stands for one: a variable, a template, a mark.
func isPlaceholder(v string) bool {
	if IsMark(v) || strings.HasPrefix(v, Mark) {
		return true
	}
	switch {
	case strings.HasPrefix(v, "$("), strings.HasPrefix(v, "${"), strings.HasPrefix(v, "{{"):
		return true
	case v[0] == '$':
		return len(v) > 1 && len(v) <= maxName && strings.IndexFunc(v[1:], func(r rune) bool { return r >= 0x80 || !isAlnum(byte(r)) && r != '_' }) < 0
	case v[0] == '<' || v[0] == '%':
		return len(v) > 2 && (v[len(v)-1] == '>' || v[len(v)-1] == '%')
	default:
		return len(v) >= 3 && (strings.Trim(v, ".") == "" || strings.Trim(v, "xX") == "")
	}
}

// kindOfName names the kind of a secret that only its name gives away.
func kindOfName(folded string) string {
	for _, end := range []string{"authorization", "password", "passphrase", "client_secret", "private_key", "api_key", "cookie", "token", "secret"} {
		if strings.HasSuffix(folded, end) {
			return end
		}
	}
	switch {
	case strings.HasSuffix(folded, "apikey"):
		return "api_key"
	case strings.HasSuffix(folded, "passwd") || strings.HasSuffix(folded, "pwd") || strings.HasSuffix(folded, "pass"):
		return "password"
	default:
		return "secret"
	}
}
