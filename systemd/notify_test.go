package systemd

import (
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

func TestNotify(t *testing.T) {
	for _, row := range []struct{ name, address string }{
		{"a path", filepath.Join(t.TempDir(), "notify")},
		{"the abstract namespace", "@nightaudit-test/" + t.TempDir()},
	} {
		t.Run(row.name, func(t *testing.T) {
			conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: row.address, Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			err = Notify(env("NOTIFY_SOCKET", row.address), Ready, Status("next pass\nat 02:30"), ExtendTimeout(90*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 1024)
			n, err := conn.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			want := "READY=1\nSTATUS=next pass at 02:30\nEXTEND_TIMEOUT_USEC=90000000"
			if got := string(b[:n]); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestNotify_NobodyListens(t *testing.T) {
	if err := Notify(env(), Ready); err != nil {
		t.Errorf("without systemd: %v", err)
	}
	for _, address := range []string{filepath.Join(t.TempDir(), "gone"), "vsock:2:1234", "relative"} {
		err := Notify(env("NOTIFY_SOCKET", address), Ready)
		if err == nil || !strings.HasPrefix(err.Error(), "notify systemd: ") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestWatchdog(t *testing.T) {
	for _, row := range []struct {
		name, usec, pid string
		want            time.Duration
		fails           bool
	}{
		{"none", "", "", 0, false},
		{"ours", "120000000", "42", 40 * time.Second, false},
		{"no owner", "3000000", "", time.Second, false},
		{"another process's", "3000000", "43", 0, false},
		{"no number", "soon", "42", 0, true},
		{"zero", "0", "42", 0, true},
		{"overflow", "9223372036854775807", "42", 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := Watchdog(env("WATCHDOG_USEC", row.usec, "WATCHDOG_PID", row.pid), 42)
			if got != row.want || (err != nil) != row.fails {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
