package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxFirst is how long a first line may be for a document over several lines to
// be recognised.
const maxFirst = 1 << 20

// SpansLines tells whether a source may be one JSON text and no JSON Lines, so that
// its lines say nothing by themselves: a list, or an object that does not end on
// the line on which it begins. ReadDocument tells whether it is one.
func SpansLines(src Source) (bool, error) {
	first, err := firstLine(src)
	if err != nil || len(first) == 0 || first[0] != '{' {
		return err == nil && len(first) > 0 && first[0] == '[', err
	}
	line, _, whole := bytes.Cut(first, []byte("\n"))
	if !whole {
		return false, nil // one line: it is read as the first record
	}
	_, err = ParseValue(bytes.TrimRight(line, "\r"))
	var syntax *SyntaxError
	return errors.As(err, &syntax) && syntax.Offset >= int64(len(bytes.TrimRight(line, " \t\r"))), nil
}

// firstLine returns the start of a source without a byte-order mark and the white
// space before the first value: with the first line whole where that is not
// absurdly long.
func firstLine(src Source) ([]byte, error) {
	for _, size := range []int64{4 << 10, maxFirst} {
		head := make([]byte, min(src.Size, size))
		n, err := src.ReadAt(head, 0)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read %s: %w", src.Name, err)
		}
		first := bytes.TrimLeft(bytes.TrimPrefix(head[:n], []byte("\xef\xbb\xbf")), " \t\r\n")
		if bytes.IndexByte(first, '\n') >= 0 || src.Size <= size || size == maxFirst {
			return first, nil
		}
	}
	return nil, nil
}
