// Package codexexec reads what `codex exec --json` prints: a Run for each thread
// that a file holds, as a log that every night is appended to does.
//
// What is trusted, and why:
//
//   - exit_code of a command. Where there is none, status: completed, failed, or
//     declined for one that was refused.
//   - status of a patch and of an MCP call; isError is not handed on, but Codex
//     makes such a call failed.
//   - A call that has only been started has not ended. An interrupted run just
//     stops behind it.
//   - turn.completed and turn.failed end the run. Items of type error are warnings
//     more often than not, and are no evidence.
//
// Codex leaves out what never became an item: patches that did not fit, commands
// that were refused, calls of unknown tools or with bad arguments. So it cannot be
// concluded from such a file that nothing failed: each run has a gap. The rollout of
// the same run (package codex) has them all.
package codexexec

import (
	"context"
	"iter"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "codex-exec-json"

// left is the gap that every run has.
const left = "codex exec --json leaves out patches that did not fit, and calls that were refused, unknown or malformed"

// Read reads the threads of a file, each as one Run.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		runs, err := readThreads(ctx, src)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, run := range runs {
			if !yield(run, nil) {
				return
			}
		}
	}
}

func readThreads(ctx context.Context, src trace.Source) ([]*trace.Run, error) {
	threads := []*thread{newThread(src, 0)}
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		rec := sc.Record()
		t := threads[len(threads)-1]
		if id := startOf(rec.Value); id != "" {
			if t.run.ID != "" && t.run.ID != id {
				t = newThread(src, rec.Pos.Line)
				threads = append(threads, t)
			}
			t.start(id)
			continue
		}
		t.take(rec)
	}
	whole := trace.NewRun(src, Format)
	if err := sc.Finish(whole); err != nil {
		return nil, err
	}
	runs, starts := make([]*trace.Run, len(threads)), make([]int, len(threads))
	for i, t := range threads {
		t.finish()
		runs[i], starts[i] = t.run, t.line
	}
	trace.Share(whole, runs, starts)
	return runs, nil
}

// startOf returns the id of the thread that a record starts.
func startOf(rec trace.Value) string {
	if rec.Get("type").Text() != "thread.started" {
		return ""
	}
	return rec.Get("thread_id").Text()
}

// thread is what is remembered of a thread while it is read.
type thread struct {
	run   *trace.Run
	line  int // on which it starts
	rec   trace.Object
	item  trace.Object
	pos   trace.Position
	calls map[trace.ID]int   // the last call under an id
	ends  map[int]trace.Body // by call, the item that has ended it
	said  []string
	at    trace.Position // of the first text in said
	next  bool           // what is said next answers another prompt
}

func newThread(src trace.Source, line int) *thread {
	run := trace.NewRun(src, Format)
	run.Agent = "codex"
	return &thread{run: run, line: line, calls: map[trace.ID]int{}, ends: map[int]trace.Body{}}
}

// start begins a thread, or goes on with one that was resumed: items are numbered
// anew.
func (t *thread) start(id string) {
	t.run.ID = id
	t.run.Records++
	t.calls = map[trace.ID]int{}
}

func (t *thread) take(rec trace.Record) {
	t.rec.Take(rec.Value)
	t.pos = rec.Pos
	run := t.run
	known := true
	switch kind := t.rec.Get("type").Text(); kind {
	case "item.started", "item.updated", "item.completed":
		known = t.takeItem(kind == "item.completed", rec.Body())
	case "turn.started":
		t.next = true
		run.Ended, run.EndReason = false, ""
	case "turn.completed", "turn.failed":
		run.Ended, run.EndReason = true, kind
		t.spend(t.rec.Get("usage"))
	case "error": // told of every broken connection, also of those that were mended
	default:
		known = false
	}
	if known {
		run.Records++
	} else {
		run.Ignored++
	}
}

func (t *thread) finish() {
	run := t.run
	for i, text := range t.said {
		if i == 0 {
			run.SummaryPos = t.at
		} else {
			run.Summary += "\n\n"
		}
		run.Summary += text
	}
	run.Gaps = append(run.Gaps, trace.Gap{Pos: trace.Position{Line: max(t.line, 1)}, Reason: left})
}

// maxTokens is far above what a turn can cost; a number beyond it is damage, and
// would overflow the sums.
const maxTokens = 1 << 40

// spend adds what a turn has cost; the model is not named.
func (t *thread) spend(u trace.Value) {
	if u.Kind() != trace.KindObject {
		return
	}
	n := func(name string) int64 {
		i, ok := u.Get(name).Int()
		if !ok || i < 0 || i > maxTokens {
			return 0
		}
		return i
	}
	if len(t.run.Usage) == 0 {
		t.run.Usage = make([]trace.Usage, 1)
	}
	in, out := n("input_tokens"), n("output_tokens")
	cached := min(n("cached_input_tokens"), in)
	sum := &t.run.Usage[0]
	sum.Prompt += in - cached
	sum.Cached += cached
	sum.Completion += out
	sum.Total += in + out
}
