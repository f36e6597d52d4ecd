package mcp

import (
	"bytes"
	"strings"

	"nightaudit/trace"
)

// IsRecord tells whether a record is a message of the protocol, bare or wrapped.
// Other protocols are JSON-RPC too: it wants a method of this one.
func IsRecord(rec trace.Value) bool { return isOwn(rec) || isOwn(wrapped(rec)) }

func isOwn(v trace.Value) bool {
	if !isMessage(v) {
		return false
	}
	method := v.Get("method").Text()
	if method == "initialize" {
		return v.Path("params", "protocolVersion").Kind() == trace.KindString
	}
	area, _, _ := strings.Cut(method, "/")
	switch area {
	case "tools", "resources", "prompts", "notifications", "sampling", "roots", "elicitation", "tasks":
		return true
	}
	return false
}

// IsDocument tells whether a file that is one JSON text is a list of messages.
func IsDocument(doc trace.Value) bool {
	for e := range doc.Elements() {
		return IsRecord(e)
	}
	return IsRecord(doc)
}

// IsText tells whether a line is one of Claude Desktop's logs that holds a message.
func IsText(line []byte) bool {
	_, at, ok := logged(line)
	return ok && line[0] != '{' && line[0] != '[' && bytes.HasPrefix(line[at:], []byte("{")) && bytes.Contains(line[at:], []byte(`"jsonrpc"`))
}

func isMessage(v trace.Value) bool {
	return v.Get("jsonrpc").Text() == "2.0" && (v.Get("method").Given() || v.Get("id").Given())
}

// wrapped returns the message in a record of somebody's own.
func wrapped(v trace.Value) trace.Value {
	return firstGiven(v, "message", "msg", "payload", "data", "rpc", "frame")
}

func firstGiven(v trace.Value, names ...string) trace.Value {
	for _, n := range names {
		if m := v.Get(n); m.Given() {
			return m
		}
	}
	return trace.Value{}
}

// direction reads who sent a wrapped message.
func direction(v trace.Value) side {
	word := strings.ToLower(firstGiven(v, "dir", "direction", "from", "sender", "source").Text())
	switch word {
	case "out", "outgoing", "send", "sent", "stdin", "c2s", "->", "-->", ">", ">>>":
		return client
	case "in", "incoming", "recv", "received", "receive", "stdout", "s2c", "<-", "<--", "<", "<<<":
		return server
	}
	// "client", "client_to_server", "client->server": the first named sends.
	c, s := strings.Index(word, "client"), strings.Index(word, "server")
	switch {
	case c >= 0 && (s < 0 || c < s):
		return client
	case s >= 0:
		return server
	}
	return unknownSide
}

// connection names the connection of a wrapped message, as far as it is recorded.
func connection(v trace.Value) string {
	var parts []string
	for _, name := range []string{"server", "server_name", "connection", "connection_id", "conn", "session", "session_id", "sessionId", "pid"} {
		if id := v.Get(name).ID(); id != "" {
			parts = append(parts, string(id))
		}
	}
	return strings.Join(parts, " ")
}

// levels are the words in brackets that are no server's name.
var levels = map[string]bool{"info": true, "warn": true, "warning": true, "error": true, "debug": true, "trace": true}

// logged finds the message in a line of Claude Desktop's logs:
//
//	2025-07-23T04:39:27.191Z [filesystem] [info] Message from client: {…} { metadata: undefined }
func logged(line []byte) (where from, at int, ok bool) {
	head, _, found := bytes.Cut(line, []byte("Message from "))
	if !found {
		return from{}, 0, false
	}
	at = len(head) + len("Message from ")
	switch {
	case bytes.HasPrefix(line[at:], []byte("client: ")):
		where.dir = client
	case bytes.HasPrefix(line[at:], []byte("server: ")):
		where.dir = server
	default:
		return from{}, 0, false
	}
	stamp, _, _ := strings.Cut(string(head), " ")
	where.ts = trace.ParseTime(stamp)
	for part := range strings.SplitSeq(string(head), "[") {
		name, _, closed := strings.Cut(part, "]")
		if closed && !levels[strings.ToLower(name)] {
			where.conn = name
		}
	}
	return where, at + len("client: "), true
}
