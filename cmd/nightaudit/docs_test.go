package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nightaudit/audit/claims"
	"nightaudit/audit/rules"
	"nightaudit/configs"
)

// block is a fenced block of a document.
type block struct{ lang, text string }

func blocks(t *testing.T, file string) []block {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```$").FindAllSubmatch(data, -1) {
		out = append(out, block{lang: string(m[1]), text: string(m[2])})
	}
	return out
}

// TestREADME_Audit runs the README's example: its trace, its claims, its output.
func TestREADME_Audit(t *testing.T) {
	var files []string
	var want string
	for _, b := range blocks(t, "README.md") {
		switch b.lang {
		case "json":
			files = append(files, b.text)
		case "text":
			want = b.text
		}
	}
	if len(files) != 2 || want == "" {
		t.Fatalf("the README has %d JSON blocks and the output %q", len(files), want)
	}
	dir := t.TempDir()
	trace, list := filepath.Join(dir, "run.jsonl"), filepath.Join(dir, "claims.json")
	for path, text := range map[string]string{trace: files[0], list: files[1]} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"audit", trace, "--claims", list}, &stdout, &stderr); code != exitContradicted {
		t.Errorf("exit %d, want %d: %s", code, exitContradicted, &stderr)
	}
	if stdout.String() != want {
		t.Errorf("the README says\n%s\nbut it prints\n%s", want, &stdout)
	}
}

// TestDocs_YAML loads every configuration and claims file that the documents show.
func TestDocs_YAML(t *testing.T) {
	getenv := func(name string) string {
		if name == "HOME" {
			return t.TempDir()
		}
		return ""
	}
	n := 0
	for _, file := range []string{"README.md", "docs/claims.md", "docs/operating.md", "docs/config.md", "docs/formats.md", "CONTRIBUTING.md"} {
		for _, b := range blocks(t, file) {
			if b.lang == "nightaudit" { // as an agent would write it into its summary
				if _, err := claims.Load(file+".yaml", []byte(b.text), claims.Options{Source: claims.SourceTrace, Kinds: rules.Default().Kinds()}); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
			if b.lang != "yaml" {
				continue
			}
			n++
			if strings.HasPrefix(b.text, "claims:") {
				_, err := claims.Load(file+".yaml", []byte(b.text), claims.Options{
					Source: claims.SourceFile, ReadFile: func(string) ([]byte, error) { return []byte(`{"name": "create_report"}`), nil },
				})
				if err != nil {
					t.Errorf("%s: %v", file, err)
				}
				continue
			}
			path := filepath.Join(t.TempDir(), "nightaudit.yaml")
			if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := configs.Load(path, getenv)
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if _, _, err := toolsOf(cfg); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			if _, _, err := endpointOf(cfg, getenv); err != nil {
				t.Errorf("%s: %v", file, err)
			}
			if _, err := sourcesOf(cfg); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if n < 3 {
		t.Errorf("only %d YAML examples were found", n)
	}
}

// TestDocs_Packs reads every rule pack and claims file that docs/rules.md shows, and
// holds the packs to their own examples.
func TestDocs_Packs(t *testing.T) {
	packs := 0
	for _, b := range blocks(t, filepath.Join("docs", "rules.md")) {
		switch {
		case b.lang != "yaml":
		case strings.HasPrefix(b.text, "claims:"):
			if _, err := claims.Load("rules.md.yaml", []byte(b.text), claims.Options{Source: claims.SourceFile, Kinds: rules.Default().Kinds()}); err != nil {
				t.Error(err)
			}
		case strings.HasPrefix(b.text, "words:"), strings.HasPrefix(b.text, "calls:"):
			packs++
			pack, err := rules.Parse("rules.md.yaml", []byte(b.text))
			if err != nil {
				t.Fatal(err)
			}
			if _, faults := tryExamples(t.Context(), "rules.md", pack, use(rules.Default().With(pack))); len(faults) > 0 {
				t.Error(faults)
			}
		}
	}
	if packs != 2 {
		t.Errorf("%d packs were found, want 2", packs)
	}
}

// TestDocs_Commands holds every nightaudit command that a document shows to the
// commands and flags that exist.
func TestDocs_Commands(t *testing.T) {
	command := regexp.MustCompile(`nightaudit ((?:[a-z-]+ ?)+)((?:.*?--[a-z-]+)*)`)
	flag := regexp.MustCompile(`--([a-z-]+)`)
	n := 0
	for _, file := range []string{"README.md", "docs/claims.md", "docs/operating.md", "docs/json.md", "docs/exit-codes.md", "docs/config.md", "docs/formats.md"} {
		data, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile("(?m)^nightaudit .*$|`nightaudit [^`]+`").FindAllString(string(data), -1) {
			code = strings.Trim(code, "`")
			code, _, _ = strings.Cut(code, "#")
			m := command.FindStringSubmatch(code)
			if m == nil {
				continue
			}
			n++
			cmd, _, err := newRoot().Find(strings.Fields(m[1]))
			if err != nil || cmd.Name() == "nightaudit" && m[1] != "" {
				t.Errorf("%s shows %q: there is no such command", file, code)
				continue
			}
			for _, f := range flag.FindAllStringSubmatch(code, -1) {
				if cmd.Flag(f[1]) == nil {
					t.Errorf("%s shows %q: there is no flag --%s", file, code, f[1])
				}
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d commands were found", n)
	}
}
