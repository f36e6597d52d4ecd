package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"nightaudit/trace/redact"
)

// Recorder writes the trace of a re-run in the native format, one record a line.
// A call is written before it starts and its result after, so that a process that
// is killed in between leaves a call that is pending. What came from outside is
// redacted before it is written. After a failed write every method returns that
// failure: what cannot be recorded must not run.
type Recorder struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// NewRecorder writes to w, each line with one Write. Where w has a Sync method, as
// a file has, every line is synced.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{w: w} }

// RunStart is the first record of a re-run.
type RunStart struct {
	Time                    time.Time
	Run, Agent, Model, Task string
}

// Call is a call that the model asks for.
type Call struct {
	Time           time.Time
	ID, Tool       string
	Args           json.RawMessage // what is no JSON is recorded as a text
	IdempotencyKey string
}

// Usage is what one answer of the model cost, in tokens.
type Usage struct {
	Time                      time.Time
	Prompt, Completion, Total int64
	Model                     string
}

// line is any record. The fields that the program itself makes (ids, keys, codes)
// are written as they are: masked, two ids could become equal. The rest is
// redacted.
type line struct {
	Type       string          `json:"type"`
	TS         string          `json:"ts"`
	Run        string          `json:"run,omitempty"`
	Agent      string          `json:"agent,omitempty"`
	Model      string          `json:"model,omitempty"`
	Task       string          `json:"task,omitempty"`
	ID         string          `json:"id,omitempty"`
	CallID     string          `json:"call_id,omitempty"`
	Tool       string          `json:"tool,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	Key        string          `json:"idempotency_key,omitempty"`
	OK         *bool           `json:"ok,omitempty"`
	IsError    *bool           `json:"isError,omitempty"`
	ExitCode   *int            `json:"exit_code,omitempty"`
	Status     string          `json:"status,omitempty"`
	Content    json.RawMessage `json:"content,omitempty"`
	Error      json.RawMessage `json:"error,omitempty"`
	DurationMS *int64          `json:"duration_ms,omitempty"`
	Text       json.RawMessage `json:"text,omitempty"`
	Prompt     *int64          `json:"prompt,omitempty"`
	Completion *int64          `json:"completion,omitempty"`
	Total      *int64          `json:"total,omitempty"`
	StopReason string          `json:"stop_reason,omitempty"`
}

// Start writes run_start.
func (r *Recorder) Start(s RunStart) error {
	return r.write(s.Time, line{
		Type: "run_start", Run: s.Run, Agent: redact.Text(s.Agent), Model: redact.Text(s.Model), Task: redact.Text(s.Task),
	})
}

// Call writes tool_call: a call that is about to start.
func (r *Recorder) Call(c Call) error {
	args := c.Args
	if !json.Valid(args) {
		args = text(string(args))
	}
	return r.write(c.Time, line{Type: "tool_call", ID: c.ID, Tool: redact.Text(c.Tool), Args: redact.JSON(args), Key: c.IdempotencyKey})
}

// Result writes tool_result: what became of the call with this id. A call that was
// refused has the status denied, one that ran out of time timed_out.
func (r *Recorder) Result(callID string, res Result) error {
	failed := !res.OK
	ms := res.Duration.Milliseconds()
	l := line{Type: "tool_result", CallID: callID, OK: &res.OK, IsError: &failed, Content: redact.JSON(text(res.Output)), DurationMS: &ms}
	if res.HasExit {
		l.ExitCode = &res.ExitCode
	}
	if res.Error != "" {
		l.Error = redact.JSON(text(res.Error))
	}
	switch {
	case !res.Started:
		l.Status = "denied"
	case res.TimedOut:
		l.Status = "timed_out"
	}
	return r.write(res.Start.Add(res.Duration), l)
}

// Text writes assistant_text.
func (r *Recorder) Text(at time.Time, s string) error {
	return r.write(at, line{Type: "assistant_text", Text: redact.JSON(text(s))})
}

// Usage writes usage.
func (r *Recorder) Usage(u Usage) error {
	return r.write(u.Time, line{Type: "usage", Prompt: &u.Prompt, Completion: &u.Completion, Total: &u.Total, Model: redact.Text(u.Model)})
}

// End writes run_end.
func (r *Recorder) End(at time.Time, stopReason string) error {
	return r.write(at, line{Type: "run_end", StopReason: stopReason})
}

// text is s as JSON; a string always has one.
func text(s string) json.RawMessage {
	raw, _ := json.Marshal(s)
	return raw
}

func (r *Recorder) write(at time.Time, l line) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	if r.err = r.writeLine(at, l); r.err != nil {
		r.err = fmt.Errorf("record %s: %w", l.Type, r.err)
	}
	return r.err
}

func (r *Recorder) writeLine(at time.Time, l line) error {
	l.TS = at.UTC().Format("2006-01-02T15:04:05.000Z")
	raw, err := json.Marshal(l) // also refuses a redacted value that is no JSON
	if err != nil {
		return err
	}
	n, err := r.w.Write(append(raw, '\n'))
	if err == nil && n <= len(raw) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	if f, ok := r.w.(interface{ Sync() error }); ok {
		if err := f.Sync(); err != nil {
			return errors.Join(errors.New("the line may be lost"), err)
		}
	}
	return nil
}
