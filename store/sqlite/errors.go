package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	driver "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// What can be wrong with a file. Each is the end of a sentence that a FileError
// begins with the file's name.
var (
	ErrNotDatabase = errors.New("is not a SQLite database")
	ErrForeign     = errors.New("is a database of another program")
	ErrCorrupt     = errors.New("is damaged; restore a backup")
	ErrFull        = errors.New("cannot be written: the disk is full")
	ErrReadOnly    = errors.New("cannot be written: the file or its directory is read-only")
	ErrNoDirectory = errors.New("cannot be opened: its directory is missing or is no directory")
	ErrMissing     = errors.New("does not exist")
	ErrDenied      = errors.New("cannot be opened: permission denied")
	ErrBusy        = errors.New("is locked by another process")
	ErrIO          = errors.New("cannot be read or written: the disk reports an error")
	ErrOpen        = errors.New("cannot be opened")
)

// FileError is a problem with the file as a whole. Kind is one of the errors
// above, Err what SQLite or the system said.
type FileError struct {
	Path string
	Kind error
	Err  error
}

// Error is one sentence that names the file.
func (e *FileError) Error() string {
	s := e.Path + " " + e.Kind.Error()
	if e.Err != nil {
		s += " (" + e.Err.Error() + ")"
	}
	return s
}

// Unwrap gives both the kind and the cause to errors.Is and errors.As.
func (e *FileError) Unwrap() []error { return []error{e.Kind, e.Err} }

var kinds = map[int]error{
	codes.SQLITE_NOTADB:   ErrNotDatabase,
	codes.SQLITE_CORRUPT:  ErrCorrupt,
	codes.SQLITE_FULL:     ErrFull,
	codes.SQLITE_READONLY: ErrReadOnly,
	codes.SQLITE_PERM:     ErrDenied,
	codes.SQLITE_BUSY:     ErrBusy,
	codes.SQLITE_LOCKED:   ErrBusy,
	codes.SQLITE_IOERR:    ErrIO,
	codes.SQLITE_CANTOPEN: ErrOpen,
}

// Explain turns what the driver says about a file into a FileError. An error that
// is not about the file, or is explained already, is returned as it is; so is nil.
func Explain(path string, err error) error {
	if known := (*FileError)(nil); errors.As(err, &known) {
		return err
	}
	kind := kinds[code(err)]
	if kind == nil {
		return err
	}
	return &FileError{Path: path, Kind: kind, Err: err}
}

// code is the primary result code, 0 for an error that is not the driver's.
func code(err error) int {
	var e *driver.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Code() & 0xff
}

func isBusy(err error) bool {
	c := code(err)
	return c == codes.SQLITE_BUSY || c == codes.SQLITE_LOCKED
}

// unreachable explains why a file could not be found or made.
func unreachable(path string, err error) error {
	kind := ErrOpen
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		kind = ErrNoDirectory
	case errors.Is(err, syscall.EROFS):
		kind = ErrReadOnly
	case errors.Is(err, syscall.ENOSPC):
		kind = ErrFull
	case errors.Is(err, fs.ErrPermission):
		kind = ErrDenied
	case errors.Is(err, fs.ErrNotExist) && !dirExists(path):
		kind = ErrNoDirectory
	}
	return &FileError{Path: path, Kind: kind, Err: err}
}

func dirExists(path string) bool {
	info, err := os.Stat(filepath.Dir(path))
	return err == nil && info.IsDir()
}
