package scheduler

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"nightaudit/audit/claims"
	"nightaudit/store"
	"nightaudit/trace"
	"nightaudit/trace/detect"
)

// Source is a configured place where traces lie.
type Source struct {
	Name string
	// Patterns are absolute paths with doublestar wildcards.
	Patterns []string
	Format   string       // a reader's name, "" or auto: by content
	Own      trace.Reader // of a format of the operator's own; it goes before Format
	Expect   []Expect
	// Scratch is where copies of databases lie for a moment; "": where temporary
	// files do.
	Scratch string
}

// Expect names the claims file for the runs whose path and task match. An empty
// pattern matches everything.
type Expect struct {
	Path   string // doublestar; a relative one matches the end of a path
	Task   string // glob of what the agent was asked
	Claims string // path of a claims file
}

// File is a trace file as it was found.
type File struct {
	Source  string
	Path    string
	Size    int64
	ModTime time.Time
	Inode   uint64
}

func (f File) key() string { return f.Source + "\x00" + f.Path }

// same tells whether the file is still what was audited, by what the file system
// says of it.
func (f File) same(s store.FileState) bool {
	return f.Size == s.Size && f.ModTime.Equal(s.ModTime) && f.Inode == s.Inode
}

func (f File) state(source string, now time.Time) store.FileState {
	return store.FileState{
		Path: f.Path, Source: source, Size: f.Size, ModTime: f.ModTime, Inode: f.Inode,
		AuditedAt: now, Status: store.StatusAudited,
	}
}

// Find walks the patterns and yields the regular files that match, each once, in
// the order of their paths. Links are not followed. Claims files are no traces.
func (s Source) Find(ctx context.Context) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		found := map[string]File{}
		for _, pattern := range s.Patterns {
			if err := s.walk(ctx, pattern, found); err != nil && !yield(File{}, err) {
				return
			}
		}
		paths := make([]string, 0, len(found))
		for p := range found {
			paths = append(paths, p)
		}
		slices.Sort(paths)
		for _, p := range paths {
			if !yield(found[p], nil) {
				return
			}
		}
	}
}

// walk adds the files of one pattern. What cannot be read below it is passed over.
func (s Source) walk(ctx context.Context, pattern string, found map[string]File) error {
	base, rest := doublestar.SplitPattern(filepath.ToSlash(pattern))
	if _, err := os.Stat(base); err != nil {
		return fmt.Errorf("source %s: %w", s.Name, err)
	}
	return doublestar.GlobWalk(os.DirFS(base), rest, func(path string, d fs.DirEntry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !d.Type().IsRegular() || isClaimsFile(path) {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return nil // gone since it was listed
		}
		full := filepath.Join(base, filepath.FromSlash(path))
		f := File{Source: s.Name, Path: full, Size: info.Size(), ModTime: info.ModTime()}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			f.Inode = st.Ino
		}
		f.withLog()
		found[full] = f
		return nil
	}, doublestar.WithNoFollow(), doublestar.WithFilesOnly())
}

// withLog takes the write-ahead log of a database for a part of it: what is new
// stands there first.
func (f *File) withLog() {
	switch filepath.Ext(f.Path) {
	case ".db", ".sqlite", ".sqlite3":
		if log, err := os.Stat(f.Path + "-wal"); err == nil {
			f.Size += log.Size()
			if log.ModTime().After(f.ModTime) {
				f.ModTime = log.ModTime()
			}
		}
	}
}

func isClaimsFile(path string) bool {
	for _, ext := range []string{".claims.json", ".claims.yaml", ".claims.yml"} {
		if strings.HasSuffix(path, ext) {
			return true
		}
	}
	return false
}

// root returns the folder that siblings of a trace must lie in: that of the
// pattern's fixed part.
func (s Source) root(file string) string {
	for _, pattern := range s.Patterns {
		base, _ := doublestar.SplitPattern(filepath.ToSlash(pattern))
		if rel, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(rel) {
			return base
		}
	}
	return ""
}

