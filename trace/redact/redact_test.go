package redact

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// The samples are put together from parts, so that no scanner takes this file for
// a leak.
var (
	alnum  = "Ab3dEf6hIj9lMn2pQr5tUv8xYz1cDe4gHi7k"
	hex32  = "0123456789abcdef" + "fedcba9876543210"
	jwt    = "eyJ" + "hbGciOiJIUzI1NiJ9" + ".eyJ" + "zdWIiOiIxIn0" + ".s1gn4ture_-x"
	pemKey = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\nabc+/=\n-----END RSA " + "PRIVATE KEY-----"
)

func TestText_Redacts(t *testing.T) {
	for _, tt := range []struct{ name, before, secret, after string }{
		{"openai", "key ", "sk-" + alnum, " end"},
		{"openai, hexadecimal", "use ", "sk-" + hex32, "."},
		{"openai project", "", "sk-" + "proj-" + alnum + "_x-" + alnum, "\n"},
		{"anthropic", "(", "sk-" + "ant-api03-" + alnum, ")"},
		{"openrouter", "", "sk-" + "or-v1-" + hex32 + hex32, ""},
		{"github", "https://x/?t=", "gh" + "p_" + alnum, "&a=b"},
		{"github app", "", "gh" + "s_" + alnum, ""},
		{"github refresh", "", "gh" + "r_" + alnum, ""},
		{"github oauth", "", "gh" + "o_" + alnum, ""},
		{"github fine-grained", "", "github" + "_pat_11ABC_" + alnum, ""},
		{"gitlab", "", "glpat" + "-x1Y2z3A4b5C6d7E8f9G0", ""},
		{"aws", "id=", "AKIA" + "ABCDEFGHIJ234567", ","},
		{"aws session", "", "ASIA" + "ABCDEFGHIJ234567", ""},
		{"slack", "", "xox" + "b-123456789012-abcdef", ""},
		{"slack user", "", "xox" + "p-123456789012-abcdef", ""},
		{"google", "", "AIza" + "SyA1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6", ""},
		{"groq", "", "gsk" + "_" + alnum, ""},
		{"nvidia", "", "nvapi" + "-" + alnum, ""},
		{"hugging face", "", "hf" + "_" + alnum[:34], ""},
		{"jwt", "got ", jwt, " back"},
		{"private key", "a\n", pemKey, "\nb"},
		{"private key, cut off", "a\n", "-----BEGIN " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA7abcdef", ""},
		{"escape before it", `out: "a\n`, "gh" + "p_" + alnum, `"`},
		{"bearer", "Bearer ", alnum, "\n"},
		{"bearer header", "Authorization: Bearer ", "sk-" + "abc", "\n"},
		{"bearer in curl", `-H "authorization: bearer `, "abc123def", `" http://h`},
		{"basic", "Authorization: Basic ", "dXNlcjpwYXNz", "\r\n"},
		{"basic alone", "basic ", "dXNlcjpwYXNzd29yZA==", " x"},
		{"token scheme", "Authorization: token ", "abcdef123456", "\n"},
		{"address", "postgres://bob:", "hunter2", "@db:5432/x"},
		{"address without a user", "redis://:", "p4ss", "@h"},
		{"address, at sign in it", "https://u:", "p@ss", "@h/"},
		{"environment", "A=1\nDB_PASSWORD=", "hunter;2&x", "\nB=2"},
		{"export", "export OPENAI_API_KEY=", "abcdefgh", "\n"},
		{"aws secret", "AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG+bPx", ""},
		{"quoted", `api_key = "`, "some-value", `"`},
		{"single quotes", `'password': '`, "hunter2", `'}`},
		{"json in text", `{"client_secret": "`, "s3cr3t", `"}`},
		{"json in json", `{\"refreshToken\":\"`, "abc", `\"}`},
		{"yaml", "password: ", "swordfish", "\nuser: x"},
		{"yaml token", "  token: ", "ab12cd34", "\n"},
		{"option", "login --password ", "hunter2", " now"},
		{"option with =", "login --token=", "abcdef", " now"},
		{"query", "GET /?access_token=", "abcd", "&x=1"},
		{"cookie", "Cookie: ", "sid=abc; theme=dark", "\n"},
		{"set-cookie", "Set-Cookie: ", "sid=abc; HttpOnly", "\r\n"},
		{"x-api-key header", "x-api-key: ", "ab12cd34ef", "\n"},
		{"random behind a name", "the api key is ", "Zx9Kq2Lw8Rt4Vb6Nm1Pd", "!"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Text(tt.before + tt.secret + tt.after)
			if want := tt.before + Mark + tt.after; got != want {
				t.Errorf("got  %q\nwant %q", got, want)
			}
			if again := Text(got); again != got {
				t.Errorf("again %q", again)
			}
		})
	}
}

