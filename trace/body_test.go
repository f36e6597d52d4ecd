package trace

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

// firstBody scans the first record of src.
func firstBody(t *testing.T, src Source) (*Run, Body) {
	t.Helper()
	run := NewRun(src, "test")
	sc := NewScanner(t.Context(), src)
	if !sc.Next() {
		t.Fatal("no record")
	}
	b := sc.Record().Body()
	if err := sc.Finish(run); err != nil {
		t.Fatal(err)
	}
	return run, b
}

// changeable is a file that may change after it was scanned.
type changeable struct{ data []byte }

func (c *changeable) ReadAt(b []byte, off int64) (int, error) {
	return bytes.NewReader(c.data).ReadAt(b, off)
}

func TestBody_FileChangesAfterTheScan(t *testing.T) {
	const text = "{\"a\":\"one\"}\n{\"b\":2}\n"
	for _, c := range []struct {
		name, now string
		want      error
	}{
		{"unchanged", text, nil},
		{"appended to", text + "{}\n", nil},
		{"one byte differs", "{\"a\":\"One\"}\n{\"b\":2}\n", ErrRewritten},
		{"moved", "\n" + text, ErrRewritten},
		{"shortened behind the body", text[:12], nil},
		{"shortened within the body", text[:5], ErrRewritten},
		{"emptied", "", ErrRewritten},
	} {
		file := &changeable{[]byte(text)}
		run, body := firstBody(t, Source{Name: "t", Size: int64(len(text)), ReaderAt: file})
		file.data = []byte(c.now)
		raw, err := run.Body(body)
		if !errors.Is(err, c.want) || c.want == nil && string(raw) != text[:11] {
			t.Errorf("%s: %q, %v, want %v", c.name, raw, err, c.want)
		}
		if v, err := run.Value(body); !errors.Is(err, c.want) || (v.Kind() == KindObject) != (c.want == nil) {
			t.Errorf("%s: Value gave kind %d, %v", c.name, v.Kind(), err)
		}
	}
}

// eager returns io.EOF with the last bytes, as io.ReaderAt allows.
type eager struct{ *bytes.Reader }

func (e eager) ReadAt(b []byte, off int64) (int, error) {
	n, err := e.Reader.ReadAt(b, off)
	if err == nil && off+int64(n) == e.Size() {
		err = io.EOF
	}
	return n, err
}

func TestBody_EndOfFileWithTheLastBytes(t *testing.T) {
	data := []byte(`{"a":1}`)
	src := Source{Name: "t", Size: int64(len(data)), ReaderAt: eager{bytes.NewReader(data)}}
	run, body := firstBody(t, src)
	if raw, err := run.Body(body); err != nil || !bytes.Equal(raw, data) {
		t.Errorf("Body gave %q, %v", raw, err)
	}
	if doc, err := ReadDocument(t.Context(), src); err != nil || !bytes.Equal(doc.Raw(), data) {
		t.Errorf("ReadDocument gave %v", err)
	}
}

func TestBody_ReadError(t *testing.T) {
	broken := errors.New("the disk is broken")
	data := []byte("{\"a\":1}\n")
	file := failing{bytes.NewReader(data), 1 << 20, broken}
	run, body := firstBody(t, Source{Name: "t", Size: int64(len(data)), ReaderAt: &file})
	file.at = 0
	if _, err := run.Body(body); !errors.Is(err, broken) {
		t.Errorf("Body gave %v, want the reader's own error", err)
	}
}

func TestBody_Absent(t *testing.T) {
	run := NewRun(Source{Name: "t"}, "test")
	if raw, err := run.Body(Body{}); raw != nil || err != nil {
		t.Errorf("the absent body gave %q, %v", raw, err)
	}
	if v, err := run.Value(Body{}); v.Kind() != KindAbsent || err != nil {
		t.Errorf("the absent value is of kind %d, %v", v.Kind(), err)
	}
}

func TestReadDocument_Lines(t *testing.T) {
	text := "\xef\xbb\xbf\n{\"steps\": [\n  {\"a\": 1},\r\n\n  {\"a\":\n 2}, {\"a\": 3}\n]}\n"
	doc, err := ReadDocument(t.Context(), source([]byte(text)))
	if err != nil {
		t.Fatal(err)
	}
	var lines []int
	var steps []Value
	for step := range doc.Get("steps").Elements() {
		lines = append(lines, doc.LineOf(step))
		steps = append(steps, step)
		b := step.Body()
		if got := text[b.Offset : b.Offset+int64(b.Length)]; got != string(step.Raw()) {
			t.Errorf("the body of %s points to %q", step.Raw(), got)
		}
	}
	if len(lines) != 3 || lines[0] != 3 || lines[1] != 5 || lines[2] != 6 {
		t.Errorf("lines %v, want 3, 5, 6", lines)
	}
	if got := doc.LineOf(steps[0]); got != 3 {
		t.Errorf("asked backwards, line %d, want 3", got)
	}
}

func TestReadDocument_NoDocument(t *testing.T) {
	for _, text := range []string{"", "\n", "{", "{}\n{}", `{"a":1,"a":2}`, "not JSON"} {
		doc, err := ReadDocument(t.Context(), source([]byte(text)))
		if err != nil || doc.Kind() != KindAbsent {
			t.Errorf("%q is a document of kind %d, %v", text, doc.Kind(), err)
		}
	}
}
