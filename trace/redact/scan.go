package redact

import "strings"

// maxKeyBlock is how far the end of a private key is looked for, in bytes.
const maxKeyBlock = 16 << 10

// scan finds the secrets of a text, in order and without overlap. It goes from
// run to run (a run is a stretch of letters, digits, _ and -) and never back, so
// its time is linear. A secret always ends where its run ends: what is left
// beside a mark can therefore not become a secret of its own.
func scan(s string) []span {
	var spans []span
	var before [2]word // the two runs before this one
	for i := 0; i < len(s); {
		if !isRun(s[i]) {
			i++
			continue
		}
		start := i
		for i < len(s) && isRun(s[i]) {
			i++
		}
		w := word{start: start, end: i}
		if start > 0 && s[start-1] == '\\' && strings.IndexByte("nrt", s[start]) >= 0 {
			w.start++ // the letter of an escape that was not decoded
		}
		if sp, ok := find(s, w, before); ok {
			spans = append(spans, sp)
			i = max(i, sp.end)
			w = word{}
		}
		before[0], before[1] = before[1], w
	}
	return spans
}

// word is a run's place.
type word struct{ start, end int }

func (w word) of(s string) string { return s[w.start:w.end] }

// find looks for a secret that is the run w, or begins behind it.
func find(s string, w word, before [2]word) (span, bool) {
	run := w.of(s)
	if run == "" {
		return span{}, false
	}
	if kind := tokenKind(run); kind != "" {
		return span{w.start, w.end, kind}, true
	}
	if end, ok := jwtEnd(s, w.start, w.end); ok {
		return span{w.start, end, "jwt"}, true
	}
	if sp, ok := keyBlock(s, w); ok {
		return sp, true
	}
	if w.end < len(s) && s[w.end] == ':' && strings.HasPrefix(s[w.end:], "://") {
		return address(s, w.end+len("://"))
	}
	if sp, ok := scheme(s, w); ok {
		return sp, true
	}
	if SecretName(run) {
		return assigned(s, w)
	}
	if random(run) && afterName(s, w, before) {
		return span{w.start, w.end, "high_entropy"}, true
	}
	return span{}, false
}

const privateKey = "private_key"

// keyBlock finds a private key in PEM form. One that is cut off ends with its
// last line of base64; the mere mention of the first line is none.
func keyBlock(s string, w word) (span, bool) {
	if w.end-w.start < len("-----BEGIN") {
		return span{}, false
	}
	at := strings.Index(w.of(s), "-----BEGIN")
	if at < 0 {
		return span{}, false
	}
	start := w.start + at
	head := s[start+len("-----BEGIN"):]
	head = head[:min(len(head), 60)]
	label, _, ok := strings.Cut(head, "-----")
	if !ok || !strings.Contains(label, "PRIVATE KEY") {
		return span{}, false
	}
	body := start + len("-----BEGIN") + len(label) + len("-----")
	rest := s[body:min(len(s), body+maxKeyBlock)]
	if end := strings.Index(rest, "-----END"+label+"-----"); end >= 0 {
		return span{start, body + end + len("-----END") + len(label) + len("-----"), privateKey}, true
	}
	end := body
	for end < len(s) && (isAlnum(s[end]) || strings.IndexByte("+/=\r\n\\", s[end]) >= 0) {
		end++
	}
	if end-body < 16 {
		return span{}, false
	}
	return span{start, end, privateKey}, true
}

// address finds the password in user:password@host, which begins at s[at].
func address(s string, at int) (span, bool) {
	end := at
	for end < len(s) && s[end] > ' ' && strings.IndexByte("/?#\"'`<>\\", s[end]) < 0 {
		end++
	}
	host := strings.LastIndexByte(s[at:end], '@')
	colon := strings.IndexByte(s[at:end], ':')
	if host < 0 || colon < 0 || colon >= host {
		return span{}, false
	}
	value := s[at+colon+1 : at+host]
	if value == "" || isPlaceholder(value) {
		return span{}, false
	}
	return span{at + colon + 1, at + host, "url_password"}, true
}

// scheme finds what follows the words Bearer and Basic.
func scheme(s string, w word) (span, bool) {
	run := w.of(s)
	if len(run) != len("basic") && len(run) != len("bearer") {
		return span{}, false
	}
	bearer := strings.EqualFold(run, "bearer")
	if !bearer && !strings.EqualFold(run, "basic") {
		return span{}, false
	}
	start := w.end
	for start < len(s) && s[start] == ' ' {
		start++
	}
	end := start
	for end < len(s) && (isRun(s[end]) || strings.IndexByte("._~+/=", s[end]) >= 0) {
		end++
	}
	value := s[start:end]
	switch {
	case start == w.end:
		return span{}, false
	case bearer && isBearer(value):
		return span{start, end, "bearer_token"}, true
	case !bearer && isBasic(value):
		return span{start, end, "basic_auth"}, true
	default:
		return span{}, false
	}
}

// afterName tells whether a run stands right after the name of a secret, with at
// most one small word and some punctuation between them.
func afterName(s string, w word, before [2]word) bool {
	near := func(a, b word) bool {
		return a.end > a.start && b.start-a.end <= 4 && !strings.Contains(s[a.end:b.start], "\n")
	}
	last := before[1]
	if !near(last, w) {
		return false
	}
	if nameLike(last.of(s)) {
		return true
	}
	switch last.of(s) {
	case "is", "was", "as", "of", "to":
		return near(before[0], last) && nameLike(before[0].of(s))
	default:
		return false
	}
}

// nameLike is looser than SecretName: what follows has to look random as well.
func nameLike(name string) bool {
	return SecretName(name) || strings.EqualFold(name, "key") || strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_key")
}
