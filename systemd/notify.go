// Package systemd tells systemd how the daemon is: states go in, and one datagram
// goes to the socket that systemd named in the environment. Where there is none,
// as in a terminal or a container, nothing happens. The units lie beside it.
//
// When the daemon is ready or alive is for its caller to say.
package systemd

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// States for Notify.
const (
	Ready    = "READY=1"    // the start is over: schedule computed, database open
	Stopping = "STOPPING=1" // the stop has begun
	Alive    = "WATCHDOG=1" // the loop turns; see Watchdog
)

// sendTimeout bounds a send: systemd reads its socket at once or is in trouble, and
// then the daemon must not hang with it.
const sendTimeout = 5 * time.Second

// Status is the line that systemctl status shows.
func Status(text string) string {
	return "STATUS=" + strings.Join(strings.Fields(text), " ")
}

// ExtendTimeout asks for that much more time, from now on, to start or to stop.
func ExtendTimeout(d time.Duration) string {
	return "EXTEND_TIMEOUT_USEC=" + strconv.FormatInt(d.Microseconds(), 10)
}

// Notify sends the states in one message, to nobody where nobody listens.
func Notify(getenv func(string) string, states ...string) error {
	address := getenv("NOTIFY_SOCKET")
	if address == "" {
		return nil
	}
	if err := send(address, strings.Join(states, "\n")); err != nil {
		return fmt.Errorf("notify systemd: %w", err)
	}
	return nil
}

// send takes a path, or a name after @ in the abstract namespace; net knows both.
// systemd knows vsock addresses too, for the insides of virtual machines.
func send(address, message string) error {
	if address[0] != '/' && address[0] != '@' {
		return fmt.Errorf("NOTIFY_SOCKET is %q; want a path or @name", address)
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: address, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetWriteDeadline(time.Now().Add(sendTimeout)); err != nil {
		return err
	}
	_, err = conn.Write([]byte(message))
	return err
}

// Watchdog is how often Alive is to be sent: three times within the limit that the
// unit sets (WatchdogSec), so that one lost message does no harm. It is 0 where no
// limit is set for the process pid.
func Watchdog(getenv func(string) string, pid int) (time.Duration, error) {
	limit := getenv("WATCHDOG_USEC")
	if owner := getenv("WATCHDOG_PID"); limit == "" || owner != "" && owner != strconv.Itoa(pid) {
		return 0, nil
	}
	const most = int64(1<<63-1) / int64(time.Microsecond)
	usec, err := strconv.ParseInt(limit, 10, 64)
	if err != nil || usec <= 0 || usec > most {
		return 0, fmt.Errorf("watchdog: WATCHDOG_USEC is %q; want microseconds", limit)
	}
	return time.Duration(usec) * time.Microsecond / 3, nil
}
