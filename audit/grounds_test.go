package audit

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestMasked(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for _, c := range []struct{ path, value, want string }{
		{"model", `"m-1"`, `"m-1"`},
		{"results.0.price", `12.50`, `12.50`},
		{"model", `{"a":[1,"x"]}`, `{"a":[1,"x"]}`},
		{"api_key", `"plain-but-secret"`, `"[REDACTED]"`},
		{"results.0.password", `"plain-but-secret"`, `"[REDACTED]"`},
		{"body", `{"password":"plain-but-secret"}`, `{"password":"[REDACTED]"}`},
		{"text", `"` + token + `"`, `"[REDACTED]"`},
		{"a<b", `"x"`, `"x"`},
	} {
		if got := hide(strings.Split(c.path, "."), json.RawMessage(c.value)); string(got) != c.want {
			t.Errorf("%s of %s is shown as %s, want %s", c.path, c.value, got, c.want)
		}
	}
}
