package systemd

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var units = []string{"nightaudit.service", "nightaudit-once.service", "nightaudit.timer"}

const program = "/usr/local/bin/nightaudit"

// unitDir copies the units to a folder; their program becomes one that exists
// here, since systemd-analyze looks for it.
func unitDir(t *testing.T) string {
	t.Helper()
	here, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, name := range units {
		text := strings.ReplaceAll(read(t, name), program, here)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func analyze(t *testing.T, dir string, args ...string) {
	t.Helper()
	tool, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	cmd := exec.CommandContext(t.Context(), tool, args...)
	cmd.Dir = dir
	// verify only warns of keys that it does not know, so its words count too.
	out, err := cmd.CombinedOutput()
	if err != nil || args[0] == "verify" && len(out) > 0 {
		t.Errorf("systemd-analyze %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestUnits_Verify(t *testing.T) {
	dir := unitDir(t)
	for _, name := range units {
		analyze(t, dir, "verify", "./"+name)
	}
}

// TestUnits_Security: 0 is a service that may do nothing, 100 one that may do all.
func TestUnits_Security(t *testing.T) {
	dir := unitDir(t)
	for _, name := range units[:2] {
		analyze(t, dir, "security", "--offline=true", "--threshold=20", "./"+name)
	}
}

// TestUnits_SameLimits keeps the two services from drifting apart.
func TestUnits_SameLimits(t *testing.T) {
	own := []string{"Type", "NotifyAccess", "ExecStart", "WatchdogSec", "TimeoutStartSec", "Restart", "RestartSec"}
	limits := func(name string) []string {
		_, section, _ := strings.Cut(read(t, name), "[Service]\n")
		section, _, _ = strings.Cut(section, "\n[")
		var out []string
		for line := range strings.Lines(section) {
			key, _, ok := strings.Cut(line, "=")
			if ok && !strings.HasPrefix(line, "#") && !slices.Contains(own, key) {
				out = append(out, strings.TrimSpace(line))
			}
		}
		return out
	}
	daemon, once := limits("nightaudit.service"), limits("nightaudit-once.service")
	if len(daemon) < 25 || !slices.Equal(daemon, once) {
		t.Errorf("nightaudit.service has\n%q\nnightaudit-once.service has\n%q", daemon, once)
	}
}

func TestUnits_Command(t *testing.T) {
	for name, args := range map[string]string{"nightaudit.service": "run", "nightaudit-once.service": "run --once"} {
		want := "\nExecStart=" + program + " " + args + " --config /etc/nightaudit/nightaudit.yaml\n"
		if !strings.Contains(read(t, name), want) {
			t.Errorf("%s: want%s", name, want)
		}
	}
}