func TestText_Keeps(t *testing.T) {
	for _, text := range []string{
		"", "token", "the token expired; invalid token: expired", "secret: do not tell anyone", "Bearer token required",
		"Basic authentication", "basic training", "a bearer of news", "password: required", "password: string", "password = getpass()",
		`token = os.environ["TOKEN"]`, "token := req.Header.Get(x)", "password = config.db.password", "if token == other {",
		"max_tokens=4096", "prompt_tokens: 1200", "total_tokens: 1234567", "token_count=12345678", "tokens: 123456",
		"idempotency_key=11111111-1111-4111-8111-111111111111", "schema_sha256: " + hex32 + hex32, "next_page_token=abc123def",
		"commit b765d0e9f1c2a3b4d5e6f708192a3b4c5d6e7f80", "sha256:" + hex32 + hex32, "123e4567-e89b-12d3-a456-426614174000",
		"/home/user/.ssh/id_ed25519", "/srv/app/token/secret/key.go", "skeleton-loader-component-with-long-name", "sk-spinner-circle-dot",
		"sk-fading-circle12 sk-cube-grid", "ask-me-anything-about-token-buckets", "AKIAXYZ", "hf_hub_download_with_progress_bar",
		"https://example.com/a:b@c", "http://host:8080/path", "git@github.com:o/r.git", "$TOKEN", "API_KEY=$API_KEY", "token=${TOKEN}",
		"password=<your password>", "api_key: {{ secrets.KEY }}", "Authorization: Bearer $TOKEN", "Authorization: required",
		"primary_key=abc123def456", "public_key: abc123def", "cache_key=Abc123Def456", "token_type: Bearer", "password_hash: abc123",
		"grep -n '-----BEGIN PRIVATE KEY-----' file", "key: value", "pass: 12", "xox-mas", "eyJust.a.word", "data:image/png;base64,iVBORw0KGgo" + alnum,
		"password=[REDACTED]", "token: ***", "Set-Cookie behaviour", "cookie: chocolate", "x.token()", "func token(s string) int",
	} {
		if got := Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestSecretName(t *testing.T) {
	for _, name := range []string{
		"Authorization", "authorization", "proxy-authorization", "api_key", "apikey", "apiKey", "APIKey", "x-api-key", "X-Api-Key",
		"OPENAI_API_KEY", "token", "access_token", "accessToken", "refresh-token", "GITHUB_TOKEN", "password", "dbPassword",
		"dbpassword", "passwd", "PGPASSWORD", "secret", "client_secret", "clientSecret", "private_key", "cookie", "Set-Cookie",
		"aws_secret_access_key", "--password", "SMTP_PASS", "token2fa_secret", "credentials",
	} {
		if !SecretName(name) {
			t.Errorf("%q is no secret's name", name)
		}
	}
	for _, name := range []string{
		"", "max_tokens", "maxTokens", "prompt_tokens", "total_tokens", "token_count", "tokenCount", "idempotency_key", "schema_sha256",
		"key", "public_key", "primaryKey", "next_page_token", "nextPageToken", "eos_token", "token_type", "password_hash", "secret_name",
		"tokenizer", "pass", "bypass", "compass", "monkey", "turkey", "author", "cost_per_token", "passwordless", "secretary", "forsaken",
	} {
		if SecretName(name) {
			t.Errorf("%q is a secret's name", name)
		}
	}
}

func TestJSON(t *testing.T) {
	key := "sk-" + alnum
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", ` {"a" : [1.0, 2e5, "x\u00e9", null] } `, ` {"a" : [1.0, 2e5, "x\u00e9", null] } `},
		{"named", `{"Authorization": "Bearer sk-abc", "n": 1.50}`, `{"Authorization": "[REDACTED]", "n": 1.50}`},
		{"list under a name", `{"apiKey":["a",["b"],{"x":"c"},7]}`, `{"apiKey":["[REDACTED]",["[REDACTED]"],{"x":"c"},7]}`},
		{"object under a name", `{"token":{"type":"string"}}`, `{"token":{"type":"string"}}`},
		{"in text", `{"cmd":"echo ` + key + ` > \"f<\""}`, `{"cmd":"echo [REDACTED] > \"f<\""}`},
		{"behind an escape", `"a\n` + key + `"`, `"a\n[REDACTED]"`},
		{"not strings", `{"token":123456789012,"password":true,"secret":null}`, `{"token":123456789012,"password":true,"secret":null}`},
		{"escaped name", `{"pass\u0077ord":"x"}`, `{"pass\u0077ord":"[REDACTED]"}`},
		{"marks", `{"password":"***","token":"[REDACTED]","secret":"","api_key":"$KEY"}`, `{"password":"***","token":"[REDACTED]","secret":"","api_key":"$KEY"}`},
		{"name as a value", `["password","x"]`, `["password","x"]`},
		{"key holds one", `{"` + key + `":1}`, `{"[REDACTED]":1}`},
		{"not JSON", `{"a": ` + key + `, "password": "x1234"`, `{"a": [REDACTED], "password": "[REDACTED]"`},
		{"counts", `{"max_tokens":"4096","idempotency_key":"abc"}`, `{"max_tokens":"4096","idempotency_key":"abc"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(JSON([]byte(tt.in))); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestFind(t *testing.T) {
	in := `{"request":{"headers":{"Authorization":"Bearer sk-abc"},"messages":[{"content":"use ` + "sk-" + alnum + `"}]},` +
		`"password":"hunter2","api_key":["` + "gsk" + "_" + alnum + `"],"n":"Basic words","url":"https://u:p4@h/"}`
	want := []Secret{
		{"bearer_token", "request.headers.Authorization"},
		{"openai_key", "request.messages.0.content"},
		{"password", "password"},
		{"groq_key", "api_key.0"},
		{"url_password", "url"},
	}
	if got := Find([]byte(in)); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if got := Find(JSON([]byte(in))); len(got) != 0 {
		t.Errorf("still there: %v", got)
	}
	if got := Find([]byte(`not JSON, sk-` + alnum)); !slices.Equal(got, []Secret{{Kind: "openai_key"}}) {
		t.Errorf("in text: %v", got)
	}
}

func TestIsMark(t *testing.T) {
	for _, s := range []string{Mark, "***", "********", "<redacted>", "REDACTED", " [redacted] ", "**REDACTED**", "[REDACTED:api_key]", "[FILTERED]", "(masked)", "•••••", "<secret>"} {
		if !IsMark(s) {
			t.Errorf("%q is no mark", s)
		}
	}
	for _, s := range []string{"", "*", "**", "masked", "hidden", "secret", "redacted it all", "[]", "[x]", "password", "---"} {
		if IsMark(s) {
			t.Errorf("%q is a mark", s)
		}
	}
}

// TestText_ManyNames would take minutes if the end of the text were looked for
// behind every name.
func TestText_ManyNames(t *testing.T) {
	for _, part := range []string{"token:", "cookie:", `password:"`, "://", "a://b:", "Bearer ", "eyJabcdefgh.", "-----BEGIN PRIVATE KEY-----", "--password ", `secret=\\`} {
		text := strings.Repeat(part, 5000)
		once := Text(text)
		if twice := Text(once); twice != once {
			t.Errorf("%q many times is not stable", part)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{
		"token=" + alnum, "a sk-" + alnum + "\nghp_x", jwt + "." + jwt, pemKey + pemKey, `password: "a\"b" c`, "://u:p@h", "Authorization: Bearer x1234567",
		"Cookie: a=b", "--password --token x", `\"api_key\": \"x\\\"y\"`, "key is " + alnum, "password=[REDACTED]x", "basic dXNlcjpwYXNz", "secret=secret=secret=abc1",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Text(s)
		if twice := Text(once); twice != once {
			t.Errorf("in    %q\nonce  %q\ntwice %q", s, once, twice)
		}
		spans := scan(s)
		for i, sp := range spans {
			if sp.start >= sp.end || i > 0 && sp.start < spans[i-1].end || sp.end > len(s) {
				t.Errorf("spans %v of %q", spans, s)
			}
		}
	})
}

func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"Authorization":"Bearer x","a":[{"password":"\u0041"}]}`, `"sk-` + alnum + `"`, `[1,{"token":["a"]}]`, `{"a":"password=\"x\\\"y\""}`, `{`, `{"token":"\ud800"}`,
		`{"Authorization":"0","":[{"passwd":"\00"}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		was := string(raw)
		once := JSON(raw)
		if string(raw) != was {
			t.Error("the input was written to")
		}
		if json.Valid(raw) && !json.Valid(once) {
			t.Errorf("%q became %q", raw, once)
		}
		if twice := JSON(once); string(twice) != string(once) {
			t.Errorf("in    %q\nonce  %q\ntwice %q", raw, once, twice)
		}
		if json.Valid(raw) {
			if left := Find(once); len(left) > 0 {
				t.Errorf("%q still holds %v", once, left)
			}
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := strings.Repeat("func (w *walker) text(start, end int) { // the token of the key\n--- PASS: TestX (0.00s)\n", 1000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		Text(text)
	}
}
