package scheduler

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ErrLocked is returned by Lock while another process holds the lock.
var ErrLocked = errors.New("works on this state directory")

// Lock makes the caller the only nightaudit that works on a state directory, until
// it calls release or its process ends, however that ends: the kernel lets go of
// the file then, and processes that it started never had it. It does not wait.
//
// The file at path is made where it is missing, and stays; it names its holder.
func Lock(path string) (release func() error, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("lock %s: %w", path, err)
		}
	}()
	f, _, err := openRegular(func() (*os.File, error) {
		return os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	})
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := writePID(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return unlock(f) }, nil
}

// flock, not fcntl: that lock is lost when the process closes any descriptor of
// the file, and does not keep a process from locking twice.
func flock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, syscall.EWOULDBLOCK):
			return fmt.Errorf("another nightaudit%s %w", holder(f), ErrLocked)
		case errors.Is(err, syscall.ENOLCK) || errors.Is(err, syscall.ENOTSUP):
			return fmt.Errorf("this file system has no locks: %w", err)
		default:
			return err
		}
	}
}

// holder reads who holds the lock; "" when the file does not say so yet.
func holder(f *os.File) string {
	b := make([]byte, 32)
	n, err := f.ReadAt(b, 0)
	pid, bad := strconv.Atoi(strings.TrimSpace(string(b[:n])))
	if err != nil && !errors.Is(err, io.EOF) || bad != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", pid)
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// unlock empties the file, so that a later holder that has not written its own is
// not taken for this one. The file is not removed: somebody may have it open, and
// would then lock a file that nobody else sees. Calling it twice is fine.
func unlock(f *os.File) error {
	err := f.Truncate(0)
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return errors.Join(err, f.Close())
}
