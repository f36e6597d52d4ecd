package rerun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nightaudit/audit/outcome"
	"nightaudit/budget"
	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/trace"
)

// Completer asks a model; *endpoint.Client is one.
type Completer interface {
	Prepare(endpoint.Request) (endpoint.Prepared, error)
	Do(context.Context, endpoint.Prepared) (endpoint.Reply, error)
}

// Options are what a Runner works with.
type Options struct {
	Queue    *Queue
	Account  *budget.Account
	Endpoint Completer
	Name     string // of the endpoint, for the books
	// Fingerprint stands for the endpoint's configuration; see Queue.Leave.
	Fingerprint string
	Model       string
	Tools       *tools.Set
	// Observes names, for a reading tool, the tools whose effect it shows, beside
	// those of its own family.
	Observes map[string][]string
	// Tables are those that the first verdicts rest on; nil: outcome.DefaultTables.
	Tables *outcome.Tables
	Limits Limits
	// Dir is the folder below the state directory where attempts leave their traces.
	Dir string
	// First opens the trace that an item was cut from, to judge the merged record;
	// see FirstTrace.
	First FirstTrace
	Now   func() time.Time
}

// Runner works on items of the queue, one at a time.
type Runner struct{ Options }

// New makes a Runner.
func New(o Options) *Runner { return &Runner{o} }

// Attempt is one dispatched re-run and what it came to.
type Attempt struct {
	ID, QueueID int64
	Number      int
	Path        string // the first trace
	TracePath   string // the re-run's own trace
	Outcome     Outcome
	Claims      []ClaimOutcome
	Model       string // as the endpoint named it
	Endpoint    string
	StopReason  string
	Note        string // why it ended, for people
	Proposal    string // what a model without tools suggests; changes no verdict
	Tokens      int64  // booked for it
	ModelCalls  int
	Started     time.Time
	Ended       time.Time
}

// ClaimOutcome is what became of one claim of an attempt.
type ClaimOutcome struct {
	Key     string  `json:"key"`
	ID      string  `json:"id"`
	Text    string  `json:"text"`
	First   string  `json:"first"` // the first verdict
	Merged  string  `json:"merged"`
	Reason  string  `json:"reason,omitempty"`
	Detail  string  `json:"detail,omitempty"`
	Outcome Outcome `json:"outcome"`
}

// Attempt redoes one item. An error means that it could not be worked on at all
// (the database, the disk); what the endpoint or the model does wrong is an
// outcome. After the context is cancelled, what was sent is still booked and the
// attempt closed. ErrExhausted of budget, or an *endpoint.Error that parks or
// disables the endpoint, comes back beside the Attempt, so that the caller does
// not go on to the next item.
func (r *Runner) Attempt(ctx context.Context, it Item) (Attempt, error) {
	now := r.Now()
	if err := r.toolsMissing(it); err != nil {
		return Attempt{}, errors.Join(err, r.Queue.note(ctx, it.ID, err.Error(), now))
	}
	id, number, path, err := r.Queue.begin(ctx, it, func(id int64) string { return filepath.Join(r.Dir, fmt.Sprintf("attempt-%d.jsonl", id)) }, r.Name, now)
	if err != nil {
		return Attempt{}, err
	}
	a := &attempt{Runner: r, item: it, out: Attempt{ID: id, QueueID: it.ID, Number: number, Path: it.Path, TracePath: path, Endpoint: r.Name, Model: r.Model, Started: now}}
	stop := a.work(ctx)
	a.out.Ended = r.Now()
	if a.out.ModelCalls > 0 {
		if err := r.Queue.serves(ctx, r.Name); err != nil {
			return a.out, err
		}
	}
	next, until := a.next(stop)
	if err := r.Queue.end(ctx, it, a.out, next, until, a.out.Ended); err != nil {
		return a.out, err
	}
	return a.out, stop
}

// ErrTools is returned for an item whose claims ask for tools that the operator
// has not declared: no re-run could show them, so none is paid for.
var ErrTools = errors.New("tools are not declared")

