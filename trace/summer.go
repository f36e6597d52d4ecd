package trace

import "hash"

// summer hashes what is read, in the order of the source. Blocks that are worked on
// beside each other are hashed in turn.
type summer struct {
	hash hash.Hash
	last chan struct{} // closed when everything before is hashed; nil: nothing waits
}

// turn gives the block the next turn and returns what takes it: it waits for the
// blocks before, and hashes this one.
func (s *summer) turn(b *block) func() {
	before := s.last
	b.summed = make(chan struct{})
	s.last = b.summed
	return func() {
		if before != nil {
			<-before
		}
		s.hash.Write(b.fresh())
		close(b.summed)
	}
}

// write hashes at once, behind everything that waits.
func (s *summer) write(p []byte) {
	s.rest()
	s.hash.Write(p)
}

// rest waits until everything is hashed.
func (s *summer) rest() {
	if s.last != nil {
		<-s.last
		s.last = nil
	}
}

// wait waits until a block is hashed, so that its buffer may be used again.
func (s *summer) wait(b *block) {
	if b.summed != nil {
		<-b.summed
	}
}
