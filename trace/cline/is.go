package cline

import (
	"strings"

	"nightaudit/trace"
)

// maxMessages is how many messages are looked at.
const maxMessages = 16

// IsDocument tells whether a file that is one JSON text is of this format: messages
// with the marks that Cline and Roo set around what they tell the model.
func IsDocument(doc trace.Value) bool {
	n := 0
	for m := range doc.Elements() {
		if m.Get("role").Text() == "user" {
			for _, block := range blocks(m) {
				text := textOf(block)
				_, _, result := heading(text)
				if result || strings.HasPrefix(text, "<task>\n") || strings.HasPrefix(text, "<environment_details>\n") {
					return true
				}
			}
		}
		if n++; n == maxMessages {
			break
		}
	}
	return false
}
