package codex

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"nightaudit/trace"
	"nightaudit/trace/unpack"
)

// A fork does not repeat the records that it goes on from. The head of its file
// names another one and the record where that ends for the fork:
//
//	"history_base": {"thread_id": "…", "end_ordinal_exclusive": 77, "end_byte_offset": 152696}
//
// That file may be a fork itself.

// maxForks is how long a line of forks may be, maxHistory how much text they may
// hold together, in bytes.
const (
	maxForks   = 32
	maxHistory = 256 << 20
)

// history is what a fork goes on from, the oldest file first.
type history struct {
	text  []byte
	parts []int  // how long the part of each file is
	line  int    // of the record that names it; 0 where there is none
	gap   string // why it is not all there
}

// base is what a file says of the one before it.
type base struct {
	thread string
	end    int64 // the ordinal of the first record that is not part of it
}

// historyOf reads what a fork goes on from. What cannot be found is a gap.
func historyOf(ctx context.Context, src trace.Source) (history, error) {
	b, line, err := baseOf(ctx, src)
	if err != nil || b.thread == "" {
		return history{}, err
	}
	h := history{line: line}
	seen := map[string]bool{}
	var texts [][]byte
	for size := 0; b.thread != ""; {
		if seen[b.thread] || len(seen) == maxForks {
			h.gap = fmt.Sprintf("the history of this fork leads to %s and no further", b.thread)
			break
		}
		seen[b.thread] = true
		text, next, gap, err := readBase(ctx, src, b, maxHistory-size)
		if err != nil {
			return history{}, err
		}
		if gap != "" {
			h.gap = gap
		}
		if text == nil {
			break
		}
		size += len(text)
		texts, b = append(texts, text), next
	}
	for _, text := range slices.Backward(texts) {
		h.text = append(h.text, text...)
		h.parts = append(h.parts, len(text))
	}
	return h, nil
}

// baseOf reads which file a file goes on from; none where the thread is "".
func baseOf(ctx context.Context, src trace.Source) (base, int, error) {
	sc := trace.NewScanner(ctx, src)
	if !sc.Next() {
		return base{}, 0, sc.Finish(trace.NewRun(src, Format))
	}
	rec := sc.Record()
	if rec.Get("type").Text() != "session_meta" {
		return base{}, 0, nil
	}
	v := rec.Path("payload", "history_base")
	end, ok := v.Get("end_ordinal_exclusive").Int()
	if !ok {
		end = -1
	}
	return base{v.Get("thread_id").Text(), end}, rec.Pos.Line, nil
}

// readBase reads the part of another file that a fork goes on from, and what that
// file goes on from itself. A nil text means that there is none to go on with.
func readBase(ctx context.Context, src trace.Source, b base, room int) (text []byte, next base, gap string, err error) {
	file, closer, err := openThread(ctx, src, b.thread)
	if err != nil {
		return nil, base{}, fmt.Sprintf("forked: the history in thread %s is not at hand", b.thread), ctx.Err()
	}
	defer closer.Close()
	end, whole, err := endOf(ctx, file.Source, b.end)
	if err != nil {
		return nil, base{}, "", err
	}
	if end > int64(room) {
		return nil, base{}, fmt.Sprintf("forked: the history in thread %s is too long", b.thread), nil
	}
	if !whole {
		gap = fmt.Sprintf("forked: the file of thread %s ends before record %d", b.thread, b.end)
	}
	if file.Gap != "" {
		gap = file.Gap
	}
	text = make([]byte, end)
	if n, err := file.ReadAt(text, 0); int64(n) < end {
		return nil, base{}, "", fmt.Errorf("read %s: %w", file.Name, err)
	}
	next, _, err = baseOf(ctx, file.Source)
	return text, next, gap, err
}

// endOf finds where the record with an ordinal begins. It tells whether the
// records before it are all there.
func endOf(ctx context.Context, src trace.Source, ordinal int64) (int64, bool, error) {
	sc := trace.NewScanner(ctx, src)
	last := int64(-1)
	for sc.Next() {
		n, ok := sc.Record().Get("ordinal").Int()
		if ok && n >= ordinal {
			return sc.Record().Pos.Offset, last == ordinal-1 || n == ordinal && last < 0, nil
		}
		if ok {
			last = n
		}
	}
	return src.Size, last == ordinal-1, sc.Finish(trace.NewRun(src, Format))
}

// places is where the file of a thread may lie, relative to a rollout's folder:
// beside it, in another day's folder, or among the archived ones.
var places = []string{"", "../../../*/*/*/", "../../../../archived_sessions/", "../sessions/*/*/*/"}

// openThread opens the file of a thread; a plain one rather than its compressed
// twin. Its own head says whether it is the right one.
func openThread(ctx context.Context, src trace.Source, thread string) (unpack.Text, io.Closer, error) {
	if src.Siblings == nil || strings.Trim(thread, "0123456789abcdefABCDEF-") != "" {
		return unpack.Text{}, nil, trace.ErrNoSibling
	}
	for _, place := range places {
		names, err := src.Siblings(place + "rollout-*" + thread + "*.jsonl*")
		if err != nil {
			continue
		}
		slices.SortStableFunc(names, func(a, b string) int { return len(a) - len(b) })
		for _, name := range names {
			if file, closer, ok := openAs(ctx, src, name, thread); ok {
				return file, closer, nil
			}
		}
	}
	return unpack.Text{}, nil, trace.ErrNoSibling
}

func openAs(ctx context.Context, src trace.Source, name, thread string) (unpack.Text, io.Closer, bool) {
	file, closer, err := src.OpenSibling(name)
	if err != nil {
		return unpack.Text{}, nil, false
	}
	if text, err := unpack.Open(ctx, file); err == nil {
		sc := trace.NewScanner(ctx, text.Source)
		if sc.Next() && sc.Record().Path("payload", "id").Text() == thread {
			return text, closer, true
		}
	}
	_ = closer.Close()
	return unpack.Text{}, nil, false
}

// readHistory takes in the records of a history. They are no records of this file:
// its line that names them is where they are found.
func (s *session) readHistory(ctx context.Context, h history) error {
	if h.line == 0 {
		return nil
	}
	pos := trace.Position{Line: h.line}
	if h.gap != "" {
		s.gap(pos, h.gap)
	}
	at := 0
	for _, n := range h.parts {
		part := h.text[at : at+n]
		src := trace.Source{Name: s.run.Source, Size: int64(n), ReaderAt: bytes.NewReader(part)}
		scratch := trace.NewRun(src, Format)
		sc := trace.NewScanner(ctx, src)
		s.past = h.line
		for sc.Next() {
			s.take(sc.Record().Shifted(int64(at - len(h.text))))
		}
		if err := sc.Finish(scratch); err != nil {
			return err
		}
		for _, bad := range scratch.BadLines {
			s.gap(pos, "in the history: "+bad.Reason)
		}
		at += n
	}
	if len(h.parts) > 0 {
		s.run.Notes = map[string]string{"history": fmt.Sprintf("a fork: %d calls before it are recorded in other files", len(s.run.Calls))}
	}
	// What was said and asked for there is not what this run says.
	s.past, s.talk, s.run.Task = 0, talk{turns: s.talk.turns}, ""
	s.run.Ended, s.run.EndReason = false, ""
	s.batch.close()
	return nil
}
