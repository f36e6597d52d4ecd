package mcp

import (
	"time"

	"nightaudit/trace"
)

// cancelRequested is the Status of a call that its client no longer waited for.
const cancelRequested = "cancel requested"

// running is the Status of a call whose result is only the name of a task.
const running = "running"

// side is who sent a message.
type side uint8

const (
	unknownSide side = iota
	client
	server
)

// from is what is recorded around a message.
type from struct {
	dir  side
	conn string
	ts   time.Time
}

// call is a place in the runs.
type call struct {
	run   *trace.Run
	index int
}

func (c call) get() *trace.Call { return &c.run.Calls[c.index] }

// request is one that waits for its response.
type request struct {
	call   *call // of tools/call, or of the task that tasks/result asks for
	method string
}

// conn is one connection between a client and a server.
type conn struct {
	begun   bool // it was initialized
	client  map[trace.ID]request
	server  map[trace.ID]bool
	answers map[trace.ID]trace.Body // results by id, to know a copy
	tasks   map[trace.ID]call
}

// conn returns a connection by its name.
func (r *reader) conn(name string) *conn {
	c := r.conns[name]
	if c == nil {
		c = &conn{}
		c.reset()
		r.conns[name] = c
	}
	return c
}

func (c *conn) reset() {
	c.client, c.server = map[trace.ID]request{}, map[trace.ID]bool{}
	c.answers, c.tasks = map[trace.ID]trace.Body{}, map[trace.ID]call{}
}

// ofServers are the requests that only a server makes.
var ofServers = map[string]bool{"sampling/createMessage": true, "roots/list": true, "elicitation/create": true}

// sender guesses who sent a request. What both sides may ask is the server's where
// the client waits for a call under its id.
func sender(c *conn, id trace.ID, method string) side {
	if ofServers[method] || method != "tools/call" && c.client[id].call != nil {
		return server
	}
	return client
}

// message reads one JSON-RPC message.
func (r *reader) message(m trace.Value, where from) {
	c := r.conn(where.conn)
	id := m.Get("id").ID()
	method := m.Get("method").Text()
	if method != "" && where.dir == unknownSide {
		where.dir = sender(c, id, method)
	}
	known := true
	switch {
	case method == "" && where.dir != client:
		known = r.response(c, id, m, where.dir)
	case method == "":
		delete(c.server, id)
	case id == "":
		known = r.notification(c, m, method, where.dir)
	case where.dir == server:
		c.server[id] = true
	default:
		known = r.request(c, id, m, method, where)
	}
	if known {
		r.run().Records++
	} else {
		r.run().Ignored++
	}
}

// request reads what a client asks for.
func (r *reader) request(c *conn, id trace.ID, m trace.Value, method string, where from) bool {
	params := m.Get("params")
	req := request{method: method}
	switch method {
	case "initialize":
		if c.begun {
			r.begin(r.place(m))
			c.reset()
		}
		c.begun = true
		r.agent(params.Get("clientInfo"))
	case "tools/call":
		req.call = r.toolCall(c, id, m, where)
		if req.call == nil {
			return false
		}
	case "tasks/result", "tasks/get":
		if t, ok := c.tasks[params.Get("taskId").ID()]; ok {
			req.call = &t
		}
	}
	c.client[id] = req
	return true
}

func (r *reader) agent(info trace.Value) {
	if name := info.Get("name").Text(); name != "" {
		r.run().Agent = name
		if v := info.Get("version").Text(); v != "" {
			r.run().Agent += " " + v
		}
	}
}

// toolCall takes in a call; nil for one that names no tool, or repeats one that
// waits for its response.
func (r *reader) toolCall(c *conn, id trace.ID, m trace.Value, where from) *call {
	run := r.run()
	pos := r.place(m)
	name := m.Path("params", "name").Text()
	if name == "" {
		run.BadLines = append(run.BadLines, trace.BadLine{Line: pos.Line, Reason: "a tools/call without a tool"})
		return nil
	}
	args := m.Path("params", "arguments").Body()
	if waits, ok := c.client[id]; ok && waits.call != nil && waits.method == "tools/call" {
		if old := waits.call.get(); old.Tool == name && old.Args.Sum == args.Sum && old.Args.Length == args.Length {
			return nil
		}
	}
	if run.Started.IsZero() {
		run.Started = where.ts
	}
	run.Calls = append(run.Calls, trace.Call{ID: id, Tool: name, Pos: pos, Args: args, Record: m.Body(), Start: where.ts})
	delete(c.answers, id)
	return &call{run, len(run.Calls) - 1}
}

