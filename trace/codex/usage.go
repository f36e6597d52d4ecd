package codex

import "nightaudit/trace"

// spent sums what the run reports. Newer versions write what each answer cost;
// before, only running totals are there, whose growth counts. Totals go on over
// resumes and forks, and are repeated.
type spent struct {
	records, totals []trace.Usage // by model, in order of first sight
	last            tokens        // the last total
	counted         bool
}

// tokens is one report. Input holds the cached tokens, output the reasoning.
type tokens struct{ input, cached, output, total int64 }

// maxTokens is far above what an answer can cost; a number beyond it is damage,
// and would overflow the sums.
const maxTokens = 1 << 40

func tokensOf(v trace.Value) tokens {
	n := func(name string) int64 {
		i, ok := v.Get(name).Int()
		if !ok || i < 0 || i > maxTokens {
			return 0
		}
		return i
	}
	t := tokens{n("input_tokens"), n("cached_input_tokens"), n("output_tokens"), n("total_tokens")}
	t.cached = min(t.cached, t.input)
	return t
}

func (s *session) spendRecord(v trace.Value) {
	if s.past == 0 && v.Kind() == trace.KindObject {
		s.spent.records = tokensOf(v).addTo(s.spent.records, s.model)
	}
}

// spendTotal counts by how much the total has grown. A total that has shrunk began
// anew; the first one of a fork holds what its parent spent.
func (s *session) spendTotal(info trace.Value) {
	if info.Kind() != trace.KindObject || s.past > 0 {
		return
	}
	now, was := tokensOf(info.Get("total_token_usage")), s.spent.last
	switch {
	case !s.spent.counted && s.forked:
		now, s.spent.last = tokensOf(info.Get("last_token_usage")), now
	case now.total < was.total || now.input < was.input || now.output < was.output || now.cached < was.cached:
		s.spent.last = now
	default:
		s.spent.last = now
		now = tokens{now.input - was.input, now.cached - was.cached, now.output - was.output, now.total - was.total}
	}
	s.spent.counted = true
	s.spent.totals = now.addTo(s.spent.totals, s.model)
}

// addTo adds to the sum of a model.
func (t tokens) addTo(sums []trace.Usage, model string) []trace.Usage {
	u := trace.Usage{Model: model, Prompt: t.input - t.cached, Cached: t.cached, Completion: t.output, Total: t.total}
	for i := range sums {
		if sum := &sums[i]; sum.Model == model {
			sum.Prompt += u.Prompt
			sum.Cached += u.Cached
			sum.Completion += u.Completion
			sum.Total += u.Total
			return sums
		}
	}
	return append(sums, u)
}

func (s *session) addUsage() {
	s.run.Usage = s.spent.totals
	if len(s.spent.records) > 0 {
		s.run.Usage = s.spent.records
	}
}
