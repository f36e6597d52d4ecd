package trace

import "slices"

// maxTokens is far above what a message can cost; a number beyond it is damage,
// and would overflow the sums.
const maxTokens = 1 << 40

// Tokens reads a count of tokens, the first of these members that holds one.
func (v Value) Tokens(names ...string) int64 {
	for _, name := range names {
		if n, ok := v.Get(name).Int(); ok && n >= 0 && n <= maxTokens {
			return n
		}
	}
	return 0
}

// Spend adds to what is known to have been spent on a model. What cost nothing
// says nothing.
func (r *Run) Spend(u Usage) {
	if u.Prompt+u.Cached+u.Completion+u.Total == 0 {
		return
	}
	i := slices.IndexFunc(r.Usage, func(have Usage) bool { return have.Model == u.Model })
	if i < 0 {
		r.Usage = append(r.Usage, u)
		return
	}
	have := &r.Usage[i]
	have.Prompt += u.Prompt
	have.Cached += u.Cached
	have.Completion += u.Completion
	have.Total += u.Total
}
