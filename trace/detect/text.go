package detect

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"nightaudit/trace"
	"nightaudit/trace/mcp"
)

// textHead is how many bytes of a file are looked at for lines that are no JSON.
const textHead = 256 << 10

// textFormats tell by a line that is no JSON whether a file is of their format, in
// the order in which they are asked.
var textFormats = []struct {
	name string
	line func(line []byte) bool
}{
	{mcp.Format, mcp.IsText},
}

// textFormat names the format of a log whose lines are text with JSON in it, "" for
// what is none.
func textFormat(src trace.Source) (string, error) {
	head := make([]byte, min(src.Size, textHead))
	n, err := src.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", src.Name, err)
	}
	for line := range bytes.Lines(head[:n]) {
		for _, f := range textFormats {
			if f.line(line) {
				return f.name, nil
			}
		}
	}
	return "", nil
}
