package trace

import (
	"fmt"
	"io"
	"slices"
)

// Attach puts the calls of a sub-agent, read from a file of its own, behind call
// i, which started it: they get its id as their Parent and file as their File.
// What could not be read there is a gap here, and its usage is added. Attach to
// the last call first: the indexes behind i move.
func (r *Run) Attach(i int, child *Run, file string) {
	shift := r.src.Size
	r.src = joined(r.src, child.src)
	calls := make([]Call, 0, len(child.Calls))
	for _, c := range child.Calls {
		c.move(shift)
		if c.Parent == "" {
			c.Parent = r.Calls[i].ID
		}
		if c.File == "" {
			c.File = file
		}
		if c.Batch != "" {
			c.Batch = file + ":" + c.Batch
		}
		calls = append(calls, c)
	}
	r.Calls[i].Delegates = child.Torn
	r.Calls = slices.Insert(r.Calls, i+1, calls...)
	for _, b := range child.BadLines {
		r.Gaps = append(r.Gaps, Gap{Pos: r.Calls[i].Pos, Reason: fmt.Sprintf("line %d of %s cannot be read: %s", b.Line, file, b.Reason)})
	}
	for _, g := range child.Gaps {
		r.Gaps = append(r.Gaps, Gap{Pos: r.Calls[i].Pos, Reason: fmt.Sprintf("in %s: %s", file, g.Reason)})
	}
	for _, u := range child.Usage {
		r.AddUsage(u)
	}
}

// AddUsage adds to what is known to have been spent on a model.
func (r *Run) AddUsage(u Usage) {
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

// move shifts every place of a call.
func (c *Call) move(shift int64) {
	c.Pos.Offset += shift
	if c.ResultPos.Set() {
		c.ResultPos.Offset += shift
	}
	for _, b := range []*Body{&c.Args, &c.Result, &c.Structured, &c.Error, &c.Record, &c.Child} {
		if b.Present() {
			b.Offset += shift
		}
	}
}

// Reopened is a source of the same tree that is opened anew for each read, so that
// nobody has to close it: what is attached to a Run is seldom looked at.
func (s Source) Reopened(name string) (Source, error) {
	child, closer, err := s.OpenSibling(name)
	if err != nil {
		return Source{}, err
	}
	size := child.Size
	if err := closer.Close(); err != nil {
		return Source{}, fmt.Errorf("close %s: %w", child.Name, err)
	}
	return Source{Name: child.Name, Size: size, ReaderAt: reopened{s, name}}, nil
}

type reopened struct {
	of   Source
	name string
}

func (r reopened) ReadAt(buf []byte, off int64) (n int, err error) {
	src, closer, err := r.of.OpenSibling(r.name)
	if err != nil {
		return 0, err
	}
	defer func() {
		if closeErr := closer.Close(); err == nil && closeErr != nil {
			err = fmt.Errorf("close %s: %w", src.Name, closeErr)
		}
	}()
	return io.ReaderAt(src).ReadAt(buf, off)
}
