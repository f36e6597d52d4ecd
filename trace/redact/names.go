package redact

import (
	"slices"
	"strings"
)

// secretEnds are the words, folded, with which the name of a secret ends. Names
// that only speak of a secret (token_type, password_hash, secret_name) end
// otherwise.
var secretEnds = []string{
	"authorization", "password", "passwd", "passphrase", "pwd", "secret", "token", "cookie", "credential", "credentials",
	"apikey", "api_key", "accesskey", "access_key", "secretkey", "secret_key", "privatekey", "private_key", "auth_key",
	"signing_key", "encryption_key", "account_key", "service_key", "master_key",
	"db_pass", "smtp_pass", "mail_pass", "email_pass", "mysql_pass", "postgres_pass", "redis_pass", "ftp_pass", "user_pass", "admin_pass",
}

// joinedEnds also count at the end of a word that is not divided: authtoken,
// dbpassword, xapikey.
var joinedEnds = []string{"password", "passwd", "passphrase", "apikey", "secretkey", "privatekey", "authtoken", "accesstoken", "refreshtoken", "clientsecret"}

// harmlessTokens are the words before "token" that make it something else: units
// of language models, cursors, parsers.
var harmlessTokens = []string{
	"page", "next", "continuation", "pad", "eos", "bos", "unk", "mask", "sep", "cls", "stop", "special", "per", "cancellation",
	"first", "last", "max", "min", "num", "input", "output", "prompt", "completion", "total", "cached", "reasoning", "thinking",
	"syntax", "unexpected", "progress", "cursor", "sync", "resume", "per_output", "per_input",
}

// maxName is the longest name that is looked at, in bytes.
const maxName = 64

// SecretName tells whether what stands under a name is taken for a secret. Case,
// - and _, and camelCase make no difference.
func SecretName(name string) bool {
	name = strings.Trim(name, "-_. ")
	if len(name) > maxName {
		name = name[len(name)-maxName:]
	}
	if !endsLikeSecret(name) {
		return false
	}
	folded := fold(name)
	for _, end := range secretEnds {
		rest, ok := strings.CutSuffix(folded, end)
		if !ok || rest != "" && rest[len(rest)-1] != '_' {
			continue
		}
		if end != "token" {
			return true
		}
		before := strings.Trim(rest, "_")
		before = before[strings.LastIndexByte(before, '_')+1:]
		return !slices.Contains(harmlessTokens, before)
	}
	for _, end := range joinedEnds {
		if strings.HasSuffix(folded, end) {
			return true
		}
	}
	return false
}

// endsLikeSecret is a cheap test that almost every word fails.
func endsLikeSecret(name string) bool {
	if len(name) < 3 {
		return false
	}
	switch string([]byte{name[len(name)-3] | 0x20, name[len(name)-2] | 0x20, name[len(name)-1] | 0x20}) {
	case "ion", "ord", "swd", "ase", "pwd", "ret", "ken", "kie", "ial", "als", "key", "ass":
		return true
	default:
		return false
	}
}

// fold writes a name in lower case with _ between its words.
func fold(name string) string {
	b := make([]byte, 0, len(name)+8)
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '-' || c == '.' || c == ' ' || c == '_':
			b = append(b, '_')
		case c >= 'A' && c <= 'Z':
			// A word begins at a capital behind a small letter or digit, and at the
			// last capital of several before a small letter: APIKey is api_key.
			after := i > 0 && isLower(name[i-1]) || i > 0 && isDigit(name[i-1])
			last := i > 0 && isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])
			if after || last {
				b = append(b, '_')
			}
			b = append(b, c|0x20)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}

func isLower(c byte) bool { return c >= 'a' && c <= 'z' }
func isUpper(c byte) bool { return c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isAlnum(c byte) bool { return isLower(c) || isUpper(c) || isDigit(c) }

// isRun tells whether c belongs to a run: the letters of names and of tokens.
func isRun(c byte) bool { return runBytes[c] }

var runBytes = func() (table [256]bool) {
	for c := range table {
		table[c] = isAlnum(byte(c)) || c == '_' || c == '-'
	}
	return table
}()
