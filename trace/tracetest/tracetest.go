// Package tracetest holds what the tests of readers share: a reader and bytes go
// in, its runs come out, held to what must be true of every run whatever stands in
// its file. It knows no format.
package tracetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"nightaudit/trace"
)

// Source is data as an opened trace.
func Source(data []byte) trace.Source {
	return trace.Source{Name: "x", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

// Read reads data. An error fails the test, and so does a run that does not hold
// what it promises.
func Read(t testing.TB, read trace.Reader, data []byte) []*trace.Run {
	t.Helper()
	var runs []*trace.Run
	for run, err := range read(t.Context(), Source(data)) {
		if err != nil {
			t.Fatal(err)
		}
		check(t, run)
		runs = append(runs, run)
	}
	if len(runs) == 0 {
		t.Fatal("no run at all")
	}
	return runs
}

// File reads a file of the test data.
func File(t testing.TB, read trace.Reader, fsys fs.FS, name string) []*trace.Run {
	t.Helper()
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		t.Fatal(err)
	}
	return Read(t, read, data)
}

// check holds for every run: its calls stand in order, and their bodies can be
// read again.
func check(t testing.TB, run *trace.Run) {
	t.Helper()
	if run.Format == "" || run.Source == "" {
		t.Error("a run without a format or a source")
	}
	for i := range run.Calls {
		c := &run.Calls[i]
		if i > 0 && c.Pos.Before(run.Calls[i-1].Pos) {
			t.Errorf("call %d at %d stands before call %d", i, c.Pos.Offset, i-1)
		}
		if !c.Pos.Set() {
			t.Errorf("call %d has no place", i)
		}
		for _, b := range []trace.Body{c.Args, c.Result, c.Structured, c.Error, c.Record, c.Child} {
			if _, err := run.Value(b); err != nil {
				t.Fatalf("a body of call %d: %v", i, err)
			}
		}
	}
}

// Calls is each call of a run in a line: its id, its tool and what kind says of it.
// A call of a batch ends in the batch's number, a result without its call in
// "alone".
func Calls(t testing.TB, run *trace.Run, kind func(*trace.Run, *trace.Call) (string, error)) []string {
	t.Helper()
	var out []string
	batches := map[string]int{}
	for i := range run.Calls {
		c := &run.Calls[i]
		k, err := kind(run, c)
		if err != nil {
			t.Fatal(err)
		}
		parts := []string{c.ID.String(), c.Tool, k}
		if c.Batch != "" {
			if batches[c.Batch] == 0 {
				batches[c.Batch] = len(batches) + 1
			}
			parts = append(parts, fmt.Sprint(batches[c.Batch]))
		}
		if c.ResultOnly {
			parts = append(parts, "alone")
		}
		out = append(out, strings.Join(strings.Fields(strings.Join(parts, " ")), " "))
	}
	return out
}

// Files returns the names of the test data.
func Files(t testing.TB, fsys fs.FS) []string {
	t.Helper()
	names, err := fs.Glob(fsys, "*.*")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	return names
}

// CutAnywhere reads each file of the test data cut off at every byte.
func CutAnywhere(t *testing.T, read trace.Reader, fsys fs.FS) {
	t.Helper()
	for _, name := range Files(t, fsys) {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			t.Fatal(err)
		}
		for n := range data {
			Read(t, read, data[:n])
		}
	}
}

// Fuzz reads whatever the fuzzer makes of the test data.
func Fuzz(f *testing.F, read trace.Reader, fsys fs.FS) {
	f.Helper()
	for _, name := range Files(f, fsys) {
		data, err := fs.ReadFile(fsys, name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { Read(t, read, data) })
}