// toolsMissing names the tools that are asked for and not declared. Where no tool
// is declared at all the model may still propose.
func (r *Runner) toolsMissing(it Item) error {
	if len(r.Tools.Names()) == 0 {
		return nil
	}
	var missing []string
	for _, t := range it.Tools {
		if r.Tools.Class(t) == tools.ClassForbidden {
			missing = append(missing, t)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("%w that the claims need (tools:): %s", ErrTools, strings.Join(missing, ", "))
}

// attempt is one attempt while it runs.
type attempt struct {
	*Runner
	item Item
	out  Attempt

	file     *os.File
	rec      *tools.Recorder
	messages []endpoint.Message
	offered  []endpoint.Tool
	step     int
	calls    int
	idle     int
	repeats  map[string]int
	looks    []endpoint.ToolCall // of reading tools that have succeeded in this attempt
	gaveUp   bool
}

// work runs the attempt from its first line to its verdict. The error it returns
// stands for what stops the whole queue, not only this item.
func (a *attempt) work(ctx context.Context) error {
	if err := a.openTrace(); err != nil {
		a.out.StopReason, a.out.Note = "no trace", err.Error()
		return err
	}
	defer a.file.Close()
	wall, cancel := context.WithTimeout(ctx, a.Limits.WallClock)
	defer cancel()
	stop := a.prepare()
	if stop == nil {
		stop = a.loop(wall)
	}
	if a.out.StopReason == "" && wall.Err() != nil {
		a.out.StopReason = "wall_clock"
		if ctx.Err() != nil {
			a.out.StopReason = "interrupted"
		}
	}
	if err := a.rec.End(a.Now(), a.out.StopReason); err != nil {
		return fmt.Errorf("record the re-run: %w", err)
	}
	if a.out.ModelCalls == 0 || a.out.StopReason == "interrupted" {
		return stop // nothing came back that could be judged
	}
	if err := a.judge(context.WithoutCancel(ctx)); err != nil || stop == nil {
		return errors.Join(stop, err)
	}
	if a.out.Outcome != Repaired {
		// The endpoint or the allowance ended it, not the model: that is no verdict on
		// the segment, and does not use up a try.
		a.out.Outcome, a.out.Claims = "", nil
	}
	return stop
}

func (a *attempt) openTrace() error {
	if err := os.MkdirAll(a.Dir, 0o700); err != nil {
		return fmt.Errorf("make folder for re-runs: %w", err)
	}
	f, err := os.OpenFile(a.out.TracePath, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("open trace of the re-run: %w", err)
	}
	a.file, a.rec = f, tools.NewRecorder(f)
	err = a.rec.Start(tools.RunStart{
		Time: a.out.Started, Run: fmt.Sprintf("rerun-%d of %s", a.out.ID, a.item.RunKey[:min(8, len(a.item.RunKey))]),
		Agent: "nightaudit", Model: a.Model, Task: "re-run of a failed segment",
	})
	if err != nil {
		return errors.Join(fmt.Errorf("record the re-run: %w", err), f.Close())
	}
	return nil
}

// next says in which state the item is left.
func (a *attempt) next(stop error) (state string, until time.Time) {
	var failed *endpoint.Error
	switch {
	case a.out.Outcome == Repaired:
		return "done", time.Time{}
	case a.out.Outcome == GaveUp, a.out.StopReason == "proposal":
		return "given_up", time.Time{}
	case a.out.Outcome != "" && a.item.Attempts+1 >= MaxAttempts:
		if a.out.Note == "" {
			a.out.Note = fmt.Sprintf("%d attempts did not repair it; it needs a person", a.item.Attempts+1)
		}
		return "given_up", time.Time{}
	case a.out.Number >= maxDispatches && a.out.Tokens > 0:
		a.out.Note = fmt.Sprintf("%d attempts were made, and few came to an end; it needs a person (%s)", a.out.Number, a.out.Note)
		return "given_up", time.Time{}
	case errors.As(stop, &failed) && failed.Class == endpoint.ClassPark:
		return "parked", failed.Until
	default:
		return "queued", time.Time{}
	}
}

// prepare sets up the conversation and the tools that are offered: those that the
// claims need, what only reads, and the way out.
func (a *attempt) prepare() error {
	a.repeats = map[string]int{}
	a.messages = []endpoint.Message{
		{Role: endpoint.RoleSystem, Content: a.item.System},
		{Role: endpoint.RoleUser, Content: a.item.User + a.limitsText()},
	}
	definitions, err := a.Tools.Definitions(a.offer())
	if err != nil {
		return fmt.Errorf("offer tools: %w", err)
	}
	for _, d := range definitions {
		a.offered = append(a.offered, endpoint.Tool{Name: d.Name, Description: d.Description, Parameters: d.Parameters})
	}
	if len(a.offered) > 0 {
		a.offered = append(a.offered, endpoint.Tool{
			Name: GiveUp, Description: "Say that this cannot be done, and why.",
			Parameters: []byte(`{"type":"object","properties":{"reason":{"type":"string"}},"required":["reason"]}`),
		})
	}
	return nil
}

// offer lists the declared tools that this item may call.
func (a *attempt) offer() []string {
	out := []string{}
	for _, name := range a.Tools.Names() {
		if a.Tools.Class(name) == tools.ClassRead || slices.Contains(a.item.Tools, name) {
			out = append(out, name)
		}
	}
	return out
}

func (a *attempt) limitsText() string {
	return fmt.Sprintf("Limits: at most %d tool calls.\n", a.Limits.ToolCalls)
}

// loop asks the model and runs what it calls, until something ends it.
func (a *attempt) loop(ctx context.Context) error {
	retries := 0
	for a.out.ModelCalls < a.Limits.ModelCalls {
		if ctx.Err() != nil {
			return nil
		}
		reply, err := a.ask(ctx)
		var failed *endpoint.Error
		switch {
		case err == nil:
		case errors.As(err, &failed) && failed.Class == endpoint.ClassRetry && failed.Billed == endpoint.BillingNot && retries < 2 && wait(ctx, failed.Wait):
			// Only what cost nothing: where nobody knows, each try is booked whole.
			retries++
			continue
		default:
			a.stopFor(ctx, err)
			return err
		}
		if done, err := a.answer(ctx, reply); done || err != nil {
			return err
		}
	}
	a.out.StopReason = "model_calls"
	return nil
}

// stopFor notes why an attempt ends with an error. Where its time was over or it
// was interrupted, that is why, whatever the endpoint client made of it; work says
// which.
func (a *attempt) stopFor(ctx context.Context, err error) {
	var failed *endpoint.Error
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, budget.ErrExhausted):
		a.out.StopReason = "allowance"
	case errors.As(err, &failed):
		a.out.StopReason = "endpoint_" + string(failed.Class)
	default:
		a.out.StopReason = "error"
	}
	a.out.Note = err.Error()
}

