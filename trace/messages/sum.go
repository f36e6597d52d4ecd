package messages

import (
	"crypto/sha256"
	"hash"

	"nightaudit/trace"
)

// sum stands for the messages of a conversation up to one of them.
type sum [sha256.Size]byte

// sum adds a message to those before it: who says what and calls what. Programs
// send a message back with other fields than it came with.
func (c *conversation) sum(v trace.Value) sum {
	h := sha256.New()
	if n := len(c.sums); n > 0 {
		h.Write(c.sums[n-1][:])
	}
	write(h, v.Get("role").Text())
	write(h, textOf(v.Get("content")))
	say(h, v)
	for block := range v.Get("content").Elements() {
		say(h, block)
	}
	for call := range v.Get("tool_calls").Elements() {
		say(h, call)
	}
	var out sum
	h.Sum(out[:0])
	return out
}

// say writes what tells a call or a result from others.
func say(h hash.Hash, v trace.Value) {
	for _, name := range []string{"id", "call_id", "tool_call_id", "tool_use_id", "name"} {
		if name == "id" && v.Get("role").Given() {
			continue // of the message: left out when it is sent back
		}
		write(h, string(v.Get(name).ID()))
	}
	write(h, v.Path("function", "name").Text())
	write(h, v.Path("function", "arguments").Text())
	write(h, v.Get("arguments").Text())
}

func write(h hash.Hash, text string) {
	h.Write([]byte(text))
	h.Write([]byte{0})
}
