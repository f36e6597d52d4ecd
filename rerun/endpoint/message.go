package endpoint

import "encoding/json"

// The roles of a Message.
const (
	RoleSystem    = "system"
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one turn of the conversation.
type Message struct {
	Role    string
	Content string
	// ToolCalls are the calls that an assistant message asked for.
	ToolCalls []ToolCall
	// ToolCallID says which call a tool message answers.
	ToolCallID string
	// Name is the tool's name on a tool message; it may be left out.
	Name string
}

// Tool is one tool that the model may call.
type Tool struct {
	// Name may hold any characters; the wire name is made from it.
	Name        string
	Description string
	// Parameters is a JSON schema of an object; empty or null: none is sent.
	Parameters json.RawMessage
}

// ToolCall is one call that the model asks for. It has not run.
type ToolCall struct {
	// ID is unique within the conversation; it is made where the server sends none.
	ID   string
	Name string
	// Arguments is a JSON object, or nil where the model wrote none that can be read.
	Arguments json.RawMessage
	// BadArguments is what the model wrote instead, "" where Arguments are good. A
	// call with Arguments nil must not be run; the model should be told.
	BadArguments string
	// Extra is what the server wants back with this call (extra_content), verbatim.
	Extra json.RawMessage
}

// Request is what the model is asked.
type Request struct {
	Messages []Message
	Tools    []Tool
	// MaxCompletion is how many tokens the answer may have. 0: as the Options say.
	MaxCompletion int
}

// Reply is an answer that can be used.
type Reply struct {
	Text string
	// ToolCalls are complete and in the order in which the model asked for them.
	// Whether there are any decides what to do, not FinishReason.
	ToolCalls []ToolCall
	// Dropped are calls that must not run: the answer was cut off, or they name no
	// function.
	Dropped []ToolCall
	// FinishReason is as sent; a number or null became a text.
	FinishReason string
	// Model is as returned: a router may have taken another than was asked for.
	Model string
	// Usage is nil where the server reported none that can be believed.
	Usage *Usage
	// Notes say in short what was irregular about the answer.
	Notes []string
}

// Usage is what the server says the exchange cost, in tokens.
type Usage struct {
	Prompt, Completion int64
	// Total is at least Prompt + Completion, and what the allowance must bear.
	Total int64
	// Cached is part of Prompt, Reasoning is part of Completion.
	Cached, Reasoning int64
}
