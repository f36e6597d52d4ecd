package scheduler

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const holdEnv = "NIGHTAUDIT_TEST_HOLD_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(holdEnv); path != "" {
		holdLock(path)
		return
	}
	os.Exit(m.Run())
}

// holdLock is the second process: it takes the lock, starts a child that outlives
// it, says so and stays.
func holdLock(path string) {
	if _, err := Lock(path); err != nil {
		fmt.Println("refused:", err)
		return
	}
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		fmt.Println("refused:", err)
		return
	}
	fmt.Println("holds", child.Process.Pid)
	time.Sleep(time.Minute)
}

// startHolder runs the test binary as the second process and returns the line that
// it prints.
func startHolder(t *testing.T, path string) (*exec.Cmd, string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), holdEnv+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if pid, ok := strings.CutPrefix(strings.TrimSpace(line), "holds "); ok {
		child, err := strconv.Atoi(pid)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Kill(child, syscall.SIGKILL) })
	}
	return cmd, line
}

func TestLock_SecondProcessIsRefusedUntilTheHolderIsKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nightaudit.lock")
	holder, line := startHolder(t, path)
	if !strings.HasPrefix(line, "holds ") {
		t.Fatal(line)
	}
	_, err := Lock(path)
	want := fmt.Sprintf("lock %s: another nightaudit (pid %d) works on this state directory", path, holder.Process.Pid)
	if !errors.Is(err, ErrLocked) || err.Error() != want {
		t.Errorf("Lock() = %v, want %s", err, want)
	}
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	holder.Wait() // killed, which is what it says
	release, err := Lock(path)
	if err != nil {
		t.Fatalf("Lock() after kill -9 of the holder: %v", err)
	}
	defer release()
	second, line := startHolder(t, path)
	second.Wait()
	if want := fmt.Sprintf("(pid %d)", os.Getpid()); !strings.HasPrefix(line, "refused: ") || !strings.Contains(line, want) {
		t.Errorf("second process: %q, want it refused by %s", line, want)
	}
}

func TestLock_OnceInAProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nightaudit.lock")
	release, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("second Lock() = %v, want ErrLocked", err)
	}
	for range 2 {
		if err := release(); err != nil {
			t.Errorf("release() = %v", err)
		}
	}
	release, err = Lock(path)
	if err != nil {
		t.Fatalf("Lock() after release: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}

func TestLock_WithoutPID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "nightaudit.lock")
	release, err := Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(path); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "another nightaudit works") {
		t.Errorf("Lock() = %v", err)
	}
}

func TestLock_NoFile(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none", "nightaudit.lock")} {
		if _, err := Lock(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("Lock(%s) = %v", path, err)
		}
	}
}
