// Package detect picks the reader of a trace by its content: the bytes of a file
// go in, the Runs of the reader that recognises its first records come out. File
// names are not looked at, and nothing is judged. What no format recognises is
// read as native, whose reader counts the records that it does not know.
package detect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"

	"nightaudit/trace"
	"nightaudit/trace/claudecode"
	"nightaudit/trace/native"
)

// maxRecords is how many readable records are looked at. Claude Code files may
// begin with dozens that say nothing.
const maxRecords = 64

// maxHead is how many bytes of a file are looked at. It leaves room for that many
// long records, and bounds what a file without line ends can cost.
const maxHead = 32 << 20

// Read reads a trace of any known format.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		format, err := Format(ctx, src)
		if err != nil {
			yield(nil, err)
			return
		}
		read, _ := Named(format)
		read(ctx, src)(yield)
	}
}

// Format names the format of a trace.
func Format(ctx context.Context, src trace.Source) (string, error) {
	if steps, err := beginsWithSteps(src); err != nil || steps {
		return native.Format, err
	}
	head := src
	head.Size = min(src.Size, maxHead)
	sc := trace.NewScanner(ctx, head)
	for range maxRecords {
		if !sc.Next() {
			break
		}
		if format := recognise(sc.Record().Value); format != "" {
			return format, nil
		}
	}
	if err := sc.Finish(trace.NewRun(head, native.Format)); err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	return native.Format, nil
}

// readers holds every format by its name.
func readers() map[string]trace.Reader {
	return map[string]trace.Reader{
		native.Format:     native.Read,
		claudecode.Format: claudecode.Read,
	}
}

// Named returns the reader of a format.
func Named(format string) (trace.Reader, bool) {
	r, ok := readers()[format]
	return r, ok
}

// Formats lists the names that Named knows, sorted.
func Formats() []string {
	return slices.Sorted(maps.Keys(readers()))
}

// beginsWithSteps tells whether the file is the whole document {"steps": […]},
// which may run over many lines, so that its lines say nothing by themselves.
func beginsWithSteps(src trace.Source) (bool, error) {
	head := make([]byte, min(src.Size, 512))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read %s: %w", src.Name, err)
	}
	rest := bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf"))
	for _, word := range []string{"{", `"steps"`, ":", "["} {
		var ok bool
		if rest, ok = bytes.CutPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte(word)); !ok {
			return false, nil
		}
	}
	return true, nil
}
