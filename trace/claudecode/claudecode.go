// Package claudecode reads the session files of Claude Code
// (~/.claude/projects/<folder>/<sessionId>.jsonl): one file in, one Run out, with
// every call that was made, those of abandoned branches included, and those of its
// sub-agents, from this file or from their own beside it (Call.Parent, Call.File).
// A sub-agent whose file is not there is only marked (Call.Delegates). It judges
// nothing. What a sub-agent's file gains later is seen when the session's changes.
//
// What is trusted, and why:
//
//   - is_error on a tool_result: true is a failure. Absent means success, since
//     Claude Code leaves it out unless the call failed (two thirds of all
//     results); it is read as false, except that a toolUseResult which is a
//     string beginning with "Error: " stands for true.
//   - The exit code of a failed shell call is the text `Exit code N` with which
//     its result begins: no field holds it. A shell call that did not fail and
//     whose toolUseResult has stdout or stderr has ended with 0, because Claude
//     Code flags every other code. The exception is returnCodeInterpretation,
//     where it took a non-zero code for an answer (grep without a match): then no
//     exit code is set and the flag stands.
//   - interrupted in a shell's toolUseResult means that the command was cut off:
//     a failure whatever the flag says.
//   - Texts that Claude Code itself writes for a call that never ran give Status
//     denied or cancelled. They are looked at on failed calls only, and only at
//     the beginning of the text.
//   - backgroundTaskId, async_launched and the texts beside them mean Status
//     running. The task notification, or a later look at the task's output, ends
//     the call, wherever it stands, also behind the summary.
//   - stop_reason is null in most versions, and no version records an end of the
//     run: NoEndRecords.
//
// A sub-agent's failing call does not flag the call that started it.
package claudecode

import (
	"context"
	"iter"
	"slices"
	"strconv"

	"nightaudit/trace"
)

// Format is the name of this format.
const Format = "claude-code"

// Read reads a session file as one Run, whose ID is the session id that its last
// records carry.
func Read(ctx context.Context, src trace.Source) iter.Seq2[*trace.Run, error] {
	return func(yield func(*trace.Run, error) bool) {
		yield(readSession(ctx, src))
	}
}

func readSession(ctx context.Context, src trace.Source) (*trace.Run, error) {
	return readFamily(ctx, src, func(session string) (*family, error) { return findFamily(src, session) }, 0)
}

// readFamily reads a file of a session: its own, or that of a sub-agent.
func readFamily(ctx context.Context, src trace.Source, find func(session string) (*family, error), depth int) (*trace.Run, error) {
	s := newSession(trace.NewRun(src, Format))
	sc := trace.NewScanner(ctx, src)
	for sc.Next() {
		s.take(sc.Record())
	}
	if err := sc.Finish(s.run); err != nil {
		return nil, err
	}
	if err := s.finish(); err != nil {
		return nil, err
	}
	if s.run.Whole() || len(s.children.agents) == 0 {
		return s.run, nil
	}
	f, err := find(s.run.ID)
	if err != nil {
		return nil, err
	}
	s.attachFiles(ctx, f, depth)
	return s.run, nil
}

// link is a record's place in the tree that parentUuid spans.
type link struct {
	parent string
	root   string // of a side chain: the uuid of its first record
	pos    trace.Position
}

// session is what is remembered of a file while it is read.
type session struct {
	stream *Stream // what a printed session has beside the messages; nil for a file

	run   *trace.Run
	rec   record
	links map[string]link    // every record that has a uuid
	calls map[trace.ID][]int // indexes of the calls under an id, oldest first
	from  map[int]origin     // by call, where its tool_use came from
	tasks map[string]int     // call by the id of its background task

	batch   batch
	batches map[string]int // how often a message id has begun a batch

	turns    []turn
	leaf     string // uuid of the last message of the main chain
	told     string // leafUuid of a last-prompt record behind it
	began    bool   // a message of the main chain has been read
	sideTask string // what the first side chain was asked to do

	children children
	breaks   []breach
	orphan   trace.Position // the first result without a call

	usage      map[string]spent // by message id
	usageOrder []string
	sessions   map[string]bool
}

func newSession(run *trace.Run) *session {
	run.NoEndRecords = true
	run.Agent = Format
	return &session{
		run:      run,
		links:    map[string]link{},
		calls:    map[trace.ID][]int{},
		from:     map[int]origin{},
		tasks:    map[string]int{},
		batches:  map[string]int{},
		children: newChildren(),
		usage:    map[string]spent{},
		sessions: map[string]bool{},
	}
}

// take takes in one record. Kinds that carry no evidence are counted and passed
// over; progress records repeat whole messages of sub-agents and are among them.
func (s *session) take(scanned trace.Record) {
	rec := &s.rec
	rec.take(scanned)
	if s.stream != nil {
		rec.rename()
	}
	if _, twice := s.links[rec.uuid]; twice {
		s.run.Ignored++ // copied by a resume or a fork
		return
	}
	if rec.uuid != "" {
		s.links[rec.uuid] = s.place(rec)
	}
	known := true
	switch rec.kind {
	case "assistant":
		s.header(rec)
		s.assistant(rec)
	case "user":
		s.header(rec)
		s.user(rec)
	case "system":
		known = s.system(rec) || s.stream.system(s, rec)
	case "result":
		known = s.stream.result(s, rec)
	case "queue-operation":
		content := rec.Get("content")
		known = s.notified(content.Text(), rec.Pos, content.Body())
	case "attachment":
		known = s.attachment(rec)
	case "last-prompt":
		s.told = rec.Get("leafUuid").Text()
	default:
		known = false
	}
	if known {
		s.run.Records++
	} else {
		s.run.Ignored++
	}
}

func (s *session) place(rec *record) link {
	l := link{parent: rec.Get("parentUuid").Text(), pos: rec.Pos}
	if l.parent == "" {
		l.parent = rec.Get("logicalParentUuid").Text()
	}
	if s.stream != nil {
		s.stream.place(s, rec, &l)
	} else if rec.side {
		l.root = rec.uuid
		if up := s.links[l.parent]; up.root != "" {
			l.root = up.root
		}
	}
	return l
}

// header reads what every message says of the run.
func (s *session) header(rec *record) {
	run := s.run
	if id := rec.Get("sessionId").Text(); id != "" {
		run.ID = id
		s.sessions[id] = true
	}
	if v := rec.Get("version").Text(); v != "" {
		run.Agent = Format + " " + v
	}
	if run.Cwd == "" {
		run.Cwd = rec.Get("cwd").Text()
	}
	if run.Started.IsZero() {
		run.Started = rec.stamp()
	}
}

// finish draws what only the whole file tells.
func (s *session) finish() error {
	run := s.run
	if len(s.sessions) > 1 {
		run.Notes = map[string]string{"sessions": strconv.Itoa(len(s.sessions)) + " session ids in one file; the last is taken"}
	}
	run.Child = !s.began && s.sideTask != "" && s.stream == nil
	s.joinChildren()
	s.findGaps()
	s.addUsage()
	slices.SortStableFunc(run.BadLines, func(a, b trace.BadLine) int { return a.Line - b.Line })
	return s.conclude()
}
