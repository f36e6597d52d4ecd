package codex

import (
	"bytes"
	"context"

	"nightaudit/trace"
)

// mayBeDocument tells whether a file does not begin with a whole line, or may be
// a document on one.
func mayBeDocument(src trace.Source) bool {
	head := make([]byte, min(src.Size, 64<<10))
	n, _ := src.ReadAt(head, 0) // a fault comes up again when the file is read
	head = bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
	line, _, _ := bytes.Cut(head, []byte("\n"))
	first, rest, _ := bytes.Cut(line, []byte(":"))
	name := bytes.Trim(bytes.TrimPrefix(first, []byte("{")), " \t\r\"")
	return len(line) > 0 && line[0] == '{' && (len(rest) == 0 || bytes.Equal(name, []byte("session")) || bytes.Equal(name, []byte("items")))
}

// document reads a file of the first versions, which is one JSON text. It tells
// whether it is one.
func (s *session) document(ctx context.Context, src trace.Source) (bool, error) {
	if !mayBeDocument(src) {
		return false, nil
	}
	doc, err := trace.ReadDocument(ctx, src)
	if err != nil || !IsDocument(doc.Value) {
		return false, err
	}
	s.run.SHA256 = doc.SHA256
	head := doc.Get("session")
	s.take(trace.Record{Value: head, Pos: trace.Position{Line: doc.LineOf(head), Offset: head.Body().Offset}})
	for item := range doc.Get("items").Elements() {
		pos := trace.Position{Line: doc.LineOf(item), Offset: item.Body().Offset}
		if item.Kind() != trace.KindObject {
			s.run.BadLines = append(s.run.BadLines, trace.BadLine{Line: pos.Line, Reason: "an item that is no JSON object"})
			continue
		}
		s.take(trace.Record{Value: item, Pos: pos})
	}
	s.finish()
	return true, nil
}