// wait sleeps, but not beyond the attempt's own time. False: it is over.
func wait(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// answer runs the calls of a reply. Done: the attempt is over.
func (a *attempt) answer(ctx context.Context, reply endpoint.Reply) (done bool, err error) {
	if reply.Text != "" {
		if err := a.rec.Text(a.Now(), reply.Text); err != nil {
			return true, fmt.Errorf("record the re-run: %w", err)
		}
	}
	if len(reply.ToolCalls) == 0 {
		return a.noCalls(reply), nil
	}
	a.idle = 0
	a.messages = append(a.messages, endpoint.Message{Role: endpoint.RoleAssistant, Content: reply.Text, ToolCalls: reply.ToolCalls})
	for _, call := range reply.ToolCalls {
		text, err := a.call(ctx, call)
		if err != nil {
			return true, err
		}
		a.messages = append(a.messages, endpoint.Message{Role: endpoint.RoleTool, Content: text, ToolCallID: call.ID, Name: call.Name})
	}
	return a.gaveUp || a.out.StopReason != "", nil
}

// noCalls handles an answer without a call: the end, or a model that talks
// instead of acting. It is told once; a call that is printed as text is none.
func (a *attempt) noCalls(reply endpoint.Reply) bool {
	if len(a.offered) == 0 {
		a.out.Proposal = clip(trace.Redact(reply.Text), maxResult)
		a.out.StopReason = "proposal"
		return true
	}
	if a.calls > 0 && len(reply.Dropped) == 0 {
		a.out.StopReason = "end_turn"
		return true
	}
	if a.idle++; a.idle >= a.Limits.IdleTurns {
		a.out.StopReason = "idle"
		return true
	}
	a.messages = append(a.messages,
		endpoint.Message{Role: endpoint.RoleAssistant, Content: reply.Text},
		endpoint.Message{Role: endpoint.RoleUser, Content: "No tool was called, and text is no evidence. Call a tool, or " + GiveUp + "."})
	return false
}
