package rerun

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nightaudit/audit/claims"
	"nightaudit/budget"
	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/trace"
	"nightaudit/trace/native"
)

func TestAttempt_TwoTriesThenAPerson(t *testing.T) {
	b := newBench(t, t.TempDir(), done)
	b.runner.Limits.IdleTurns = 1
	b.item(t)
	for range MaxAttempts {
		if _, err := b.runner.Attempt(t.Context(), b.ready(t)); err != nil {
			t.Fatal(err)
		}
	}
	if state, n := b.state(t); state != "given_up" || n != MaxAttempts {
		t.Errorf("the segment is %s after %d attempts", state, n)
	}
	// A new version of the trace does not start the count anew.
	tx, err := b.store.DB.Write.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	again := Item{Key: "segment 2", RunKey: "r", TraceHash: "h2", Worst: "CONTRADICTED", Claims: []Claim{{Key: strings.Repeat("cd", 32)}}}
	if err := errors.Join(Enqueue(t.Context(), tx, again, time.Now()), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	if ready, err := b.runner.Queue.Ready(t.Context(), time.Now()); err != nil || len(ready) != 0 {
		t.Errorf("%d segments are ready (%v), want none", len(ready), err)
	}
}

func TestAttempt_AWriteIsNotRepeatedByTheNextAttempt(t *testing.T) {
	b := newBench(t, t.TempDir(), call(repair), done)
	first, err := b.runner.Attempt(t.Context(), b.item(t))
	if err != nil || first.Outcome != StillFailing {
		t.Fatalf("first attempt: %s %v", first.Outcome, err)
	}
	b.model.answers, b.model.sent = []answer{call(look), call(repair), call(look), done}, 0
	second, err := b.runner.Attempt(t.Context(), b.ready(t))
	if err != nil || second.Outcome != StillFailing {
		t.Errorf("second attempt: %s %v; a write that did not run must not be evidence", second.Outcome, err)
	}
	if n := b.writes(t); n != 1 {
		t.Errorf("%d writes, want 1", n)
	}
}

func TestAttempt_AWriteThatRanOutOfTimeIsUnknown(t *testing.T) {
	slow := `slow.write {"path": "f", "value": 1}`
	b := newBench(t, t.TempDir(), call(slow), call(slow), done)
	it := b.item(t, func(it *Item) { it.Tools = append(it.Tools, "slow.write") })
	if _, err := b.runner.Attempt(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	if n := b.writes(t); n != 1 {
		t.Errorf("%d writes, want 1: nobody knows whether the first took effect, and nobody looked", n)
	}
}

// A look at something else does not tell whether a write took effect.
func TestAttempt_AnUnknownWriteNeedsALookAtItsTarget(t *testing.T) {
	slow, other := `slow.write {"path": "f", "value": 1}`, `config.read {"path": "written"}`
	for _, c := range []struct {
		name   string
		look   string
		writes int
	}{
		{"at nothing of it", other, 1},
		{"at its target", look, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), call(slow), call(c.look), call(slow), done)
			b.runner.Observes = map[string][]string{"config.read": {"slow.write"}}
			it := b.item(t, func(it *Item) { it.Tools = append(it.Tools, "slow.write") })
			if _, err := b.runner.Attempt(t.Context(), it); err != nil {
				t.Fatal(err)
			}
			if n := b.writes(t); n != c.writes {
				t.Errorf("%d writes, want %d", n, c.writes)
			}
		})
	}
}

func TestAttempt_NoAllowanceNoRequest(t *testing.T) {
	b := newBench(t, t.TempDir(), call(look), done)
	var err error
	if b.runner.Account, err = budget.Open(t.Context(), b.store.DB.Write, budget.Options{Allowances: []budget.Allowance{{Name: "overall", Tokens: 50}}}); err != nil {
		t.Fatal(err)
	}
	_, err = b.runner.Attempt(t.Context(), b.item(t))
	if !errors.Is(err, budget.ErrExhausted) || b.model.sent != 0 {
		t.Errorf("%d requests, error %v; want none and %v", b.model.sent, err, budget.ErrExhausted)
	}
	if state, n := b.state(t); state != "queued" || n != 0 {
		t.Errorf("the segment is %s after %d attempts, want queued after 0", state, n)
	}
}

func TestAttempt_ToolsThatAreNotDeclared(t *testing.T) {
	b := newBench(t, t.TempDir(), done)
	_, err := b.runner.Attempt(t.Context(), b.item(t, func(it *Item) { it.Tools = []string{"deploy"} }))
	if !errors.Is(err, ErrTools) || b.model.sent != 0 {
		t.Errorf("%d requests, error %v; want none and %v", b.model.sent, err, ErrTools)
	}
}

