// Package trace is the first stage: the bytes of a trace become Runs, each with
// its Calls in the order in which they were recorded.
//
// It holds the model that every format is read into, the scanner that JSON Lines
// readers share, and nothing else: it opens no file, asks no clock and judges
// nothing. What a call's record means is audit/outcome's work; one package below
// this one reads each format, and detect picks it.
//
// Bodies (arguments, results) are not kept. A Run remembers where they stand and
// reads them again through its Source when a requirement looks at them, so a run
// costs memory by the number of its calls, not by the size of its file.
package trace

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"time"
)

// Source is an opened trace. Whoever opens it (cmd, scheduler) keeps it open for
// as long as its Runs are used, and closes it.
type Source struct {
	// Name is shown to people and stands in reports; it is never opened.
	Name string
	// Size is the number of bytes to read; what is appended later is not seen.
	Size int64
	io.ReaderAt
	// Sibling opens another file of the same source tree by its path relative to
	// this file's folder. It refuses what lies outside the source's root and what
	// is no regular file. Nil: there are no siblings. The caller closes the file.
	Sibling func(name string) (Source, io.Closer, error)
	// Siblings lists the regular files that match a path.Match pattern relative
	// to this file's folder, sorted. Nil: there are none.
	Siblings func(pattern string) ([]string, error)
	// Database opens what this file holds where it is an SQLite database, without
	// touching it. Nil: it is none. The caller closes what it gets.
	Database func(context.Context) (*sql.DB, io.Closer, error)
}

// ErrNoSibling is returned by OpenSibling where the Source has no others.
var ErrNoSibling = fmt.Errorf("no sibling files: %w", fs.ErrNotExist)

// OpenSibling opens another file of the source tree; see Source.Sibling.
func (s Source) OpenSibling(name string) (Source, io.Closer, error) {
	if s.Sibling == nil {
		return Source{}, nil, ErrNoSibling
	}
	return s.Sibling(name)
}

// Reader reads one format. A file may hold several runs; they are yielded in the
// order in which they start. An error ends the sequence: it means that the file
// could not be read, whereas a damaged line costs that line and is kept in the
// Run: a file of nothing but damaged lines is a Run without Records.
type Reader func(ctx context.Context, src Source) iter.Seq2[*Run, error]

// Position is a place in a trace. Lines count from 1; the Offset is that of the
// record's first byte and orders records that share a line.
type Position struct {
	Line   int
	Offset int64
}

// Before tells whether p was recorded before q.
func (p Position) Before(q Position) bool { return p.Offset < q.Offset }

// Set tells whether p is a place at all.
func (p Position) Set() bool { return p.Line > 0 }

// Body is the place of one JSON value in the Source: bytes, not decoded. The
// zero Body stands for an absent value.
type Body struct {
	Offset int64
	Length uint32
	Sum    uint32 // CRC-32C of the bytes as they were scanned
	// Inner: the bytes are a string, and the value is what its text says. Many
	// formats write arguments as JSON within a string.
	Inner bool
}

// Present tells whether a value was recorded.
func (b Body) Present() bool { return b.Length > 0 }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ErrRewritten is returned when the bytes of a Body are no longer what was
// scanned: the file was written over in the meantime.
var ErrRewritten = errors.New("the trace was rewritten while it was read")

// Flag is a boolean of a record that may be missing, or be no boolean.
type Flag uint8

// The states of a Flag. FlagInvalid (a number, a string, null beside other
// evidence) is no flag, but its presence makes a call suspect.
const (
	FlagAbsent Flag = iota
	FlagTrue
	FlagFalse
	FlagInvalid
)

// ID is a call's or run's id as canonical JSON (`"c1"`, `12`), so that the string
// "1" and the number 1 differ. The zero ID means that none was recorded.
type ID string

