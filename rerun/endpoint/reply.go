package endpoint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// answer is what a good answer holds beyond go-openai's types.
type answer struct {
	usage *Usage
	calls []ToolCall // with own names and ids, arguments read
	drop  []ToolCall
	notes []string
}

func (a *answer) note(format string, args ...any) {
	a.notes = append(a.notes, fmt.Sprintf(format, args...))
}

// accept reads the body of a 200. It gives the same answer in the shape that
// go-openai reads, or an *Error where it holds none.
func (x *exchange) accept(raw []byte) ([]byte, error) {
	raw = bytes.TrimSpace(bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf")))
	top, err := x.readObject(raw)
	if err != nil {
		return nil, err
	}
	if f, hidden := hiddenFault(top); hidden {
		return nil, x.hidden(f, raw)
	}
	choice := pickChoice(top["choices"])
	message := object(choice["message"])
	text := contentText(message["content"], &x.answer)
	calls, _ := message["tool_calls"].([]any)
	hasOutput := text != "" || len(calls) > 0 || plain(message["reasoning_content"])+plain(message["reasoning"]) != ""
	x.answer.usage = readUsage(top, hasOutput)
	if err := x.badChoice(choice); err != nil {
		return nil, err
	}
	finish := plain(choice["finish_reason"])
	x.readCalls(calls, finish == "length")
	return json.Marshal(map[string]any{
		"id": plain(top["id"]), "object": "chat.completion", "created": integer(top["created"]), "model": plain(top["model"]),
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": finish,
			"message": map[string]any{"role": RoleAssistant, "content": text, "tool_calls": wireCalls(x.answer.calls)},
		}},
	})
}

