package tools

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// capped keeps the head and the tail of what is written to it: errors stand at
// the end. It takes everything, so that the program never waits for a reader.
type capped struct {
	mu    sync.Mutex
	max   int
	head  []byte // the first max bytes
	tail  []byte // at least the last max bytes of what follows, where there are as many
	total int64
}

func newCapped(limit int) *capped { return &capped{max: limit} }

// Write never fails.
func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	room := min(c.max-len(c.head), len(p))
	c.head, p = append(c.head, p[:room]...), p[room:]
	c.tail = append(c.tail, p[max(0, len(p)-c.max):]...)
	if len(c.tail) > 2*c.max {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-c.max:]...)
	}
	return n, nil
}

// String is at most max bytes long: three quarters of them from the beginning,
// one from the end, and a mark between.
func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= int64(c.max) {
		return clean(c.head, c.max)
	}
	mark := fmt.Sprintf("\n[… of %d bytes the middle is left out …]\n", c.total)
	room := c.max - len(mark)
	head := c.head[:room*3/4]
	for len(head) > 0 && !utf8.RuneStart(c.head[len(head)]) {
		head = head[:len(head)-1]
	}
	all := append(c.head[:len(c.head):len(c.head)], c.tail...)
	tail := all[len(all)-(room-room*3/4):]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	return clean(head, room*3/4) + mark + clean(tail, room-room*3/4)
}

// clean makes text of bytes. A bad byte becomes "?", which keeps the length.
func clean(b []byte, limit int) string {
	s := strings.ToValidUTF8(string(b), "?")
	return s[:min(len(s), limit)]
}
