package unpack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"nightaudit/trace"
)

func packed(t testing.TB, text []byte, opts ...zstd.EOption) []byte {
	t.Helper()
	var b bytes.Buffer
	enc, err := zstd.NewWriter(&b, append(opts, zstd.WithEncoderConcurrency(1))...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := enc.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func source(data []byte) trace.Source {
	return trace.Source{Name: "x.zst", Size: int64(len(data)), ReaderAt: bytes.NewReader(data)}
}

func textOf(t *testing.T, x Text) string {
	t.Helper()
	b, err := io.ReadAll(io.NewSectionReader(x, 0, x.Size))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestOpen(t *testing.T) {
	const plain = "{\"a\":1}\n{\"a\":2}\n"
	zst := packed(t, []byte(plain))
	for _, tt := range []struct {
		name   string
		data   []byte
		text   string
		gap    string // how the gap begins
		packed bool
	}{
		{"plain", []byte(plain), plain, "", false},
		{"empty", nil, "", "", false},
		{"shorter than the mark", magic[:3], string(magic[:3]), "", false},
		{"packed", zst, plain, "", true},
		{"two frames", append(bytes.Clone(zst), zst...), plain + plain, "", true},
		{"no more than the mark", magic, "", "the compressed trace cannot be unpacked behind its first 0 bytes", true},
		{"something behind it", append(bytes.Clone(zst), "garbage"...), plain, "the compressed trace cannot be unpacked behind its first 16 bytes", true},
		{"another end", append(bytes.Clone(zst[:len(zst)-1]), zst[len(zst)-1]^1), plain, "the compressed trace cannot be unpacked", true},
	} {
		x, err := Open(t.Context(), source(tt.data))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if got := textOf(t, x); !strings.HasPrefix(tt.text, got) || tt.gap == "" && got != tt.text {
			t.Errorf("%s: text %q, want %q", tt.name, got, tt.text)
		}
		if x.Packed != tt.packed || !strings.HasPrefix(x.Gap, tt.gap) || (x.Gap == "") != (tt.gap == "") {
			t.Errorf("%s: packed %v, gap %q, want %q", tt.name, x.Packed, x.Gap, tt.gap)
		}
		if tt.packed && x.SHA256 != sha256.Sum256(tt.data) {
			t.Errorf("%s: the hash is not the file's", tt.name)
		}
	}
}

func TestOpen_Bounded(t *testing.T) {
	x, err := open(t.Context(), source(packed(t, make([]byte, 1<<20))), 1<<10)
	if err != nil || x.Size != 1<<10 || !strings.Contains(x.Gap, "longer than 1024 bytes") {
		t.Errorf("%d bytes, gap %q, %v", x.Size, x.Gap, err)
	}
	// A frame that asks for more memory than any honest one is refused.
	wide := packed(t, make([]byte, 1<<20), zstd.WithWindowSize(zstd.MaxWindowSize), zstd.WithSingleSegment(false))
	x, err = Open(t.Context(), source(wide))
	if err != nil || x.Size != 0 || x.Gap == "" {
		t.Errorf("%d bytes, gap %q, %v", x.Size, x.Gap, err)
	}
}

// broken fails behind its first bytes.
type broken struct{ data []byte }

func (b broken) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > int64(len(b.data)) {
		return 0, io.ErrClosedPipe
	}
	return copy(p, b.data[off:]), nil
}

func TestOpen_UnreadableFile(t *testing.T) {
	zst := packed(t, []byte("text"))
	for _, data := range [][]byte{nil, zst[:6]} {
		_, err := Open(t.Context(), trace.Source{Name: "x", Size: 100, ReaderAt: broken{data}})
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%d bytes readable: %v", len(data), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, source(zst)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// records is a reader that yields a run with the number of records, and one more.
func records(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		run := trace.NewRun(src, "test")
		sc := trace.NewScanner(ctx, src)
		for sc.Next() {
			run.Records++
		}
		if err := sc.Finish(run); err != nil || !yield(run, nil) {
			return
		}
		yield(nil, io.ErrNoProgress)
	}
}

func TestReader(t *testing.T) {
	zst := packed(t, []byte("{}\n{}\n"))
	for run, err := range Reader(records)(t.Context(), source(zst)) {
		if err != nil {
			if !errors.Is(err, io.ErrNoProgress) {
				t.Error(err)
			}
			continue
		}
		if run.Records != 2 || run.SHA256 != sha256.Sum256(zst) || len(run.Gaps) > 0 {
			t.Errorf("%d records, gaps %v", run.Records, run.Gaps)
		}
	}
	cut := append(bytes.Clone(zst), "..."...)
	for run, err := range Reader(records)(t.Context(), source(cut)) {
		if err != nil || run.Records != 2 || len(run.Gaps) != 1 || run.Whole() {
			t.Errorf("%+v, %v", run, err)
		}
		break
	}
	for run, err := range Reader(records)(t.Context(), trace.Source{Size: 9, ReaderAt: broken{}}) {
		if run != nil || !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%v, %v", run, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	zst := packed(f, []byte("{\"a\":1}\n"))
	f.Add(zst)
	f.Add(zst[:len(zst)/2])
	f.Add(append(bytes.Clone(magic), "garbage"...))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := open(t.Context(), source(data), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if x.Size > 1<<20 || !x.Packed && x.Size != int64(len(data)) {
			t.Errorf("%d bytes of %d", x.Size, len(data))
		}
	})
}
