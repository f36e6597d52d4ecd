package nightaudit_test

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestDockerfile runs the commands of the Dockerfile's build stage in their order,
// in a copy of the sources and without Docker: /out becomes a temporary folder,
// /src the copy. What an image is made of beyond that is only read.
func TestDockerfile(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program anew")
	}
	if runtime.GOOS != "linux" {
		t.Skip("an image holds a program for Linux")
	}
	out, src := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "src")
	copied := map[string]bool{}
	stage := ""
	for _, line := range instructions(t) {
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case word == "FROM":
			stage = line[strings.LastIndex(line, " ")+1:]
		case word == "COPY" && stage == "build":
			copySources(t, src, strings.Fields(rest))
		case word == "RUN" && stage == "build":
			cmd := exec.CommandContext(t.Context(), "sh", "-euc", strings.ReplaceAll(rest, "/out", out))
			cmd.Dir = src
			cmd.Env = append(os.Environ(), "VERSION=v0.0.0-test")
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, text)
			}
		case word == "COPY" && strings.HasPrefix(rest, "--from=build "):
			for f := range strings.FieldsSeq(rest) {
				if name, ok := strings.CutPrefix(f, "/out/"); ok {
					copied[name] = true
				}
			}
		}
	}
	if stage != "scratch" {
		t.Errorf("the image is made from %q, want scratch", stage)
	}
	for name := range copied {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Errorf("the image copies what the build does not make: %v", err)
		}
	}
	program := filepath.Join(out, "nightaudit")
	checkStatic(t, program)
	version, err := exec.CommandContext(t.Context(), program, "--version").Output()
	if err != nil || !strings.Contains(string(version), "v0.0.0-test") {
		t.Errorf("--version says %q, %v", version, err)
	}
}

// instructions are the lines of the Dockerfile without comments.
func instructions(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if strings.HasSuffix(line, "\\") {
			t.Fatalf("this test reads no continued lines: %s", line)
		}
		out = append(out, line)
	}
	return out
}

// copySources does COPY of files of the repository into the build's folder; "." is
// all of it, without what .dockerignore names at the top.
func copySources(t *testing.T, src string, args []string) {
	t.Helper()
	if err := os.MkdirAll(src, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range args[:len(args)-1] {
		if name == "." {
			copyAll(t, src)
			continue
		}
		data, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(src, name), data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func copyAll(t *testing.T, src string) {
	t.Helper()
	ignored := map[string]bool{}
	data, err := os.ReadFile(".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		ignored[strings.TrimSpace(line)] = true
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		to := filepath.Join(src, e.Name())
		switch {
		case ignored[e.Name()]:
			continue
		case e.IsDir():
			err = os.CopyFS(to, os.DirFS(e.Name()))
		case e.Name() != "go.mod" && e.Name() != "go.sum": // copied before
			var data []byte
			if data, err = os.ReadFile(e.Name()); err == nil {
				err = os.WriteFile(to, data, 0o600)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// checkStatic: a program with a dynamic section asks for a loader, and scratch has
// none.
func checkStatic(t *testing.T, program string) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
			t.Errorf("%s is not static: it has a segment %v", program, p.Type)
		}
	}
}
