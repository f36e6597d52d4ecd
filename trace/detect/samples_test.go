package detect

import (
	"nightaudit/trace/claudecode"
	"nightaudit/trace/geminicli"
	"nightaudit/trace/mcp"
	"nightaudit/trace/messages"
	"nightaudit/trace/native"
	"nightaudit/trace/openclaw"
	"nightaudit/trace/otlp"
)

// sample is a small trace that the robustness tests damage in every way. A good
// one holds a call of each outcome that its format knows: a success, a failure, a
// refusal, a call without an end, one that is told apart by its exit code only.
// Its ids are unique and occur nowhere else in the file.
type sample struct {
	// file is a file of the format's testdata, of at most maxSample bytes.
	file string
	// document: the file is one JSON text, so that damage anywhere costs all of it.
	document bool
	// ids and args name the members that hold ids and arguments of calls.
	ids, args []string
}

// maxSample is how large a sample may be: each is cut at every byte.
const maxSample = 4 << 10

// samples holds the samples of every format that is registered. A format without
// one fails TestDamage_Samples.
var samples = map[string][]sample{
	native.Format: {
		{file: "../native/testdata/calls.jsonl", ids: []string{"id", "call_id"}, args: []string{"args"}},
		{file: "../native/testdata/steps.json", document: true, ids: []string{"id", "call_id"}, args: []string{"args"}},
	},
	claudecode.Format: {
		{file: "../claudecode/testdata/mixed.jsonl", ids: []string{"id", "tool_use_id"}, args: []string{"input"}},
	},
	mcp.Format: {
		{file: "../mcp/testdata/wrapped.jsonl", ids: []string{"id", "requestId"}, args: []string{"arguments"}},
	},
	otlp.Format: {
		{file: "../otlp/testdata/spans.jsonl", ids: []string{"spanId"}},
	},
	openclaw.Format: {
		{file: "../openclaw/testdata/ids.jsonl", ids: []string{"id", "toolCallId"}, args: []string{"params", "arguments"}},
	},
	geminicli.Format: {
		{file: "../geminicli/testdata/session.jsonl", ids: []string{"id"}, args: []string{"args"}},
		{file: "../geminicli/testdata/session.json", document: true, ids: []string{"id"}, args: []string{"args"}},
	},
	messages.Format: {
		{file: "../messages/testdata/anthropic.jsonl", ids: []string{"id", "tool_use_id"}, args: []string{"input"}},
		{file: "../messages/testdata/responses.json", document: true, ids: []string{"id", "call_id"}, args: []string{"arguments", "action"}},
	},
}
