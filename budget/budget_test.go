package budget_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nightaudit/budget"
	"nightaudit/store"
)

var noon = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

func mustStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "night.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustOpen(t *testing.T, db *sql.DB, allowances ...budget.Allowance) *budget.Account {
	t.Helper()
	a, err := budget.Open(t.Context(), db, budget.Options{
		Allowances: allowances,
		Now:        func() time.Time { return noon },
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func monthly(tokens int64) budget.Allowance { return budget.Allowance{Name: "month", Tokens: tokens} }

func mustReserve(t *testing.T, a *budget.Account, tokens int64, at time.Time) budget.Reservation {
	t.Helper()
	r, err := a.Reserve(t.Context(), budget.Request{Tokens: tokens, Now: at})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustReport(t *testing.T, a *budget.Account, at time.Time) budget.Report {
	t.Helper()
	r, err := a.Report(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func mustVerify(t *testing.T, a *budget.Account) {
	t.Helper()
	if _, err := a.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func reported(tokens int64) budget.Usage { return budget.Usage{Total: tokens, Reported: true} }

func TestReserve_ConcurrentNeverPassesTheAllowance(t *testing.T) {
	a := mustOpen(t, mustStore(t).DB.Write, monthly(25*4000+3999))
	var granted, refused atomic.Int64
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			_, err := a.Reserve(t.Context(), budget.Request{Tokens: 4000, Now: noon})
			switch {
			case err == nil:
				granted.Add(1)
			case errors.Is(err, budget.ErrExhausted):
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if granted.Load() != 25 || refused.Load() != 25 {
		t.Errorf("granted %d, refused %d, want 25 and 25", granted.Load(), refused.Load())
	}
	if r := mustReport(t, a, noon); r.Held != 100_000 || r.Left != 3999 {
		t.Errorf("held %d, left %d, want 100000 and 3999", r.Held, r.Left)
	}
	mustVerify(t, a)
}

func TestReserve_ExhaustedSaysByHowMuch(t *testing.T) {
	a := mustOpen(t, mustStore(t).DB.Write, monthly(1000), budget.Allowance{Name: "night", Tokens: 300, Period: budget.Night})
	mustReserve(t, a, 200, noon)
	_, err := a.Reserve(t.Context(), budget.Request{Tokens: 101, Now: noon})
	var e *budget.ExhaustedError
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want an ExhaustedError", err)
	}
	want := budget.ExhaustedError{Allowance: "night", Needed: 101, Left: 100, PeriodEnd: noon.Add(24 * time.Hour)}
	if *e != want {
		t.Errorf("got %+v, want %+v", *e, want)
	}
}

func TestResolve_AtMostOnce(t *testing.T) {
	settle := func(a *budget.Account, id int64) error { return a.Settle(t.Context(), id, reported(5)) }
	void := func(a *budget.Account, id int64) error { return a.Void(t.Context(), id, "not needed") }
	unbilled := func(a *budget.Account, id int64) error { return a.Void(t.Context(), id, budget.ReasonUnbilled) }
	send := func(a *budget.Account, id int64) error { return a.MarkSent(t.Context(), id) }
	type step = func(*budget.Account, int64) error
	tests := []struct {
		name  string
		steps []step
		want  error // of the last step
	}{
		{"settle after sent", []step{send, settle}, nil},
		{"settle without the mark", []step{settle}, nil},
		{"settle twice", []step{send, settle, settle}, budget.ErrResolved},
		{"void after settle", []step{send, settle, unbilled}, budget.ErrResolved},
		{"settle after void", []step{void, settle}, budget.ErrResolved},
		{"void twice", []step{void, void}, budget.ErrResolved},
		{"send twice", []step{send, send}, budget.ErrSent},
		{"send after void", []step{void, send}, budget.ErrResolved},
		{"void after sent", []step{send, void}, budget.ErrSent},
		{"unbilled refusal", []step{send, unbilled}, nil},
		{"unknown", []step{func(a *budget.Account, _ int64) error { return settle(a, 99) }}, budget.ErrNoReservation},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := mustOpen(t, mustStore(t).DB.Write, monthly(1000))
			id := mustReserve(t, a, 10, noon).ID
			var err error
			for i, s := range tt.steps {
				if err = s(a, id); err != nil && i < len(tt.steps)-1 {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			mustVerify(t, a)
		})
	}
}

func TestSettle_WhatIsBooked(t *testing.T) {
	tests := []struct {
		name        string
		usage       budget.Usage
		want        int64
		wantAssumed int64
	}{
		{"total", reported(40), 40, 0},
		{"parts only", budget.Usage{Prompt: 30, Completion: 20, Reported: true}, 50, 0},
		{"total leaves out reasoning", budget.Usage{Prompt: 30, Completion: 40, Total: 60, Reported: true}, 70, 0},
		{"an explicit zero", reported(0), 0, 0},
		{"more than reserved", reported(250), 250, 0},
		{"unknown", budget.Usage{}, 100, 100},
		{"unknown, but more was seen", budget.Usage{Total: 120}, 120, 120},
		{"negative", reported(-1), 100, 100},
		{"absurd", reported(1 << 62), 100, 100},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := mustOpen(t, mustStore(t).DB.Write, monthly(1000))
			id := mustReserve(t, a, 100, noon).ID
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // booking is not cut off by a stop
			if err := a.Settle(ctx, id, tt.usage); err != nil {
				t.Fatal(err)
			}
			r := mustReport(t, a, noon)
			if r.Spent != tt.want || r.Assumed != tt.wantAssumed || r.Held != 0 {
				t.Errorf("spent %d, assumed %d, held %d, want %d, %d, 0", r.Spent, r.Assumed, r.Held, tt.want, tt.wantAssumed)
			}
		})
	}
}

func TestSettle_OverrunThenNothingMore(t *testing.T) {
	a := mustOpen(t, mustStore(t).DB.Write, monthly(1000))
	id := mustReserve(t, a, 900, noon).ID
	if err := a.Settle(t.Context(), id, reported(1500)); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reserve(t.Context(), budget.Request{Tokens: 1, Now: noon}); !errors.Is(err, budget.ErrExhausted) {
		t.Errorf("got %v, want ErrExhausted", err)
	}
	if r := mustReport(t, a, noon); r.Spent != 1500 || r.Left != 0 || r.Overdrawn != 500 {
		t.Errorf("got %+v", r.Balance)
	}
	mustReserve(t, a, 1000, noon.AddDate(0, 1, 0)) // the next month is a new one
	mustVerify(t, a)
}

// TestAccount_AgainstModel drives random operations through the book and through
// a model of it that is a map.
func TestAccount_AgainstModel(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 7))
		const allowance = 500
		a := mustOpen(t, mustStore(t).DB.Write, monthly(allowance))
		type hold struct {
			tokens int64
			sent   bool
		}
		holds, ids := map[int64]*hold{}, []int64{0}
		var held, spent int64
		for range 120 {
			id, n := ids[rng.IntN(len(ids))], 1+rng.Int64N(120)
			h := holds[id]
			var ok, want bool
			switch rng.IntN(6) {
			case 0, 1:
				r, err := a.Reserve(t.Context(), budget.Request{Tokens: n, Now: noon})
				ok, want = err == nil, held+spent+n <= allowance
				if ok {
					holds[r.ID], ids, held = &hold{tokens: n}, append(ids, r.ID), held+n
				}
			case 2:
				ok, want = a.MarkSent(t.Context(), id) == nil, h != nil && !h.sent
				if want {
					h.sent = true
				}
			case 3:
				ok, want = a.Settle(t.Context(), id, reported(n/2)) == nil, h != nil
				if want {
					held, spent = held-h.tokens, spent+n/2
					delete(holds, id)
				}
			case 4:
				ok, want = a.Void(t.Context(), id, "changed its mind") == nil, h != nil && !h.sent
				if want {
					held -= h.tokens
					delete(holds, id)
				}
			case 5:
				if rng.IntN(8) > 0 {
					continue
				}
				_, err := a.Recover(t.Context(), noon)
				ok, want = err == nil, true
				for id, h := range holds {
					held -= h.tokens
					if h.sent {
						spent += h.tokens
					}
					delete(holds, id)
				}
			}
			if ok != want {
				t.Fatalf("seed %d: done %t, the model says %t", seed, ok, want)
			}
			if r := mustReport(t, a, noon); r.Held != held || r.Spent != spent {
				t.Fatalf("seed %d: held %d, spent %d, the model says %d, %d", seed, r.Held, r.Spent, held, spent)
			}
		}
		mustVerify(t, a)
	}
}

func TestEntries_DatabaseRefuses(t *testing.T) {
	s := mustStore(t)
	a := mustOpen(t, s.DB.Write, monthly(100))
	if err := a.MarkSent(t.Context(), mustReserve(t, a, 60, noon).ID); err != nil {
		t.Fatal(err)
	}
	insert := `INSERT INTO budget_entries (id, reservation_id, kind, free, held, spent, at_ms, source, prev_hash, hash)
		SELECT id + 1, %r, '%k', -(%h), %h, 0, at_ms, '', hash, 'x' FROM budget_entries ORDER BY id DESC LIMIT 1`
	with := func(r, kind, held string) string {
		return strings.NewReplacer("%r", r, "%k", kind, "%h", held).Replace(insert)
	}
	tests := []struct{ name, query, want string }{
		{"update", `UPDATE budget_entries SET held = 1`, "never changed"},
		{"delete", `DELETE FROM budget_entries`, "never deleted"},
		{"replaced", strings.Replace(with("1", "sent", "0"), "INSERT", "INSERT OR REPLACE", 1), "never deleted"},
		{"past the allowance", with("id + 1", "reserve", "41"), "allowance exhausted"},
		{"settles less than was held", with("1", "void", "-59"), "not what was reserved"},
		{"of no reservation", with("7", "sent", "0"), "no such reservation"},
		{"back in time", strings.Replace(with("id + 1", "reserve", "1"), "at_ms, ''", "at_ms - 1, ''", 1), "does not follow"},
		{"with a gap", strings.Replace(with("id + 2", "reserve", "1"), "id + 1", "id + 2", 1), "does not follow"},
		{"outside every period", strings.Replace(with("id + 1", "reserve", "1"), "at_ms, ''", "at_ms + 99999999999, ''", 1), "no allowance"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := s.DB.Write.ExecContext(t.Context(), tt.query)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	mustVerify(t, a)
}

func TestVerify_FindsTampering(t *testing.T) {
	tests := []struct{ name, query, want string }{
		{"an amount", `UPDATE budget_entries SET spent = 1, free = 9 WHERE kind = 'settle'`, "entry 3: the book"},
		{"a purpose", `UPDATE budget_entries SET model = 'other' WHERE id = 1`, "entry 1: the book"},
		{"an entry removed", `DELETE FROM budget_entries WHERE id = 2`, "entry 3: the book"},
		{"the sum of spent tokens", `UPDATE budget_periods SET spent = 0`, "period from 2026-03-01"},
		{"the sum of held tokens", `UPDATE budget_allowances SET held = 4`, "allowance month holds 4"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := mustStore(t)
			a := mustOpen(t, s.DB.Write, monthly(1000))
			id := mustReserve(t, a, 10, noon).ID
			if err := errors.Join(a.MarkSent(t.Context(), id), a.Settle(t.Context(), id, reported(7))); err != nil {
				t.Fatal(err)
			}
			_, err := s.DB.Write.ExecContext(t.Context(), `
				DROP TRIGGER budget_entries_no_update;
				DROP TRIGGER budget_entries_no_delete;
				PRAGMA foreign_keys = OFF;`+tt.query)
			if err != nil {
				t.Fatal(err)
			}
			_, err = a.Verify(t.Context())
			if !errors.Is(err, budget.ErrMismatch) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReport_AveragesAndParts(t *testing.T) {
	s := mustStore(t)
	a := mustOpen(t, s.DB.Write, monthly(10_000_000))
	r := mustReport(t, a, noon)
	if !r.AverageIsGuess || r.Average != 4000 || r.ReRunsPerAllowance != 2500 {
		t.Errorf("before samples: %+v", r)
	}
	for i, attempt := range []int64{1, 1, 2, 0} {
		at := noon.AddDate(0, 0, i)
		res, err := a.Reserve(t.Context(), budget.Request{
			Tokens: 5000, Now: at, Purpose: budget.Purpose{AttemptID: attempt, Endpoint: "e", Model: "m"},
		})
		if err != nil {
			t.Fatal(err)
		}
		usage := budget.Usage{Prompt: 900, Completion: 100, Reported: attempt != 2}
		if err := a.Settle(t.Context(), res.ID, usage); err != nil {
			t.Fatal(err)
		}
	}
	r = mustReport(t, a, noon)
	if r.ReRuns != 2 || r.Average != 3500 || r.AverageIsGuess {
		t.Errorf("re-runs %d, average %d, guess %t, want 2, 3500, false", r.ReRuns, r.Average, r.AverageIsGuess)
	}
	if r.Spent != 8000 || r.AssumedShare != 0.625 || len(r.Days) != 4 || r.BooksAhead != 72*time.Hour {
		t.Errorf("got %+v", r)
	}
	want := budget.Spend{Endpoint: "e", Model: "m", Requests: 4, ReRuns: 2, Tokens: 8000, Assumed: 5000, Prompt: 2700, Completion: 300}
	if len(r.Models) != 1 || r.Models[0] != want {
		t.Errorf("models: got %+v, want %+v", r.Models, want)
	}
	// Seen through the reading connections too, and with last month's average.
	v, err := budget.View(s.DB.Read, budget.Options{Allowances: []budget.Allowance{monthly(10_000_000)}})
	if err != nil {
		t.Fatal(err)
	}
	if r := mustReport(t, v, noon.AddDate(0, 1, 0)); r.ReRuns != 0 || r.Average != 3500 || r.ReRunsLeft != 2857 {
		t.Errorf("next month: %+v", r)
	}
}
