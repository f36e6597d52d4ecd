package report

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"nightaudit/audit"
	"nightaudit/audit/claims"
	"nightaudit/rerun"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

const secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"

// hostile is text that a terminal or a reader must never get as it stands.
const hostile = "\x1b[2J\x1b]0;t\x07 a\rb\nc\td\x00e\x7f \u009b1m \u202egnp.exe \u2066\u200b\u2028\ufeff\U000e0041 " + secret

// all writes reports in every format.
func all(t *testing.T, reports []*audit.Report) map[string]string {
	t.Helper()
	out := map[string]string{
		"text": text(t, func(b *strings.Builder) error { return Text(b, reports) }),
		"cut":  text(t, func(b *strings.Builder) error { return CutText(b, reports) }),
		"json": text(t, func(b *strings.Builder) error { return JSON(b, reports) }),
	}
	for i, r := range reports {
		out["follows-from "+strconv.Itoa(i)] = text(t, func(b *strings.Builder) error { return FollowsFrom(b, r) })
		for _, j := range r.Claims {
			stored, err := FindingsJSON(j)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(stored), secret) {
				t.Errorf("the stored findings hold a secret: %s", stored)
			}
		}
	}
	return out
}

// checkHarmless looks for what must not be in an output.
func checkHarmless(t *testing.T, name, out string) {
	t.Helper()
	if !utf8.ValidString(out) {
		t.Errorf("%s is not UTF-8", name)
	}
	for i, r := range out {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			t.Errorf("%s holds %U: %q", name, r, out[max(0, i-30):min(len(out), i+30)])
			break
		}
	}
	if i := strings.Index(out, secret[:12]); i >= 0 {
		t.Errorf("%s holds a secret: %q", name, out[max(0, i-60):min(len(out), i+40)])
	}
}

func TestOutputs_HostileText(t *testing.T) {
	h, _ := json.Marshal(hostile)
	s := string(h)
	lines := []string{
		`{"type":"run_start","run":` + s + `}`,
		`{"type":"tool_call","id":` + s + `,"tool":` + s + `,"ok":false,"error":` + s + `,"batch":` + s + `}`,
		`{"type":"tool_call","id":"g","tool":"get","ok":true,"result":{"n":` + s + `,` + s + `:[` + s + `]}}`,
		`{"type":"tool_call","tool":"put","result":{"error":` + s + `}}`,
		`{"type":"tool_call","tool":"odd","status":"x","result":"Error: ` + s[1:] + `}`,
		`{"type":"claim","id":` + s + `,"claim":` + s + `,"must_show":[` + s + `]}`,
		`{"type":"claim","id":"p` + s[1:] + `,"claim":` + s + `,"must_show":["get"]}`,
		`{"type":"action","decision":` + s + `,"grounds":[{"from":` + s + `,"field":` + s + `,"equals":1},{"from":"g","field":` + s + `,"equals":` + s + `},{"from":"g","field":"n","in":[` + s + `]}]}`,
		`{"ts":1,"schema_sha256":` + s + `,"tool":` + s + `,"idempotency_key":"k","request":{},"response":{"status":` + s + `}}`,
		`{"type":"gap","reason":` + s + `}`,
		`{"type":"summary","text":` + s + `}`,
		`{` + s + `:1,` + s + `:2}`,
	}
	given := `[{"claim":"c","must_not_fail":[` + s + `]},{"claim":` + s + `,"id":` + s + `,"must_show":["odd","put"]},{"claim":"e","envelope":{"cap":1}},
		{"claim":"g","grounds":[{"from":"g","field":"n","equals":` + s + `}]}]`
	reports := []*audit.Report{judged(t, strings.Join(lines, "\n"), given), judged(t, strings.Join(lines, "\n"), "")}
	for name, out := range all(t, reports) {
		checkHarmless(t, name, out)
		if name == "json" || strings.HasPrefix(name, "follows") {
			if !json.Valid([]byte(out)) {
				t.Errorf("%s is not JSON", name)
			}
		}
	}
	if !strings.Contains(all(t, reports)["text"], `\x1b[2J`) {
		t.Error("the escape sequence is not written out")
	}
}

