package claudecode

import (
	"strings"

	"nightaudit/trace"
)

// Stream reads a session as `claude -p --output-format stream-json` prints it, and
// programs that have taken over its form: the messages are those of a session's
// file, with other names around them, in one chain without rewinds. Beside them it
// has an init record, notifications, and the result of the run at its end.
//
//	st := claudecode.NewStream(run, mute)
//	for sc.Next() {
//		st.Take(sc.Record())
//	}
//	err := st.Finish()
type Stream struct {
	session *session
	mute    func(tool string) bool

	usage  []trace.Usage // of the whole run, as the result reports it
	ended  trace.Position
	said   string // what the result repeats of the summary
	reason string
	other  bool // something beside results was printed
}

// NewStream starts to fill run. mute names the tools whose results are not flagged
// when they fail, so that a result without a flag tells nothing of them.
func NewStream(run *trace.Run, mute func(tool string) bool) *Stream {
	st := &Stream{session: newSession(run), mute: mute}
	st.session.stream = st
	run.NoEndRecords = false
	return st
}

// Take takes in one record.
func (st *Stream) Take(rec trace.Record) {
	st.session.take(rec)
	switch st.session.rec.kind {
	case "assistant", "user":
		st.other = true
		st.ended, st.reason, st.said = trace.Position{}, "", "" // one more turn
	}
}

// Finish draws what only the whole stream tells. Where nothing but the result was
// printed, the calls are a gap.
func (st *Stream) Finish() error {
	run := st.session.run
	if err := st.session.finish(); err != nil {
		return err
	}
	run.Ended, run.EndReason = st.ended.Set(), st.reason
	if run.Summary == "" && st.said != "" {
		run.Summary, run.SummaryPos = st.said, st.ended
	}
	if st.ended.Set() && !st.other {
		run.Gaps = append(run.Gaps, trace.Gap{Pos: st.ended, Reason: "only the result of the run was written, none of its calls"})
	}
	return nil
}

// streamNames are the names that a stream has for members of a session's records.
var streamNames = map[string]string{"session_id": "sessionId", "tool_use_result": "toolUseResult"}

// rename makes the record of a stream one of a session.
func (r *record) rename() {
	for i, n := range r.names {
		if name, ok := streamNames[n]; ok {
			r.names[i] = name
		}
	}
	r.side = r.Get("parent_tool_use_id").Given()
}

// place sets a message behind the one before it.
func (st *Stream) place(s *session, rec *record, l *link) {
	if rec.kind == "assistant" || rec.kind == "user" {
		l.parent = s.leaf
	}
}

// mutes tells whether a result without a flag tells nothing.
func (st *Stream) mutes(tool string) bool { return st != nil && st.mute(tool) }

// system reads what the program prints of itself and of background tasks.
func (st *Stream) system(s *session, rec *record) bool {
	if st == nil {
		return false
	}
	switch rec.Get("subtype").Text() {
	case "init":
		st.init(s.run, rec)
	case "task_notification":
		i, ok := s.pending(rec.Get("tool_use_id").ID(), rec.Get("task_id").Text())
		if !ok {
			return true
		}
		summary := rec.Get("summary")
		code, has := lastExitCode(summary.Text())
		s.settle(i, ending{status: rec.Get("status").Text(), code: code, hasCode: has, pos: rec.Pos, body: summary.Body()})
	default:
		return false
	}
	return true
}

// init reads the head of a stream. Each turn of a long stream begins with one.
func (st *Stream) init(run *trace.Run, rec *record) {
	st.other = true
	run.ID = rec.Get("sessionId").Text()
	if run.Cwd == "" {
		run.Cwd = rec.Get("cwd").Text()
	}
	if run.Model == "" {
		run.Model = rec.Get("model").Text()
	}
	for _, program := range []string{"claude_code", "qwen_code"} {
		if v := rec.Get(program + "_version").Text(); v != "" {
			run.Agent = strings.ReplaceAll(program, "_", "-") + " " + v
		}
	}
}

// result reads the end of a turn: how it ended, what was said, what it cost, and
// which calls were refused.
func (st *Stream) result(s *session, rec *record) bool {
	if st == nil {
		return false
	}
	if id := rec.Get("sessionId").Text(); id != "" {
		s.run.ID = id
	}
	st.ended, st.reason, st.said = rec.Pos, rec.Get("subtype").Text(), ""
	switch {
	case !rec.is("is_error"):
		st.said = strings.TrimSpace(rec.Get("result").Text())
	case st.reason == "success" || st.reason == "":
		st.reason = "error" // of the model's server, for instance
	}
	for denial := range rec.Get("permission_denials").Elements() {
		st.denied(s, rec, denial)
	}
	st.spend(rec)
	return true
}

// denied notes a call that was refused. Its own result has said so in words that
// hooks and people choose; where the call is not recorded, this is its record.
func (st *Stream) denied(s *session, rec *record, denial trace.Value) {
	id := denial.Get("tool_use_id").ID()
	under := s.calls[id]
	if len(under) == 0 {
		tool := denial.Get("tool_name").Text()
		if tool == "" {
			return
		}
		s.run.Calls = append(s.run.Calls, trace.Call{
			ID: id, Tool: tool, Pos: rec.Pos, ResultPos: rec.Pos, Args: denial.Get("tool_input").Body(), Record: denial.Body(), Status: denied,
		})
		if id != "" {
			s.calls[id] = append(s.calls[id], len(s.run.Calls)-1)
		}
		return
	}
	c := &s.run.Calls[under[len(under)-1]]
	if c.Status == "" && (c.IsError == trace.FlagTrue && !c.HasExit || !c.ResultPos.Set()) {
		c.Status, c.ResultPos = denied, rec.Pos
	}
}

// spend reads what the run has cost so far: by model where that is reported.
func (st *Stream) spend(rec *record) {
	var usage []trace.Usage
	for model, u := range rec.Get("modelUsage").Members() {
		read, written := count(u, "cacheReadInputTokens"), count(u, "cacheCreationInputTokens")
		in, out := count(u, "inputTokens"), count(u, "outputTokens")
		usage = append(usage, trace.Usage{Model: model.Text(), Prompt: in + written, Cached: read, Completion: out, Total: in + written + read + out})
	}
	if u := rec.Get("usage"); usage == nil && u.Kind() == trace.KindObject && !st.other {
		read, written := count(u, "cache_read_input_tokens"), count(u, "cache_creation_input_tokens")
		in, out := count(u, "input_tokens"), count(u, "output_tokens")
		usage = []trace.Usage{{Prompt: in + written, Cached: read, Completion: out, Total: in + written + read + out}}
	}
	if usage != nil {
		st.usage = usage
	}
}
