package detect

import (
	"nightaudit/trace/atif"
	"nightaudit/trace/claudecode"
	"nightaudit/trace/claudestream"
	"nightaudit/trace/cline"
	"nightaudit/trace/codex"
	"nightaudit/trace/codexexec"
	"nightaudit/trace/geminicli"
	"nightaudit/trace/geministream"
	"nightaudit/trace/goose"
	"nightaudit/trace/mcp"
	"nightaudit/trace/messages"
	"nightaudit/trace/miniswe"
	"nightaudit/trace/native"
	"nightaudit/trace/openclaw"
	"nightaudit/trace/opencode"
	"nightaudit/trace/openhands"
	"nightaudit/trace/otlp"
	"nightaudit/trace/pi"
	"nightaudit/trace/qwen"
	"nightaudit/trace/sweagent"
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
	// gaps is how many gaps every file of the format has, because it leaves things out.
	gaps int
	// mute: the format records no outcome, so that no call succeeds.
	mute bool
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
	atif.Format: {
		{file: "../atif/testdata/trajectory.json", document: true, ids: []string{"tool_call_id", "source_call_id"}, args: []string{"arguments"}},
	},
	goose.Format: {
		{file: "../goose/testdata/session.jsonl", ids: []string{"id"}, args: []string{"arguments"}},
		{file: "../goose/testdata/export.json", document: true, ids: []string{"id"}, args: []string{"arguments"}},
	},
	claudecode.Format: {
		{file: "../claudecode/testdata/mixed.jsonl", ids: []string{"id", "tool_use_id"}, args: []string{"input"}},
	},
	claudestream.Format: {
		{file: "../claudestream/testdata/claude.jsonl", ids: []string{"id", "tool_use_id"}, args: []string{"input", "tool_input"}},
		{file: "../claudestream/testdata/verbose.json", document: true, ids: []string{"id", "tool_use_id"}, args: []string{"input", "tool_input"}},
	},
	claudestream.QwenFormat: {
		{file: "../claudestream/testdata/qwen.jsonl", ids: []string{"id", "tool_use_id"}, args: []string{"input"}},
	},
	codex.Format: {
		{file: "../codex/testdata/calls.jsonl", ids: []string{"id", "call_id"}, args: []string{"arguments", "input"}},
		{file: "../codex/testdata/bare.jsonl", ids: []string{"id", "call_id"}, args: []string{"arguments", "action"}},
		{file: "../codex/testdata/document.json", document: true, ids: []string{"id", "call_id"}, args: []string{"arguments", "action"}},
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
	geministream.Format: {
		{file: "../geministream/testdata/session.jsonl", ids: []string{"tool_id"}, args: []string{"parameters"}},
	},
	opencode.Format: {
		{file: "../opencode/testdata/run.jsonl", ids: []string{"id", "callID"}, args: []string{"input"}},
		{file: "../opencode/testdata/export.json", document: true, ids: []string{"id", "callID"}, args: []string{"input"}},
	},
	codexexec.Format: {
		{file: "../codexexec/testdata/thread.jsonl", gaps: 1, ids: []string{"id"}, args: []string{"arguments", "command"}},
	},
	openhands.Format: {
		{file: "../openhands/testdata/events.json", document: true, ids: []string{"id", "cause", "tool_call_id"}, args: []string{"args", "arguments"}},
		{file: "../openhands/testdata/v1.jsonl", ids: []string{"tool_call_id"}, args: []string{"action"}},
	},
	sweagent.Format: {
		{file: "../sweagent/testdata/trajectory.traj", document: true, mute: true, args: []string{"action"}},
	},
	miniswe.Format: {
		{file: "../miniswe/testdata/new.traj.json", document: true, ids: []string{"tool_call_id"}, args: []string{"actions"}},
	},
	cline.Format: {
		{file: "../cline/testdata/native.json", document: true, ids: []string{"id", "tool_use_id"}, args: []string{"input"}},
		{file: "../cline/testdata/xml.json", document: true},
	},
	pi.Format: {
		{file: "../pi/testdata/session.jsonl", ids: []string{"id", "toolCallId", "parentId"}, args: []string{"arguments"}},
	},
	qwen.Format: {
		{file: "../qwen/testdata/qwen.jsonl", ids: []string{"id", "callId"}, args: []string{"args"}},
	},
	qwen.IFlowFormat: {
		{file: "../qwen/testdata/iflow.jsonl", ids: []string{"id", "callId", "tool_use_id"}, args: []string{"input"}},
	},
}