// TestText_SecretAtTheCut moves a secret over the places where values are cut off.
func TestText_SecretAtTheCut(t *testing.T) {
	for pad := 0; pad < 320; pad++ {
		value := strings.Repeat("x", pad) + " " + secret
		trace := `{"type":"tool_call","id":"g","tool":"get","ok":true,"result":{"n":"` + value + `"}}
{"type":"tool_call","tool":"put","ok":false,"error":"` + value + `"}`
		rep := judged(t, trace, `[{"claim":"c","grounds":[{"from":"g","field":"n","equals":"no `+value+`"}],"must_not_fail":["put"]}]`)
		for name, out := range all(t, []*audit.Report{rep}) {
			checkHarmless(t, name, out)
		}
		night := Night{Problems: []Problem{{Reason: value}}, Attempts: []rerun.Attempt{{Note: value, Proposal: value + value}}, Waiting: []rerun.Waiting{{Note: value}, {State: "parked", Note: value}}}
		checkHarmless(t, "night", text(t, func(b *strings.Builder) error { return NightText(b, night) }))
		if t.Failed() {
			t.Fatalf("with %d characters before the secret", pad)
		}
	}
}

func TestNight_HostileText(t *testing.T) {
	night := Night{
		Runs: []NightRun{{Path: hostile, SessionID: hostile, Claims: []NightClaim{{Key: "k", Statement: hostile, Verdict: "CONTRADICTED", Reason: "failed", Detail: hostile}}}},
		Attempts: []rerun.Attempt{{Path: "p", Outcome: rerun.StillFailing, StopReason: hostile, Note: hostile, Proposal: hostile, Model: "m", Claims: []rerun.ClaimOutcome{
			{Key: "k", ID: hostile, Text: hostile, Detail: hostile},
		}}},
		Waiting:  []rerun.Waiting{{Item: rerun.Item{Path: hostile}, Note: hostile}},
		Problems: []Problem{{Path: hostile, Reason: hostile}},
	}
	checkHarmless(t, "text", text(t, func(b *strings.Builder) error { return NightText(b, night) }))
	night.Runs[0].Path, night.Waiting[0].Path, night.Problems[0].Path = "p", "p", "p" // a program needs the path as it is
	out := text(t, func(b *strings.Builder) error { return NightJSON(b, night) })
	checkHarmless(t, "json", out)
	if !json.Valid([]byte(out)) {
		t.Error("not JSON")
	}
}

func TestSafe(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 日本 😀":  "plain é 日本 😀",
		"a\nb\tc\rd":    "a b c d",
		"\x1b[31mred":   `\x1b[31mred`,
		"a\x00b":        `a\x00b`,
		"\u202egnp":     `\u202egnp`,
		"a\u2028b":      `a\u2028b`,
		"bad \xff byte": `bad \ufffd byte`,
		"c1 \u009b":     `c1 \u009b`,
		"":              "",
	} {
		if got := Safe(in); got != want {
			t.Errorf("Safe(%q) is %q, want %q", in, got, want)
		}
	}
}

func TestEscapeJSON(t *testing.T) {
	for in, want := range map[string]string{
		"{\n\"a\": \"é\"\n}": "{\n\"a\": \"é\"\n}",
		"\"\u202e\x7f\"":     `"\u202e\u007f"`,
		"\"\U000e0041\"":     `"\udb40\udc41"`,
		"\"\ufffd\"":         "\"\ufffd\"",
	} {
		if got := string(escapeJSON([]byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

// TestOutputs_NeverPrinted writes the envelope cases in every format.
func TestOutputs_NeverPrinted(t *testing.T) {
	paths := []string{filepath.Join("..", "testdata", "envelopes.jsonl")}
	if extra := os.Getenv("NIGHTAUDIT_EXTRA_CASES"); extra != "" {
		paths = append(paths, filepath.Join(extra, "envelopes.jsonl"))
	}
	checked := 0
	for _, path := range paths {
		file, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		lines := bufio.NewScanner(file)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			var c struct {
				Name, Trace, Schema string
				NeverPrinted        string `json:"never_printed"`
			}
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatal(err)
			}
			if c.NeverPrinted == "" {
				continue
			}
			checked++
			for name, out := range all(t, []*audit.Report{judgedEnvelopes(t, c.Trace, c.Schema)}) {
				if strings.Contains(out, c.NeverPrinted) {
					t.Errorf("%s: %s holds %q", c.Name, name, c.NeverPrinted)
				}
			}
		}
		if lines.Err() != nil {
			t.Fatal(lines.Err())
		}
	}
	if checked == 0 {
		t.Error("no case names what must never be printed")
	}
}

func judgedEnvelopes(t *testing.T, text, schema string) *audit.Report {
	t.Helper()
	list, err := claims.Load("claims.json", []byte(`[{"claim":"envelope holds","envelope":{"schema":"s"}}]`), claims.Options{
		ReadFile: func(string) ([]byte, error) { return []byte(schema), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	for run, err := range native.Read(t.Context(), trace.Source{Name: "t", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}) {
		if err != nil {
			t.Fatal(err)
		}
		rep, err := audit.Check(run, list, noRuleFits)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	return nil
}
