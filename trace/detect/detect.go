// Package detect picks the reader of a trace by its content: the bytes of a file
// go in, the Runs of the reader that recognises its first records come out. File
// names are not looked at, and nothing is judged. What no format recognises is
// read as native, whose reader counts the records that it does not know; a run of
// which nothing was understood says so in a gap. Some forms are known and not read:
// an UnsupportedError says why. Compressed files are unpacked first, whatever their
// format.
package detect

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"nightaudit/trace"
	"nightaudit/trace/native"
	"nightaudit/trace/unpack"
)

// maxRecords is how many readable records are looked at. Claude Code files may
// begin with dozens that say nothing.
const maxRecords = 64

// maxHead is how many bytes of a file are looked at. It leaves room for that many
// long records, and bounds what a file without line ends can cost.
const maxHead = 32 << 20

// Read reads a trace of any known format.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return unpack.Reader(readText)(ctx, src)
}

func readText(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		if src.Database != nil {
			db, closer, err := src.Database(ctx)
			if err != nil {
				yield(nil, err)
				return
			}
			defer closer.Close() //nolint:errcheck // a copy, which is gone already
			// It is looked at and read through one copy.
			src.Database = func(context.Context) (*sql.DB, io.Closer, error) { return db, io.NopCloser(nil), nil }
		}
		format, err := formatOfText(ctx, src)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, f := range formats() {
			if f.name != format {
				continue
			}
			for run, err := range f.read(ctx, src) {
				if err == nil && format == native.Format {
					stated(run)
				}
				if !yield(run, err) {
					return
				}
			}
		}
	}
}

// Format names the format of a trace.
func Format(ctx context.Context, src trace.Source) (string, error) {
	text, err := unpack.Open(ctx, src)
	if err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	return formatOfText(ctx, text.Source)
}

func formatOfText(ctx context.Context, src trace.Source) (string, error) {
	if src.Database != nil {
		return databaseFormat(ctx, src)
	}
	document, err := trace.SpansLines(src)
	if err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	if document {
		if name, err := documentFormat(ctx, src); err != nil || name != "" {
			return name, err
		}
	}
	head := src
	head.Size = min(src.Size, maxHead)
	sc := trace.NewScanner(ctx, head)
	for n := range maxRecords {
		if !sc.Next() {
			break
		}
		if err := refuse(src, sc.Record().Value); err != nil {
			return "", err
		}
		if name := recognise(sc.Record().Value, n == 0); name != "" {
			return name, nil
		}
	}
	if err := sc.Finish(trace.NewRun(head, native.Format)); err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	if err := refuseText(src); err != nil {
		return "", err
	}
	if name, err := textFormat(src); err != nil || name != "" {
		return name, err
	}
	return native.Format, nil
}

// Named returns the reader of a format.
func Named(name string) (trace.Reader, bool) {
	for _, f := range formats() {
		if f.name == name {
			return unpack.Reader(f.read), true
		}
	}
	return nil, false
}

// Formats lists the names that Named knows, sorted.
func Formats() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	slices.Sort(names)
	return names
}

// databaseFormat names the format of an SQLite database.
func databaseFormat(ctx context.Context, src trace.Source) (string, error) {
	db, closer, err := src.Database(ctx)
	if err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	defer closer.Close() //nolint:errcheck // a copy, which is gone already
	var tried []string
	for _, d := range databases {
		tried = append(tried, d.format)
		if is, err := d.is(ctx, db); err != nil {
			return "", fmt.Errorf("detect format: %w", err)
		} else if is {
			return d.format, nil
		}
	}
	return "", fmt.Errorf("%s is an SQLite database, but not of an agent that is known: looked for the tables of %s", src.Name, strings.Join(tried, ", "))
}

// documentFormat names the format of a file that is one JSON text, or begins with
// one that spans lines; "" for one that is none or that nobody knows.
func documentFormat(ctx context.Context, src trace.Source) (string, error) {
	doc, err := trace.ReadDocument(ctx, src)
	if err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	if doc.Kind() != trace.KindAbsent {
		return recogniseDocument(doc.Value), refuse(src, doc.Value)
	}
	// Documents may stand one behind the other.
	texts := trace.NewTexts(ctx, src)
	if texts.Next() && !texts.Lines() {
		return recogniseDocument(texts.Record().Value), refuse(src, texts.Record().Value)
	}
	if err := texts.Finish(trace.NewRun(src, native.Format)); err != nil {
		return "", fmt.Errorf("detect format: %w", err)
	}
	return "", nil
}
