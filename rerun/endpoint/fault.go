package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// fault is an error body, whatever its shape was.
type fault struct {
	message string
	raw     string // what the upstream of a router said
	kind    string // type and code, as texts
	code    int    // a number in code or status, 0 where there is none
	delay   string // the wait that stands in the details
	quotas  []string
	header  http.Header // headers that a router repeats in the body
	html    bool
}

// text is everything that can be searched for words, in lower case.
func (f fault) text() string {
	return strings.ToLower(strings.Join(append([]string{f.message, f.raw, f.kind}, f.quotas...), "\n"))
}

// shown is what people should read.
func (f fault) shown() string {
	if f.raw != "" && !strings.Contains(f.message, f.raw) {
		return f.message + ": " + f.raw
	}
	return f.message
}

// parseFault reads the body of an error. What is no JSON is the message itself,
// but a page of HTML is never shown.
func parseFault(body []byte) fault {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")))
	if isHTML(body) {
		return fault{html: true, message: htmlMessage}
	}
	var v any
	if decode(body, &v) != nil {
		return fault{message: string(body)}
	}
	return faultOf(v)
}

const htmlMessage = "the endpoint answered HTML, not JSON: is base_url right?"

func isHTML(body []byte) bool { return len(body) > 0 && body[0] == '<' }

// faultOf unwraps the shapes that are known: {"error": {…}} or a text, the same
// in a list, fields at the top, a list of errors, a list of details.
func faultOf(v any) fault {
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return fault{message: plain(v)}
	}
	if list, ok := top["errors"].([]any); ok && len(list) > 0 && top["error"] == nil {
		return faultOf(list[0])
	}
	switch e := top["error"].(type) {
	case nil:
		return faultFields(top)
	case map[string]any:
		return faultFields(e)
	default:
		f := faultFields(top)
		f.message = plain(e)
		return f
	}
}

func faultFields(e map[string]any) fault {
	f := fault{kind: plain(e["type"]) + " " + plain(e["code"]) + " " + plain(e["status"])}
	for _, name := range []string{"message", "detail", "title", "msg", "error"} {
		if f.message == "" {
			f.message = plain(e[name])
		}
	}
	for _, name := range []string{"code", "status"} {
		if n, err := strconv.Atoi(plain(e[name])); err == nil && f.code == 0 {
			f.code = n
		}
	}
	meta := object(e["metadata"])
	f.raw = plain(meta["raw"])
	f.header = http.Header{}
	for name, value := range object(meta["headers"]) {
		f.header.Set(name, plain(value))
	}
	details, _ := e["details"].([]any)
	for _, d := range details {
		if delay := plain(object(d)["retryDelay"]); delay != "" {
			f.delay = delay
		}
		violations, _ := object(d)["violations"].([]any)
		for _, violation := range violations {
			f.quotas = append(f.quotas, plain(object(violation)["quotaId"]))
		}
	}
	return f
}

// plain shows a value as a text: a list of details by what each says, and where.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, plain(e))
		}
		return strings.Join(parts, "; ")
	case map[string]any:
		if msg := plain(v["msg"]); msg != "" {
			loc, _ := v["loc"].([]any)
			var path []string
			for _, p := range loc {
				path = append(path, plain(p))
			}
			return strings.TrimPrefix(strings.Join(path, ".")+": "+msg, ": ")
		}
		if msg, ok := v["message"]; ok {
			return plain(msg)
		}
		raw, _ := json.Marshal(v)
		return string(raw)
	default:
		return fmt.Sprint(v)
	}
}

// hiddenFault finds an error in the body of a 200: there are no choices, and
// something says why.
func hiddenFault(answer map[string]any) (fault, bool) {
	if list, ok := answer["choices"].([]any); ok && len(list) > 0 {
		return fault{}, false
	}
	isError := func(name string) bool {
		switch v := answer[name].(type) {
		case nil:
			return false
		case []any:
			return len(v) > 0
		case string:
			return v != ""
		case bool:
			return v
		default:
			return true
		}
	}
	names := []string{"error", "errors", "detail", "message", "title"}
	if !slices.ContainsFunc(names, isError) {
		return fault{}, false
	}
	return faultOf(answer), true
}
