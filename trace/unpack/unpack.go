// Package unpack reads compressed traces (zstd, as Codex packs its old rollouts):
// a Source in, the Source of the plain text out, which lies in memory. What cannot
// be unpacked is a stated gap of the Run, not an error: what stands before the
// damage is read.
package unpack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"

	"nightaudit/trace"
)

// MaxSize is how much text is unpacked, in bytes. A few kilobytes of zstd may
// stand for terabytes.
const MaxSize = 256 << 20

// maxWindow bounds the memory that a frame may ask for. The levels that anybody
// uses for files stay at 8 MiB.
const maxWindow = 64 << 20

var magic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Text is a trace as plain text.
type Text struct {
	trace.Source
	// Packed tells whether the trace was compressed, Gap what of it could not be
	// unpacked, "" for nothing, and SHA256 the hash of the compressed bytes.
	Packed bool
	Gap    string
	SHA256 [32]byte
}

// Open unpacks a trace that is compressed, and returns any other as it is. An
// error means that it could not be read.
func Open(ctx context.Context, src trace.Source) (Text, error) {
	return open(ctx, src, MaxSize)
}

func open(ctx context.Context, src trace.Source, maxSize int64) (Text, error) {
	head := make([]byte, min(src.Size, int64(len(magic))))
	if n, err := src.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return Text{}, fmt.Errorf("read %s: %w", src.Name, err)
	} else if !bytes.Equal(head[:n], magic) {
		return Text{Source: src}, nil
	}
	text := Text{Source: src, Packed: true}
	file := &bytesOf{ctx: ctx, r: io.NewSectionReader(src, 0, src.Size)}
	hash := sha256.New()
	if _, err := io.Copy(hash, file); err != nil {
		return Text{}, fmt.Errorf("read %s: %w", src.Name, err)
	}
	hash.Sum(text.SHA256[:0])
	file.r = io.NewSectionReader(src, 0, src.Size)
	plain, gap := unzstd(file, maxSize)
	if file.err != nil {
		return Text{}, fmt.Errorf("read %s: %w", src.Name, file.err)
	}
	text.Gap = gap
	text.Size, text.ReaderAt = int64(len(plain)), bytes.NewReader(plain)
	return text, nil
}

// unzstd unpacks as much as it can, and says what it could not.
func unzstd(r io.Reader, maxSize int64) (plain []byte, gap string) {
	dec, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, "the compressed trace cannot be unpacked: " + err.Error()
	}
	defer dec.Close()
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(dec, maxSize+1))
	switch {
	case n > maxSize:
		return out.Bytes()[:maxSize], fmt.Sprintf("the compressed trace is longer than %d bytes; the rest is not read", maxSize)
	case err != nil:
		return out.Bytes(), fmt.Sprintf("the compressed trace cannot be unpacked behind its first %d bytes of text: %v", n, err)
	}
	return out.Bytes(), ""
}

// bytesOf reads a file and keeps the error of reading it, to tell it from those
// of unpacking what was read.
type bytesOf struct {
	ctx context.Context
	r   io.Reader
	err error
}

func (b *bytesOf) Read(p []byte) (int, error) {
	if b.err = b.ctx.Err(); b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = err
	}
	return n, err
}

// Reader lets a reader of plain text read compressed traces as well. Places are
// those of the text, the hash is that of the file.
func Reader(read trace.Reader) trace.Reader {
	return func(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
		return func(yield func(*trace.Run, error) bool) {
			text, err := Open(ctx, src)
			if err != nil {
				yield(nil, err)
				return
			}
			for run, err := range read(ctx, text.Source) {
				if err == nil && text.Packed {
					run.SHA256 = text.SHA256
					if text.Gap != "" {
						run.Gaps = append(run.Gaps, trace.Gap{Reason: text.Gap})
					}
				}
				if !yield(run, err) {
					return
				}
			}
		}
	}
}
