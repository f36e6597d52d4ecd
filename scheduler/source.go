package scheduler

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	"nightaudit/trace"
)

// maxSiblings bounds how many files a trace's folder may offer its reader.
const maxSiblings = 10_000

// OpenTrace opens a trace for reading. Siblings that its reader asks for lie below
// root, the folder that the source is configured with; "" is the trace's own
// folder. Only regular files are opened: a pipe or device would hang the night.
// The caller closes what it gets, which closes the siblings' root too. Scratch is
// where the copy of a database lies for a moment, "" the folder for temporary files.
func OpenTrace(root, file, scratch string) (trace.Source, io.Closer, error) {
	if root == "" {
		root = filepath.Dir(file)
	}
	f, size, err := openRegular(func() (*os.File, error) {
		return os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	})
	if err != nil {
		return trace.Source{}, nil, err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return trace.Source{}, nil, errors.Join(err, f.Close())
	}
	src := trace.Source{Name: file, Size: size, ReaderAt: f}
	if rel, err := filepath.Rel(root, filepath.Dir(file)); err == nil && filepath.IsLocal(rel) {
		src.Sibling = siblingIn(dir, rel, root)
		src.Siblings = siblingsIn(dir, rel)
	}
	if isDatabase(src) {
		src.Database = databaseIn(file, scratch)
	}
	return src, closers{f, dir}, nil
}

// openRegular opens a file and refuses what is no regular one.
func openRegular(open func() (*os.File, error)) (*os.File, int64, error) {
	f, err := open()
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is %s, not a file", f.Name(), kindOf(info.Mode()))
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a folder"
	case m&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// siblingIn opens files below the root by their path relative to the trace's
// folder. os.Root refuses every path and link that leads out of it.
func siblingIn(dir *os.Root, rel, root string) func(string) (trace.Source, io.Closer, error) {
	return func(name string) (trace.Source, io.Closer, error) {
		full := filepath.Join(rel, filepath.FromSlash(name))
		f, size, err := openRegular(func() (*os.File, error) {
			return dir.OpenFile(full, os.O_RDONLY|syscall.O_NONBLOCK, 0)
		})
		if err != nil {
			return trace.Source{}, nil, err
		}
		return trace.Source{Name: filepath.Join(root, full), Size: size, ReaderAt: f}, f, nil
	}
}

func siblingsIn(dir *os.Root, rel string) func(string) ([]string, error) {
	return func(pattern string) ([]string, error) {
		matches, err := fs.Glob(dir.FS(), path.Join(filepath.ToSlash(rel), pattern))
		if err != nil {
			return nil, fmt.Errorf("list siblings %s: %w", pattern, err)
		}
		if len(matches) > maxSiblings {
			return nil, fmt.Errorf("list siblings %s: more than %d files", pattern, maxSiblings)
		}
		var out []string
		for _, m := range matches {
			name, err := filepath.Rel(rel, filepath.FromSlash(m))
			if err == nil {
				out = append(out, filepath.ToSlash(name))
			}
		}
		slices.Sort(out)
		return out, nil
	}
}

type closers []io.Closer

func (c closers) Close() error {
	var errs []error
	for _, x := range c {
		errs = append(errs, x.Close())
	}
	return errors.Join(errs...)
}

// ClaimsBeside returns the path of the claims file that lies beside a trace
// (TRACE.claims.json, .yaml or .yml), "" where there is none.
func ClaimsBeside(file string) string {
	for _, ext := range []string{".claims.json", ".claims.yaml", ".claims.yml"} {
		if info, err := os.Stat(file + ext); err == nil && info.Mode().IsRegular() {
			return file + ext
		}
	}
	return ""
}
