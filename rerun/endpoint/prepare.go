package endpoint

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

// What a chat template may add to the bytes of the body, in tokens. A template
// frames each message with a few control tokens, and opens a prompt with a
// preamble (date, tool instructions) that does not stand in the body.
const (
	perMessage  = 64
	perTool     = 64
	perRequest  = 256
	perToolList = 1024 // the longest known instructions on how to write a call
)

// Prepared is a request as it will be sent, byte for byte.
type Prepared struct {
	client *Client
	body   []byte
	bound  int64
	sum    [sha256.Size]byte
	names  *toolNames
	ids    map[string]bool // call ids that the conversation has used
	needs  map[string]bool // wire names of tools that cannot do without arguments
}

// Body returns a copy of the bytes that will be sent.
func (p Prepared) Body() []byte { return bytes.Clone(p.body) }

// Bound is the number of tokens that the exchange cannot exceed: prompt and
// answer. It rests on two facts: a byte-level tokenizer makes at most one token
// of a byte, and the server keeps the cap on the answer that the body names.
func (p Prepared) Bound() int64 { return p.bound }

// Prepare turns a request into its bytes. The error says what no server would
// take: an unanswered call, an answer to no call, a schema that is no object.
func (c *Client) Prepare(req Request) (Prepared, error) {
	if err := checkOrder(req.Messages); err != nil {
		return Prepared{}, fmt.Errorf("prepare request: %w", err)
	}
	maxCompletion := req.MaxCompletion
	if maxCompletion == 0 {
		maxCompletion = c.opts.MaxCompletion
	}
	if maxCompletion < 0 {
		return Prepared{}, fmt.Errorf("prepare request: max completion is %d", maxCompletion)
	}
	names, err := newToolNames(req.Tools)
	if err != nil {
		return Prepared{}, fmt.Errorf("prepare request: %w", err)
	}
	p := Prepared{client: c, names: names, ids: map[string]bool{}, needs: map[string]bool{}}
	for _, m := range req.Messages {
		for _, call := range m.ToolCalls {
			p.ids[call.ID] = true
		}
	}
	w := wire{names: names}
	tools, indented, err := w.tools(req.Tools, p.needs)
	if err != nil {
		return Prepared{}, fmt.Errorf("prepare request: %w", err)
	}
	if p.body, err = w.body(c.opts, req.Messages, tools, maxCompletion); err != nil {
		return Prepared{}, fmt.Errorf("prepare request: %w", err)
	}
	p.sum = sha256.Sum256(p.body)
	p.bound = int64(len(p.body)) + int64(indented) + perRequest + perMessage*int64(len(req.Messages)) + int64(maxCompletion)
	if len(req.Tools) > 0 {
		p.bound += perToolList + perTool*int64(len(req.Tools))
	}
	if window := int64(c.opts.ContextWindow); window > 0 {
		p.bound = min(p.bound, window)
	}
	return p, nil
}

// checkOrder holds the rules that every family of servers shares.
func checkOrder(messages []Message) error {
	open := map[string]bool{} // calls that wait for their answer
	for i, m := range messages {
		if m.Role != RoleTool && len(open) > 0 {
			return fmt.Errorf("message %d: %d calls before it have no answer", i+1, len(open))
		}
		switch m.Role {
		case RoleSystem, RoleUser:
		case RoleAssistant:
			for _, call := range m.ToolCalls {
				if call.ID == "" || open[call.ID] {
					return fmt.Errorf("message %d: the id %q of a call is empty or stands twice", i+1, call.ID)
				}
				open[call.ID] = true
			}
		case RoleTool:
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d: answers no call (id %q)", i+1, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
		default:
			return fmt.Errorf("message %d: unknown role %q", i+1, m.Role)
		}
	}
	switch {
	case len(messages) == 0:
		return errors.New("there are no messages")
	case len(open) > 0:
		return fmt.Errorf("%d calls have no answer", len(open))
	}
	if last := messages[len(messages)-1].Role; last != RoleUser && last != RoleTool {
		return fmt.Errorf("the last message is of the %s; it must be of the user or a tool", last)
	}
	return nil
}

// wire writes what go-openai's types cannot say.
type wire struct {
	names *toolNames
	calls int // calls written so far, which makes their ids unique
}