func (s Source) reader() trace.Reader {
	if s.Own != nil {
		return s.Own
	}
	if read, ok := detect.Named(s.Format); ok {
		return read
	}
	return detect.Read
}

// beside loads the claims file that lies beside a trace.
func (s Source) beside(file string, kinds claims.Kinds) ([]claims.Claim, error) {
	if beside := ClaimsBeside(file); beside != "" {
		return LoadClaims(beside, claims.SourceFile, kinds)
	}
	return nil, nil
}

// expected loads what the source expects of a run, by its path and its task.
func (s Source) expected(file, task string, kinds claims.Kinds) ([]claims.Claim, error) {
	var out []claims.Claim
	for _, e := range s.Expect {
		if e.Path != "" {
			if ok, err := matches(e.Path, file); err != nil || !ok {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if e.Task != "" && !claims.Glob(e.Task, strings.ReplaceAll(task, "/", "\x00")) {
			continue
		}
		list, err := LoadClaims(e.Claims, claims.SourceExpectation, kinds)
		if err != nil {
			return nil, err
		}
		out = append(out, list...)
	}
	return out, nil
}

// touched returns when a trace was last written, or one of the claims files that
// are read with it: mending any of them may mend what failed.
func (s Source) touched(file File) time.Time {
	last := file.ModTime
	names := []string{ClaimsBeside(file.Path)}
	for _, e := range s.Expect {
		if ok, err := matches(e.Path, file.Path); ok && err == nil || e.Path == "" {
			names = append(names, e.Claims)
		}
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil && info.ModTime().After(last) {
			last = info.ModTime()
		}
	}
	return last
}

func matches(pattern, file string) (bool, error) {
	if !filepath.IsAbs(pattern) {
		pattern = "/**/" + pattern
	}
	ok, err := doublestar.Match(filepath.ToSlash(pattern), filepath.ToSlash(file))
	if err != nil {
		return false, fmt.Errorf("expect: path %q: %w", pattern, err)
	}
	return ok, nil
}

// prefixChanged tells whether a file that was audited before no longer begins
// with what was audited: it was written over, not appended to.
//
// Only JSON Lines are appended to: documents, on one line or several, and databases
// are written anew each time.
func prefixChanged(ctx context.Context, src trace.Source, before store.FileState) (bool, error) {
	if before.SHA256 == "" || src.Database != nil {
		return false, nil
	}
	if document, err := trace.SpansLines(src); err != nil || document {
		return false, err
	}
	if src.Size < before.Size {
		return true, nil
	}
	h := sha256.New()
	lines := false
	buf := make([]byte, 256<<10)
	r := io.NewSectionReader(src, 0, before.Size)
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := r.Read(buf)
		h.Write(buf[:n])
		lines = lines || bytes.ContainsRune(bytes.TrimRight(buf[:n], "\n"), '\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read %s: %w", src.Name, err)
		}
	}
	return lines && hex.EncodeToString(h.Sum(nil)) != before.SHA256, nil
}

// seen returns what the store knows of a source's files, by path.
func (p *Pass) seen(ctx context.Context, src Source) (map[string]store.FileState, error) {
	files, err := p.Store.Files(ctx, src.Name)
	if err != nil {
		return nil, p.Store.Explain(err)
	}
	out := make(map[string]store.FileState, len(files))
	for _, f := range files {
		out[f.Path] = f
	}
	return out, nil
}

// quarantined returns, for the files that are left alone, when each last failed.
func (p *Pass) quarantined(ctx context.Context) (map[string]time.Time, error) {
	list, err := p.Store.Quarantined(ctx)
	if err != nil {
		return nil, p.Store.Explain(err)
	}
	out := map[string]time.Time{}
	for _, f := range list {
		out[File{Source: f.Source, Path: f.Path}.key()] = f.Last
	}
	return out, nil
}
