package detect

import (
	"nightaudit/trace"
	"nightaudit/trace/claudecode"
	"nightaudit/trace/geminicli"
	"nightaudit/trace/mcp"
	"nightaudit/trace/messages"
	"nightaudit/trace/native"
	"nightaudit/trace/openclaw"
	"nightaudit/trace/otlp"
)

// format is one format that can be read. Its package knows what its records and
// documents look like; a format asks for what no other has, so that the order in
// which they are asked matters only where formats share a form.
type format struct {
	name string
	read trace.Reader
	// record tells whether a JSON Lines record can only belong to this format. Nil:
	// it has no such form.
	record func(rec trace.Value) bool
	// document tells whether a file that is one JSON text is of this format. Nil: it
	// has no such form.
	document func(doc trace.Value) bool
}

// formats holds every format, in the order in which they are asked.
func formats() []format {
	return []format{
		{native.Format, native.Read, native.IsRecord, native.IsDocument},
		{claudecode.Format, claudecode.Read, claudecode.IsRecord, nil},
		{mcp.Format, mcp.Read, mcp.IsRecord, mcp.IsDocument},
		{otlp.Format, otlp.Read, otlp.IsRecord, otlp.IsDocument},
		{openclaw.Format, openclaw.Read, openclaw.IsRecord, nil},
		{geminicli.Format, geminicli.Read, geminicli.IsRecord, geminicli.IsDocument},
		{messages.Format, messages.Read, messages.IsRecord, messages.IsDocument}, // last: others use its messages
	}
}

// recognise names the format that a record can only belong to, "" where it says
// too little. The first record of a file may be a whole document on one line.
func recognise(rec trace.Value, first bool) string {
	for _, f := range formats() {
		if f.record != nil && f.record(rec) || first && f.document != nil && f.document(rec) {
			return f.name
		}
	}
	return ""
}

// recogniseDocument names the format of a JSON text that is no record of many.
func recogniseDocument(doc trace.Value) string {
	for _, f := range formats() {
		if f.document != nil && f.document(doc) {
			return f.name
		}
	}
	return ""
}