// tools checks the tools. indented is by how many bytes they grow where a server
// shows them to the model indented, as some templates do.
func (w *wire) tools(tools []Tool, needs map[string]bool) (out []openai.Tool, indented int, err error) {
	for _, t := range tools {
		def := &openai.FunctionDefinition{Name: w.names.out(t.Name), Description: t.Description}
		if raw := bytes.TrimSpace(t.Parameters); len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			var schema struct {
				Required []string `json:"required"`
			}
			var buf bytes.Buffer
			if raw[0] != '{' || json.Indent(&buf, raw, "", "        ") != nil || json.Unmarshal(raw, &schema) != nil {
				return nil, 0, fmt.Errorf("the parameters of tool %q are no JSON schema of an object", t.Name)
			}
			def.Parameters = json.RawMessage(raw)
			needs[def.Name] = len(schema.Required) > 0
			indented += buf.Len()
		}
		out = append(out, openai.Tool{Type: openai.ToolTypeFunction, Function: def})
	}
	return out, indented, nil
}

// body writes the request through go-openai's types and mends what they leave
// out: an empty content, empty arguments, temperature 0, absent parameters.
func (w *wire) body(o Options, messages []Message, tools []openai.Tool, maxCompletion int) ([]byte, error) {
	raw, err := json.Marshal(openai.ChatCompletionRequest{Model: o.Model, Tools: tools})
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	var fields map[string]any
	if err := decode(raw, &fields); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	fields["temperature"] = 0
	fields[o.MaxCompletionField] = maxCompletion
	if fields["messages"], err = w.messages(messages); err != nil {
		return nil, err
	}
	list, _ := fields["tools"].([]any)
	for _, t := range list {
		fn, _ := object(t)["function"].(map[string]any)
		if fn["parameters"] == nil {
			delete(fn, "parameters")
		}
	}
	return json.Marshal(fields)
}

func (w *wire) messages(messages []Message) ([]any, error) {
	ids := map[string]string{} // own id → wire id, of the latest turn
	var out []any
	for _, m := range messages {
		msg := openai.ChatCompletionMessage{Role: m.Role, Content: m.Content}
		if m.Role == RoleTool {
			msg.ToolCallID = ids[m.ToolCallID]
			if m.Name != "" {
				msg.Name = w.names.out(m.Name)
			}
		}
		var extra []json.RawMessage
		if m.Role == RoleAssistant {
			for _, call := range m.ToolCalls {
				w.calls++
				id := wireID(fmt.Sprintf("%d %s", w.calls, call.ID))
				ids[call.ID] = id
				msg.ToolCalls = append(msg.ToolCalls, openai.ToolCall{
					ID: id, Type: openai.ToolTypeFunction,
					Function: openai.FunctionCall{Name: w.names.out(call.Name), Arguments: argumentText(call.Arguments)},
				})
				extra = append(extra, call.Extra)
			}
		}
		fields, err := mendMessage(msg, extra)
		if err != nil {
			return nil, err
		}
		out = append(out, fields)
	}
	return out, nil
}

// mendMessage puts in the content that go-openai leaves out where it is empty,
// and hands back what the server wanted kept with its calls.
func mendMessage(msg openai.ChatCompletionMessage, extra []json.RawMessage) (map[string]any, error) {
	raw, err := json.Marshal(msg)
	if err != nil {
		return nil, fmt.Errorf("write a message: %w", err)
	}
	var fields map[string]any
	if err := decode(raw, &fields); err != nil {
		return nil, fmt.Errorf("write a message: %w", err)
	}
	fields["content"] = strings.ToValidUTF8(msg.Content, "\uFFFD")
	calls, _ := fields["tool_calls"].([]any)
	for i, call := range calls {
		if i < len(extra) && json.Valid(extra[i]) {
			object(call)["extra_content"] = extra[i]
		}
	}
	return fields, nil
}

// argumentText is what stands in the history: arguments that could not be read
// would make servers refuse the whole conversation.
func argumentText(args json.RawMessage) string {
	if trimmed := bytes.TrimSpace(args); len(trimmed) > 0 && trimmed[0] == '{' && json.Valid(trimmed) {
		return string(trimmed)
	}
	return "{}"
}

// wireID makes an id that every family takes: nine letters and digits.
func wireID(seed string) string {
	sum := sha256.Sum256([]byte(seed))
	text := new(big.Int).SetBytes(sum[:]).Text(62)
	return (text + "000000000")[:9]
}

// decode reads JSON and keeps numbers as they are written.
func decode(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(v)
}

// object is v as an object; nil, which can be read but not written to, where it is
// something else.
func object(v any) map[string]any {
	m, _ := v.(map[string]any)
	return m
}