// readObject tells the things apart that stand in a 200 instead of an answer.
func (x *exchange) readObject(raw []byte) (map[string]any, error) {
	switch {
	case len(raw) == 0:
		return nil, x.unusable(ClassRetry, "empty_body", BillingUnknown, "the answer is empty")
	case isHTML(raw):
		return nil, x.unusable(ClassRetry, "not_json", BillingNot, htmlMessage)
	case bytes.HasPrefix(raw, []byte("data:")) || bytes.HasPrefix(raw, []byte("event:")) || raw[0] == ':':
		return nil, x.unusable(ClassRetry, "not_json", BillingUnknown, "the endpoint answered with an event stream although none was asked for")
	}
	var v any
	if !json.Valid(raw) || decode(raw, &v) != nil {
		return nil, x.unusable(ClassRetry, "truncated_body", BillingUnknown, fmt.Sprintf("the answer is no complete JSON (%d bytes)", len(raw)))
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	top, ok := v.(map[string]any)
	if !ok {
		return nil, x.unusable(ClassRetry, "not_json", BillingUnknown, "the answer is no JSON object")
	}
	return top, nil
}

// hidden is an error in the body of a 200. Where its code says that the request
// was refused it cost nothing; else the model may have run.
func (x *exchange) hidden(f fault, raw []byte) *Error {
	status, billed := http.StatusBadGateway, BillingUnknown
	if f.code >= 400 && f.code <= 599 {
		status = f.code
		if f.code < 500 {
			billed = billingOf(f.code, f.text())
		}
	}
	r := classify(status, f, x.header, x.client.opts.Now())
	r.kind = "hidden_error"
	e := x.client.fail(r, status, billed, f.shown(), nil)
	x.addUsage(e, raw)
	return e
}

// badChoice finds out that there is no answer among the choices, or that it ended
// in an error.
func (x *exchange) badChoice(choice map[string]any) error {
	finish := plain(choice["finish_reason"])
	var e *Error
	switch {
	case choice == nil:
		e = x.unusable(ClassRepair, "empty_answer", BillingUnknown, "the answer holds no choice")
	case choice["error"] != nil || finish == "error" || finish == "network_error":
		reason := faultOf(map[string]any{"error": choice["error"]}).shown()
		e = x.unusable(ClassRetry, "hidden_error", BillingUnknown, strings.TrimSuffix("the answer ended in an error: "+reason, ": "))
	case finish == "model_context_window_exceeded":
		e = x.unusable(ClassShrink, "overflow", BillingUnknown, "the prompt is longer than the model's context window")
	default:
		return nil
	}
	if u := x.answer.usage; u != nil {
		e.Usage, e.Billed = u, BillingReported
	}
	return e
}

// pickChoice takes the first choice that holds something, in the order of their
// index; the first one where none does; nil where there is none.
func pickChoice(v any) map[string]any {
	list, _ := v.([]any)
	var choices []map[string]any
	for _, c := range list {
		if c, ok := c.(map[string]any); ok {
			choices = append(choices, c)
		}
	}
	if len(choices) == 0 {
		return nil
	}
	slices.SortStableFunc(choices, func(a, b map[string]any) int {
		return int(integer(a["index"]) - integer(b["index"]))
	})
	for _, c := range choices {
		m := object(c["message"])
		calls, _ := m["tool_calls"].([]any)
		if len(calls) > 0 || contentText(m["content"], &answer{}) != "" {
			return c
		}
	}
	return choices[0]
}

// contentText is the text of a content: a string, or a list of parts of which the
// thinking ones are left out, as is a block of thoughts before the text.
func contentText(v any, a *answer) string {
	text := ""
	switch v := v.(type) {
	case string:
		text = v
	case []any:
		for _, part := range v {
			switch p := part.(type) {
			case string:
				text += p
			case map[string]any:
				if kind := plain(p["type"]); kind == "" || kind == "text" || kind == "output_text" {
					text += plain(p["text"])
				}
			}
		}
		a.note("the content came in parts")
	}
	trimmed := strings.TrimLeft(text, " \r\n\t")
	if !strings.HasPrefix(trimmed, "<think>") {
		return text
	}
	a.note("thoughts stood in the content")
	if _, after, closed := strings.Cut(trimmed, "</think>"); closed {
		return strings.TrimLeft(after, " \r\n\t")
	}
	return "" // the answer was cut off while the model was still thinking
}

// readCalls takes the calls over. cut: the answer ended at its limit, so that the
// calls may be other than what the model meant, and none of them may run.
func (x *exchange) readCalls(raw []any, cut bool) {
	a, used := &x.answer, maps.Clone(x.prepared.ids)
	for i, v := range raw {
		fields := object(v)
		fn := object(fields["function"])
		name := plain(fn["name"])
		call := ToolCall{ID: plain(fields["id"]), Name: x.prepared.names.back(name)}
		if call.ID == "" || len(call.ID) > 64 || used[call.ID] {
			call.ID = x.mintID(i, used)
			a.note("call %d had no id of its own", i+1)
		}
		used[call.ID] = true
		call.Arguments, call.BadArguments = readArguments(fn["arguments"], x.prepared.needs[name], a)
		if extra, ok := fields["extra_content"]; ok && extra != nil {
			call.Extra, _ = json.Marshal(extra)
		}
		switch {
		case name == "":
			a.note("call %d names no function", i+1)
			a.drop = append(a.drop, call)
		case cut:
			a.drop = append(a.drop, call)
		default:
			a.calls = append(a.calls, call)
		}
	}
	if cut && len(a.drop) > 0 {
		a.note("the answer was cut off at its limit: its calls must not run")
	}
}

func (x *exchange) mintID(i int, used map[string]bool) string {
	for n := i; ; n += 1000 {
		if id := wireID(fmt.Sprintf("%x %d", x.prepared.sum, n)); !used[id] {
			return id
		}
	}
}

// readArguments reads the arguments of a call: a text of JSON, an object, either
// encoded twice or in a code fence. What else it is comes back as it is: to guess
// would be to run something that the model did not ask for.
func readArguments(v any, needed bool, a *answer) (good json.RawMessage, bad string) {
	if v == nil {
		v = ""
	}
	text, isText := v.(string)
	if !isText {
		raw, err := json.Marshal(v)
		if err != nil || raw[0] != '{' {
			return nil, string(raw)
		}
		a.note("arguments came as an object")
		return raw, ""
	}
	if strings.TrimSpace(text) == "" {
		if needed {
			return nil, "(none)"
		}
		return json.RawMessage("{}"), ""
	}
	inner := text
	for range 3 {
		inner = strings.TrimSpace(inner)
		if strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)) {
			return json.RawMessage(inner), ""
		}
		var decoded string
		if unfenced, ok := unfence(inner); ok {
			inner = unfenced
			a.note("arguments stood in a code fence")
		} else if json.Unmarshal([]byte(inner), &decoded) == nil && decoded != inner {
			inner = decoded
			a.note("arguments were encoded twice")
		} else {
			break
		}
	}
	return nil, text
}

func unfence(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, "```")
	if !ok {
		return "", false
	}
	inner, ok = strings.CutSuffix(inner, "```")
	return strings.TrimPrefix(inner, "json"), ok
}

func wireCalls(calls []ToolCall) []any {
	out := []any{}
	for _, c := range calls {
		out = append(out, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": string(c.Arguments)}})
	}
	return out
}

// integer reads a number of any form; 0 for what is none.
func integer(v any) int64 {
	f, err := json.Number(plain(v)).Float64()
	if err != nil || math.IsNaN(f) || math.Abs(f) > 1<<40 {
		return 0
	}
	return int64(f)
}

// reply joins what go-openai read with what it has no place for.
func (x *exchange) reply(resp openai.ChatCompletionResponse) Reply {
	r := Reply{Model: resp.Model, Usage: x.answer.usage, ToolCalls: x.answer.calls, Dropped: x.answer.drop, Notes: x.answer.notes}
	if len(resp.Choices) > 0 {
		r.Text = resp.Choices[0].Message.Content
		r.FinishReason = string(resp.Choices[0].FinishReason)
	}
	return r
}