// Call is one tool call and what is known of its end.
type Call struct {
	ID   ID
	Tool string // "" where a stand-alone result names none
	Pos  Position
	// ResultPos is where the result was recorded: Pos where call and result are
	// one record, the zero Position where there is none.
	ResultPos Position

	Args       Body // the arguments (request) as recorded
	Result     Body // the result, content or response
	Structured Body // structuredContent, or the format's structured twin of Result
	Error      Body // the error text or object
	Record     Body // the whole record of the call

	OK       Flag  // ok: true is success
	IsError  Flag  // isError, is_error: true is failure
	HasExit  bool  // an exit code is recorded
	ExitCode int32 // meaningful with HasExit
	// Status is the format's own word ("denied", "completed"), "" where none. A
	// reader sets one of the words that audit/outcome knows, or the format's own.
	Status string
	Cwd    string // working directory of this call, "" unknown
	// File is the file beside the run's own that holds the call, "" for its own: a
	// sub-agent's (Run.Attach).
	File   string
	Parent ID     // the delegating call, "" for the run's own calls
	Batch  string // calls issued together share it; "" stands alone
	Start  time.Time
	// Child is the recorded summary of delegated work (an object), where there is one.
	Child Body
	// Envelope marks a call whose Result is an envelope's response: status and body.
	Envelope bool
	// ResultOnly marks a result that belongs to no recorded call, or one more
	// result under an id that already has one: evidence, but no call of its own.
	ResultOnly bool
	// Delegates marks a call that hands work to another agent whose own calls are
	// not in this run, so that absence cannot be told from here.
	Delegates bool
}

// Statement is a claim or an action that stands in the trace itself.
type Statement struct {
	Pos    Position
	Body   Body // the claim object or list; for an action the whole record
	Action bool // an action with grounds, else a claim
}

// Gap is something that is known to be missing from the trace.
type Gap struct {
	Pos    Position
	Reason string
}

// BadLine is a line that could not be read.
type BadLine struct {
	Line   int
	Reason string
}

// Usage is what the agent itself reported to have spent, in tokens. Kinds are
// disjoint: Cached is not part of Prompt.
type Usage struct {
	Model      string
	Prompt     int64
	Cached     int64
	Completion int64
	Total      int64
}

// Run is one run of an agent.
type Run struct {
	Source  string // Source.Name
	Format  string // the reader's name
	ID      string // the format's own session id, "" where there is none
	Agent   string
	Model   string
	Task    string // what the agent was asked to do
	Cwd     string
	Started time.Time

	Calls      []Call
	Statements []Statement
	Gaps       []Gap
	BadLines   []BadLine
	Usage      []Usage // by model, in order of first sight

	Summary    string   // the last thing the agent said before the end
	SummaryPos Position // zero where there is none

	Ended     bool // an end is recorded
	EndReason string
	// NoEndRecords is set for formats that never record an end, so that a missing
	// one says nothing.
	NoEndRecords bool
	// Child is set when the file holds the work of a sub-agent only: it belongs to
	// the run that delegated it and is no run of its own.
	Child bool
	// Torn is set when the last line has no line end and is not yet whole: a run
	// that is still being written.
	Torn bool

	Records int               // records that were understood
	Ignored int               // records of kinds that carry no evidence
	SHA256  [32]byte          // of the bytes that were read
	Notes   map[string]string // what the reader wants reported, by topic

	src Source
}

// NewRun starts a Run over src; readers fill it.
func NewRun(src Source, format string) *Run {
	return &Run{Source: src.Name, Format: format, src: src}
}

// Body reads the bytes of a value again, of an Inner one those of the text. It
// fails with ErrRewritten when they are no longer those that were scanned. The
// absent Body gives nil.
func (r *Run) Body(b Body) ([]byte, error) {
	if !b.Present() {
		return nil, nil
	}
	buf := make([]byte, b.Length)
	if n, err := r.src.ReadAt(buf, b.Offset); err != nil && n < len(buf) {
		if errors.Is(err, io.EOF) {
			return nil, ErrRewritten
		}
		return nil, fmt.Errorf("read %s at byte %d: %w", r.Source, b.Offset, err)
	}
	if crc32.Checksum(buf, castagnoli) != b.Sum {
		return nil, ErrRewritten
	}
	if b.Inner {
		return []byte(Value{raw: buf}.Text()), nil
	}
	return buf, nil
}

// Value reads a body again and hands it out as a Value. What stands within an
// Inner one has no place of its own.
func (r *Run) Value(b Body) (Value, error) {
	raw, err := r.Body(b)
	if err != nil || raw == nil {
		return Value{}, err
	}
	if b.Inner {
		return ParseValue(raw)
	}
	return Value{raw: raw, offset: b.Offset}, nil
}

// Whole tells whether absence can be concluded from this run: no unreadable
// line, no known gap, and no delegated work without its record.
func (r *Run) Whole() bool {
	if len(r.BadLines) > 0 || len(r.Gaps) > 0 {
		return false
	}
	for i := range r.Calls {
		if r.Calls[i].Delegates {
			return false
		}
	}
	return true
}
