package trace

// maxUnder is how many calls under one id are looked at; only a broken numbering
// gives more.
const maxUnder = 256

// Pairs joins results to the calls of a Run by their ids, for formats that record
// the two apart. A result ends the latest call under its id that is still open,
// since weak generators number calls from the start again and again. What finds
// none is kept as a result alone; that its call is not in the file is a gap.
type Pairs struct {
	run    *Run
	under  map[ID][]int // calls by id, oldest first
	orphan Position     // the first result without a call
}

// NewPairs joins the calls of run.
func NewPairs(run *Run) *Pairs { return &Pairs{run: run, under: map[ID][]int{}} }

// Add appends a call and returns its index.
func (p *Pairs) Add(c Call) int {
	i := len(p.run.Calls)
	p.run.Calls = append(p.run.Calls, c)
	if c.ID != "" {
		p.under[c.ID] = append(p.under[c.ID], i)
	}
	return i
}

// AddBatch appends the calls of one message. Where they are several they share the
// batch of that name.
func (p *Pairs) AddBatch(name string, calls []Call) {
	for _, c := range calls {
		if len(calls) > 1 {
			c.Batch = name
		}
		p.Add(c)
	}
}

// Open returns the latest call under an id that has no result yet.
func (p *Pairs) Open(id ID) (int, bool) {
	under := p.latest(id)
	for k := len(under) - 1; k >= 0; k-- {
		if !p.run.Calls[under[k]].ResultPos.Set() {
			return under[k], true
		}
	}
	return 0, false
}

// Known returns the calls under an id, oldest first, at most the latest of them.
func (p *Pairs) Known(id ID) []int { return p.latest(id) }

func (p *Pairs) latest(id ID) []int {
	under := p.under[id]
	return under[max(0, len(under)-maxUnder):]
}

// Repeats tells whether a call is already there: recorded once more, with the same
// arguments under the same id.
func (p *Pairs) Repeats(c *Call) bool {
	for _, i := range p.latest(c.ID) {
		if old := &p.run.Calls[i]; old.Tool == c.Tool && old.Args.same(c.Args) {
			return true
		}
	}
	return false
}

// Result ends a call with a result that is recorded at pos, and returns the call
// for the rest to be read into it. The result of a call that is not there, or that
// has ended already, becomes a call of its own (ResultOnly); false means that it
// only repeats what is known. The call is good until the next one is added.
func (p *Pairs) Result(id ID, pos Position, result, record Value) (*Call, bool) {
	if i, ok := p.Open(id); ok && id != "" {
		c := &p.run.Calls[i]
		c.Result, c.ResultPos = result.Body(), pos
		return c, true
	}
	body := result.Body()
	known := p.latest(id)
	for _, i := range known {
		if id != "" && p.run.Calls[i].Result.same(body) {
			return nil, false
		}
	}
	if len(known) == 0 && !p.orphan.Set() {
		p.orphan = pos
	}
	i := p.Add(Call{ID: id, Pos: pos, ResultPos: pos, Result: body, Record: record.Body(), ResultOnly: true})
	return &p.run.Calls[i], true
}

// Finish notes what is missing.
func (p *Pairs) Finish() {
	if p.orphan.Set() {
		p.run.Gaps = append(p.run.Gaps, Gap{Pos: p.orphan, Reason: "a result whose call is not in this file"})
	}
}

// same tells whether two bodies hold the same bytes.
func (b Body) same(other Body) bool {
	return b.Length == other.Length && b.Sum == other.Sum && b.Inner == other.Inner
}
