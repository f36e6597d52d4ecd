package openhands

import "nightaudit/trace"

// event1 reads an event of version 1, and tells whether it carries evidence. Calls
// and results are joined by the id that the model gave.
func (h *history) event1(v trace.Value, pos trace.Position) bool {
	switch v.Get("kind").Text() {
	case "MessageEvent":
		h.say(v.Get("source").Text() == "agent", v.Path("llm_message", "content"), pos)
	case "ActionEvent":
		h.action1(v, pos)
	case "ObservationEvent":
		h.observation1(v, pos)
	case "UserRejectObservation":
		if c, ok := h.end1(v, v.Get("rejection_reason"), pos); ok {
			c.Status = "denied"
		}
	case "AgentErrorEvent":
		if c, ok := h.end1(v, v.Get("error"), pos); ok {
			c.IsError = trace.FlagTrue
		}
	default:
		return false
	}
	return true
}

func (h *history) action1(v trace.Value, pos trace.Position) {
	name, action := v.Get("tool_name").Text(), v.Get("action")
	if name == "finish" {
		h.finished(pos, action.Get("message"), v.Get("summary"))
		return
	}
	if name == "" {
		h.bad(pos, "an ActionEvent without a tool_name")
		return
	}
	args, body := action, action.Body()
	if args.Kind() != trace.KindObject { // it could not be executed
		_, body = first(v.Path("tool_call", "arguments"), v.Path("tool_call", "function", "arguments")).Inner()
	}
	h.add(trace.Call{
		ID: v.Get("tool_call_id").ID(), Tool: name, Pos: pos, Args: body, Record: v.Body(),
		Start: v.Get("timestamp").Time(), Batch: v.Get("llm_response_id").Text(), Delegates: name == "delegate",
	})
}

// end1 joins an event to the call that it ends.
func (h *history) end1(v, result trace.Value, pos trace.Position) (*trace.Call, bool) {
	c, ok := h.pairs.Result(v.Get("tool_call_id").ID(), pos, result, v)
	if ok && c.ResultOnly {
		c.Tool = v.Get("tool_name").Text()
	}
	return c, ok
}

func (h *history) observation1(v trace.Value, pos trace.Position) {
	o := v.Get("observation")
	if v.Get("tool_name").Text() == "finish" {
		return
	}
	c, ok := h.end1(v, first(o.Get("content"), o.Get("output"), o), pos)
	if !ok {
		return
	}
	c.IsError = o.Get("is_error").Flag()
	if e := o.Get("error"); e.Flag() == trace.FlagTrue || e.Text() != "" {
		c.IsError, c.Error = trace.FlagTrue, e.Body()
	}
	code, coded := first(o.Get("exit_code"), o.Path("metadata", "exit_code")).ExitCode()
	switch {
	case o.Get("timeout").Flag() == trace.FlagTrue || coded && code == -1:
		c.Status = "running"
	case coded:
		c.HasExit, c.ExitCode = true, code
	case c.IsError == trace.FlagAbsent && o.Get("error").Kind() == trace.KindNull:
		c.IsError = trace.FlagFalse
	case c.IsError == trace.FlagAbsent:
		c.Status = "unknown"
	}
}
