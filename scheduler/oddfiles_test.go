package scheduler

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nightaudit/trace/detect"
)

// TestFind_OddFiles: what is no regular file is passed over, and a loop of links
// ends: none of them may hang a night.
func TestFind_OddFiles(t *testing.T) {
	dir := t.TempDir()
	within := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile(within("good.jsonl"), []byte("{}\n"), 0o600))
	must(os.MkdirAll(within("sub/deep"), 0o700))
	must(os.WriteFile(within("sub/deep/too.jsonl"), []byte("{}\n"), 0o600))
	must(os.Symlink(dir, within("sub/loop")))
	must(os.Symlink(within("self.jsonl"), within("self.jsonl")))
	must(os.Symlink(within("good.jsonl"), within("link.jsonl")))
	must(os.Symlink("/dev/zero", within("device.jsonl")))
	must(syscall.Mkfifo(within("pipe.jsonl"), 0o600))
	must(os.Mkdir(within("folder.jsonl"), 0o700))
	must(os.WriteFile(within("good.jsonl.claims.json"), []byte("[]"), 0o600))
	var got []string
	for f, err := range (Source{Name: "s", Patterns: []string{within("**/*.jsonl"), within("*.jsonl")}}).Find(t.Context()) {
		must(err)
		rel, err := filepath.Rel(dir, f.Path)
		must(err)
		got = append(got, rel)
	}
	if want := []string{"good.jsonl", "sub/deep/too.jsonl"}; !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for name, want := range map[string]string{"pipe.jsonl": "named pipe", "device.jsonl": "device", "folder.jsonl": "folder", "self.jsonl": "too many levels", "gone.jsonl": "no such file"} {
		_, _, err := OpenTrace("", within(name), "")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

// TestOpenTrace_Changing: a file that grows is read as far as it went when it was
// opened; one that is cut short or deleted meanwhile gives no made-up calls.
func TestOpenTrace_Changing(t *testing.T) {
	const call = `{"type":"tool_call","tool":"deploy","ok":true}` + "\n"
	for _, c := range []struct {
		name   string
		change func(path string) error
		calls  int
		body   bool // whether what was read can be looked at again
	}{
		{"grows", func(p string) error {
			f, err := os.OpenFile(p, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString(call)
			return err
		}, 3, true},
		{"is deleted", os.Remove, 3, true},
		{"is cut short", func(p string) error { return os.Truncate(p, int64(len(call))) }, 1, true},
		{"is replaced", func(p string) error { return os.WriteFile(p, []byte(strings.ToUpper(call)), 0o600) }, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.jsonl")
			if err := os.WriteFile(path, []byte(strings.Repeat(call, 3)), 0o600); err != nil {
				t.Fatal(err)
			}
			src, closer, err := OpenTrace("", path, "")
			if err != nil {
				t.Fatal(err)
			}
			defer closer.Close()
			if err := c.change(path); err != nil {
				t.Fatal(err)
			}
			for run, err := range detect.Read(t.Context(), src) {
				if err != nil {
					t.Fatal(err)
				}
				if len(run.Calls) != c.calls {
					t.Errorf("%d calls, want %d", len(run.Calls), c.calls)
				}
				for i := range run.Calls {
					if _, err := run.Body(run.Calls[i].Record); (err == nil) != c.body {
						t.Errorf("body: %v", err)
					}
				}
			}
		})
	}
}

// TestFind_Vanishes: a folder that is not there is said, and costs the pass nothing.
func TestFind_Vanishes(t *testing.T) {
	dir := t.TempDir()
	src := Source{Name: "s", Patterns: []string{filepath.Join(dir, "gone", "*.jsonl"), filepath.Join(dir, "*.jsonl")}}
	if err := os.WriteFile(filepath.Join(dir, "a.jsonl"), []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	errs, files := 0, 0
	for _, err := range src.Find(t.Context()) {
		if err != nil {
			errs++
			continue
		}
		files++
	}
	if errs != 1 || files != 1 {
		t.Errorf("%d errors, %d files", errs, files)
	}
}