func TestAttempt_NoToolsAtAllProposes(t *testing.T) {
	b := newBench(t, t.TempDir(), answer{text: "set it to 30 with password=hunter2hunter2"})
	var err error
	if b.runner.Tools, err = tools.NewSet(nil); err != nil {
		t.Fatal(err)
	}
	got, err := b.runner.Attempt(t.Context(), b.item(t))
	if err != nil || got.Proposal != "set it to 30 with password=[REDACTED]" || got.Outcome == Repaired {
		t.Errorf("%+v, %v; want a proposal that changes no verdict", got, err)
	}
}

func TestAttempt_ParkedUntilTheEndpointServes(t *testing.T) {
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	b := newBench(t, t.TempDir(), answer{err: &endpoint.Error{Class: endpoint.ClassPark, Status: 429, Until: until, Billed: endpoint.BillingNot, Message: "per day"}})
	if _, err := b.runner.Attempt(t.Context(), b.item(t)); err == nil {
		t.Error("the caller is not told that the endpoint is parked")
	}
	if state, n := b.state(t); state != "parked" || n != 0 {
		t.Errorf("the segment is %s after %d attempts, want parked after 0", state, n)
	}
	for _, tt := range []struct {
		at   time.Time
		want int
	}{{until.Add(-time.Second), 0}, {until, 1}} {
		if ready, err := b.runner.Queue.Ready(t.Context(), tt.at); err != nil || len(ready) != tt.want {
			t.Errorf("at %v %d segments are ready (%v), want %d", tt.at, len(ready), err, tt.want)
		}
	}
}

func TestAttempt_RetriesTwiceAndReservesEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		busy := answer{err: &endpoint.Error{Class: endpoint.ClassRetry, Status: 503, Wait: 7 * time.Second, Billed: endpoint.BillingNot, Message: "busy"}}
		b := newBench(t, t.TempDir(), busy)
		start := time.Now()
		if _, err := b.runner.Attempt(t.Context(), b.item(t)); err == nil {
			t.Error("no error after three refusals")
		}
		if waited := time.Since(start); waited != 14*time.Second {
			t.Errorf("it waited %v, want 14s", waited)
		}
		if b.model.sent != 3 {
			t.Errorf("%d requests, want 3", b.model.sent)
		}
		var reservations int
		if err := b.store.DB.Write.QueryRow(`SELECT count(*) FROM budget_entries WHERE kind = 'reserve'`).Scan(&reservations); err != nil || reservations != 3 {
			t.Errorf("%d reservations (%v), want one a request", reservations, err)
		}
		b.store.Close()
	})
}

func TestAttempt_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, t.TempDir(), call(look), done)
	b.runner.Endpoint = interrupting{b.model, cancel}
	got, _ := b.runner.Attempt(ctx, b.item(t))
	if got.Outcome != "" || got.StopReason != "interrupted" {
		t.Errorf("outcome %q ended by %q, want an interrupted attempt", got.Outcome, got.StopReason)
	}
	if r := b.books(t); r.Held != 0 || r.Spent != 100 {
		t.Errorf("held %d, spent %d: what was sent must be booked after SIGTERM too", r.Held, r.Spent)
	}
	if state, _ := b.state(t); state != "queued" {
		t.Errorf("the segment is %s, want queued", state)
	}
}

// interrupting answers, and is interrupted by then.
type interrupting struct {
	*model
	cancel func()
}

func (i interrupting) Do(ctx context.Context, p endpoint.Prepared) (endpoint.Reply, error) {
	defer i.cancel()
	return i.model.Do(ctx, p)
}

// A request that is cut off by SIGTERM is an interruption, and no verdict on the
// attempt: the endpoint's client only sees that it was cancelled.
func TestAttempt_InterruptedInARequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := newBench(t, t.TempDir(), call(look), answer{err: &endpoint.Error{Class: endpoint.ClassRetry, Billed: endpoint.BillingUnknown, Message: "cancelled"}})
	b.runner.Endpoint = interruptedIn{b.model, 2, cancel}
	got, _ := b.runner.Attempt(ctx, b.item(t))
	if got.Outcome != "" || got.StopReason != "interrupted" {
		t.Errorf("outcome %q ended by %q, want an interrupted attempt", got.Outcome, got.StopReason)
	}
	if r := b.books(t); r.Held != 0 || r.Assumed == 0 {
		t.Errorf("held %d, assumed %d: what was sent must be booked", r.Held, r.Assumed)
	}
	// It uses up no try; but such attempts cost too, and there is an end of them.
	for range maxDispatches - 1 {
		b.model.sent = 0
		if _, err := b.runner.Attempt(t.Context(), b.ready(t)); err == nil {
			t.Fatal("want the endpoint's error")
		}
	}
	if state, n := b.state(t); state != "given_up" || n != 0 {
		t.Errorf("the segment is %s after %d tries; it must not wait for a try that never comes", state, n)
	}
}

