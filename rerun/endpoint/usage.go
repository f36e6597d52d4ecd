package endpoint

import (
	"encoding/json"
	"math/big"
	"strings"
)

// maxTokens is more than any exchange can cost; a larger number is no count.
const maxTokens = 1 << 40

// readUsage reads the usage object of a raw answer. Nil: none is reported, or it
// cannot be right (no prompt tokens, or an answer that cost nothing). hasOutput
// tells whether the answer holds anything.
func readUsage(answer map[string]any, hasOutput bool) *Usage {
	raw := object(answer["usage"])
	if len(raw) == 0 {
		raw = object(object(answer["x_groq"])["usage"])
	}
	if len(raw) == 0 {
		return nil
	}
	var u Usage
	ok := true
	field := func(from map[string]any, name string) int64 {
		n, good := count(from[name])
		ok = ok && good
		return n
	}
	u.Prompt = field(raw, "prompt_tokens")
	u.Completion = field(raw, "completion_tokens")
	u.Total = field(raw, "total_tokens")
	if !ok {
		return nil
	}
	if raw["prompt_tokens"] == nil && raw["completion_tokens"] == nil {
		if u.Total == 0 {
			return nil
		}
	} else if u.Prompt == 0 || (hasOutput && u.Completion == 0) {
		return nil
	}
	u.Total = max(u.Total, u.Prompt+u.Completion)
	u.Cached, _ = count(object(raw["prompt_tokens_details"])["cached_tokens"])
	u.Reasoning, _ = count(object(raw["completion_tokens_details"])["reasoning_tokens"])
	return &u
}

// count reads a number of tokens: an integer, a float (rounded up) or either as
// a text. Absent is 0; what is no such number is not ok.
func count(v any) (n int64, ok bool) {
	var text string
	switch v := v.(type) {
	case nil:
		return 0, true
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
	default:
		return 0, false
	}
	if text == "" || len(text) > 24 || strings.ContainsAny(text, "/xXpP_") {
		return 0, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 4 {
		return 0, false // 1e99999 would be written out in full
	}
	f, good := new(big.Rat).SetString(text)
	if !good || f.Sign() < 0 || f.Cmp(big.NewRat(maxTokens, 1)) > 0 {
		return 0, false
	}
	q, rest := new(big.Int).QuoRem(f.Num(), f.Denom(), new(big.Int))
	n = q.Int64()
	if rest.Sign() > 0 {
		n++
	}
	return n, true
}