// response reads an answer. Where nothing says whose it is, it answers whichever
// side has a request of its id open; where both have, its form tells.
func (r *reader) response(c *conn, id trace.ID, m trace.Value, dir side) bool {
	req, ok := c.client[id]
	if dir == unknownSide && c.server[id] && (!ok || !fits(m.Get("result"), req)) {
		delete(c.server, id)
		return true
	}
	if !ok {
		return r.orphan(c, id, m)
	}
	delete(c.client, id)
	c.answers[id] = m.Body()
	if req.call == nil {
		return true
	}
	if req.method == "tasks/get" {
		task(req.call.get(), m.Get("result"), r.place(m))
		return true
	}
	c.end(*req.call, m, r.place(m))
	return true
}

// fits tells whether a result can be that of a request.
func fits(result trace.Value, req request) bool {
	return req.call == nil || isToolResult(result) || !result.Given()
}

func isToolResult(result trace.Value) bool {
	return result.Get("content").Kind() == trace.KindArray || result.Get("isError").Given() ||
		result.Get("structuredContent").Given() || result.Path("task", "taskId").Given()
}

// end reads what came of a call.
func (c *conn) end(of call, m trace.Value, pos trace.Position) {
	to := of.get()
	to.Status = ""
	if failure := m.Get("error"); failure.Given() {
		to.Error, to.IsError, to.ResultPos = failure.Body(), trace.FlagTrue, pos
		return
	}
	result := m.Get("result")
	if id := result.Path("task", "taskId").ID(); id != "" && !result.Get("content").Given() {
		c.tasks[id] = of
		to.Status = running
		task(to, result.Get("task"), pos)
		return
	}
	to.Result, to.Structured, to.ResultPos = result.Body(), result.Get("structuredContent").Body(), pos
	if to.IsError = result.Get("isError").Flag(); to.IsError == trace.FlagAbsent {
		to.IsError = trace.FlagFalse
	}
}

// task reads how far the task of a call is.
func task(to *trace.Call, state trace.Value, pos trace.Position) {
	switch state.Get("status").Text() {
	case "failed":
		to.Status, to.IsError, to.ResultPos = "", trace.FlagTrue, pos
		to.Error = state.Get("statusMessage").Body()
	case "completed":
		to.Status, to.IsError, to.ResultPos = "", trace.FlagFalse, pos
	}
}

// orphan keeps the result of a call that is not in the log.
func (r *reader) orphan(c *conn, id trace.ID, m trace.Value) bool {
	body := m.Body()
	if old, ok := c.answers[id]; ok && old.Sum == body.Sum && old.Length == body.Length {
		return false // the same response once more
	}
	if !isToolResult(m.Get("result")) {
		return false
	}
	c.answers[id] = body
	run, pos := r.run(), r.place(m)
	run.Calls = append(run.Calls, trace.Call{ID: id, Pos: pos, Record: body, ResultOnly: true})
	c.end(call{run, len(run.Calls) - 1}, m, pos)
	run.Gaps = append(run.Gaps, trace.Gap{Pos: pos, Reason: "a result whose call is not in this file"})
	return true
}

// notification reads the ones that say what becomes of a call.
func (r *reader) notification(c *conn, m trace.Value, method string, dir side) bool {
	params := m.Get("params")
	switch method {
	case "notifications/cancelled":
		req, ok := c.client[params.Get("requestId").ID()]
		if !ok || req.call == nil || dir == server {
			return false
		}
		req.call.get().Status = cancelRequested
	case "notifications/tasks/status":
		t, ok := c.tasks[params.Get("taskId").ID()]
		if !ok {
			return false
		}
		if to := t.get(); !to.Result.Present() && !to.Error.Present() {
			task(to, params, r.place(m))
		}
	default:
		return false
	}
	return true
}