// interruptedIn is interrupted while it waits for answer number n.
type interruptedIn struct {
	*model
	n      int
	cancel func()
}

func (i interruptedIn) Do(ctx context.Context, p endpoint.Prepared) (endpoint.Reply, error) {
	if i.sent+1 == i.n {
		i.cancel()
	}
	return i.model.Do(ctx, p)
}

// What cost may be unknown is not sent again at once: each time is booked whole.
func TestAttempt_NoRetryOfWhatMayHaveBeenBilled(t *testing.T) {
	b := newBench(t, t.TempDir(), answer{err: &endpoint.Error{Class: endpoint.ClassRetry, Billed: endpoint.BillingUnknown, Message: "connection lost"}})
	if _, err := b.runner.Attempt(t.Context(), b.item(t)); err == nil || b.model.sent != 1 {
		t.Errorf("%d requests (%v), want one", b.model.sent, err)
	}
}

// A claim that passed with evidence behind the cut is audited again: a repair that
// breaks it is none.
func TestAttempt_ARepairThatBreaksAnother(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []answer
		want    Outcome
	}{
		{"the repair alone", []answer{call(look), call(repair), call(look), done}, Repaired},
		{"a later claim is broken", []answer{call(look), call(repair), call(look), call(`config.read {"path": "gone"}`), done}, StillFailing},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), tt.answers...)
			text := `{"type": "tool_call", "tool": "config.write", "ok": false}` + "\n" + `{"type": "tool_call", "tool": "config.read", "ok": true}` + "\n"
			b.runner.First = func(ctx context.Context, _ Item, use func(*trace.Run) error) (bool, error) {
				src := trace.Source{Name: "run.jsonl", Size: int64(len(text)), ReaderAt: strings.NewReader(text)}
				for run, err := range native.Read(ctx, src) {
					if err != nil {
						return false, err
					}
					return true, use(run)
				}
				return false, nil
			}
			it := b.item(t, func(it *Item) {
				it.Downstream = []Claim{{Key: strings.Repeat("ef", 32), Verdict: "PASS", Source: claims.SourceFile, Claim: StoredClaim{
					ID: "c2", Text: "the configuration can be read", Requirement: []byte(`{"must_show": ["config.read"], "must_not_fail": ["config.read"]}`),
				}}}
			})
			got, err := b.runner.Attempt(t.Context(), it)
			if err != nil || got.Outcome != tt.want {
				t.Errorf("outcome %s (%v), want %s: %+v", got.Outcome, err, tt.want, got.Claims)
			}
		})
	}
}

func TestQueue_AnEndpointIsLeftAlone(t *testing.T) {
	b := newBench(t, t.TempDir(), done)
	ctx, now := t.Context(), time.Now()
	refused := &endpoint.Error{Class: endpoint.ClassDisable, Status: 401, Message: "bad key"}
	if err := b.runner.Queue.Leave(ctx, "e", "print", refused, now); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, endpoint, fingerprint string
		left                        bool
	}{{"the same", "e", "print", true}, {"another key", "e", "other", false}, {"another endpoint", "f", "print", false}} {
		until, why, err := b.runner.Queue.Left(ctx, tt.endpoint, tt.fingerprint, now.AddDate(1, 0, 0))
		if err != nil || until.IsZero() == tt.left || tt.left && (!Forever(until) || !strings.Contains(why, "bad key")) {
			t.Errorf("%s: until %v because %q, %v", tt.name, until, why, err)
		}
	}
	parked := &endpoint.Error{Class: endpoint.ClassPark, Until: now.Add(time.Hour), Message: "per day"}
	if err := b.runner.Queue.Leave(ctx, "e", "print", parked, now); err != nil {
		t.Fatal(err)
	}
	if until, _, err := b.runner.Queue.Left(ctx, "e", "print", now.Add(2*time.Hour)); err != nil || !until.IsZero() {
		t.Errorf("it is still left alone until %v (%v)", until, err)
	}
	if _, err := b.runner.Attempt(ctx, b.item(t)); err != nil {
		t.Fatal(err)
	}
	if until, _, err := b.runner.Queue.Left(ctx, "e", "print", now); err != nil || !until.IsZero() {
		t.Errorf("it answered, and is left alone until %v (%v)", until, err)
	}
}

// A row that CHECKs refuse shows that the state machine is in the database.
func TestQueue_StatesAreGuarded(t *testing.T) {
	b := newBench(t, t.TempDir(), done)
	b.item(t)
	if _, err := b.store.DB.Write.Exec(`UPDATE rerun_queue SET state = 'parked'`); err == nil {
		t.Error("a segment is parked without a time")
	}
	var none sql.NullString
	if err := b.store.DB.Write.QueryRow(`SELECT last_error FROM rerun_queue WHERE state = 'parked'`).Scan(&none); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a parked segment is there: %v", err)
	}
}
