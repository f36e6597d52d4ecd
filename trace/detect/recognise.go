package detect

import (
	"nightaudit/trace"
	"nightaudit/trace/claudecode"
	"nightaudit/trace/cline"
	"nightaudit/trace/geminicli"
	"nightaudit/trace/miniswe"
	"nightaudit/trace/native"
	"nightaudit/trace/openhands"
	"nightaudit/trace/pi"
	"nightaudit/trace/qwen"
	"nightaudit/trace/sweagent"
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
		{qwen.IFlowFormat, qwen.ReadIFlow, qwen.IsIFlowRecord, nil}, // both before claude-code, whose records they imitate
		{qwen.Format, qwen.Read, qwen.IsRecord, nil},
		{claudecode.Format, claudecode.Read, claudecode.IsRecord, nil},
		{geminicli.Format, geminicli.Read, geminicli.IsRecord, geminicli.IsDocument},
		{pi.Format, pi.Read, pi.IsRecord, nil},
		{sweagent.Format, sweagent.Read, nil, sweagent.IsDocument},
		{miniswe.Format, miniswe.Read, nil, miniswe.IsDocument},
		{cline.Format, cline.Read, nil, cline.IsDocument},
		{openhands.Format, openhands.Read, openhands.IsRecord, openhands.IsDocument},
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
