package claudecode

import "nightaudit/trace"

// spent is what one message of the model cost. Its lines repeat the numbers, and
// the later ones are higher, so the highest of each counts once a message.
type spent struct {
	model                  string
	input, cached, written int64
	output                 int64
}

// spend takes in the usage that a line of a message reports.
func (s *session) spend(msg trace.Value, uuid string) {
	u := msg.Get("usage")
	if u.Kind() != trace.KindObject {
		return
	}
	id := msg.Get("id").Text()
	if id == "" {
		id = "uuid " + uuid
	}
	have, ok := s.usage[id]
	if !ok {
		s.usageOrder = append(s.usageOrder, id)
		have.model = msg.Get("model").Text()
	}
	have.input = max(have.input, count(u, "input_tokens"))
	have.cached = max(have.cached, count(u, "cache_read_input_tokens"))
	have.written = max(have.written, count(u, "cache_creation_input_tokens"))
	have.output = max(have.output, count(u, "output_tokens"))
	s.usage[id] = have
}

// maxTokens is far above what a message can cost; a number beyond it is damage,
// and would overflow the sums.
const maxTokens = 1 << 40

func count(u trace.Value, name string) int64 {
	n, ok := u.Get(name).Int()
	if !ok || n < 0 || n > maxTokens {
		return 0
	}
	return n
}

// addUsage sums the messages by model, in order of first sight.
func (s *session) addUsage() {
	if s.stream != nil && len(s.stream.usage) > 0 {
		s.run.Usage = s.stream.usage
		return
	}
	for _, id := range s.usageOrder {
		u := s.usage[id]
		s.run.AddUsage(trace.Usage{
			Model: u.model, Prompt: u.input + u.written, Cached: u.cached, Completion: u.output,
			Total: u.input + u.written + u.cached + u.output,
		})
	}
}
