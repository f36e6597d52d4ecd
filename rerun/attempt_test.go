package rerun

import (
	"testing"

	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
)

func TestAttempt(t *testing.T) {
	refused := &endpoint.Error{Class: endpoint.ClassDisable, Status: 401, Billed: endpoint.BillingNot, Message: "bad key"}
	lost := &endpoint.Error{Class: endpoint.ClassRepair, Billed: endpoint.BillingUnknown, Message: "connection lost"}
	tests := []struct {
		name    string
		answers []answer
		change  func(*Item)
		limits  func(*Limits)
		outcome Outcome
		stop    string
		state   string
		writes  int
		sent    int
		spent   int64 // -1: not compared
	}{
		{"write and look", []answer{call(look), call(repair), call(look), done}, nil, nil, Repaired, "end_turn", "done", 1, 4, 400},
		{"write without a look", []answer{call(repair), done}, nil, nil, StillFailing, "end_turn", "queued", 1, 2, 200},
		{"a look before the write shows nothing", []answer{call(look), call(repair), done}, nil, nil, StillFailing, "end_turn", "queued", 1, 3, 300},
		{"a look at something else shows nothing", []answer{call(repair), call(`config.read {"path": "written"}`), done}, nil, nil, StillFailing, "end_turn", "queued", 1, 3, 300},
		{"the write of the first run is not repeated", []answer{call(look), call(repair), call(look), done}, func(it *Item) {
			it.Done = []PastCall{{Tool: "config.write", Known: true, Line: 3, Key: tools.Key(it.RunKey, "config.write", []byte(`{"value": 30.0, "path": "f"}`))}}
		}, nil, StillFailing, "end_turn", "queued", 0, 4, 400},
		{"a write of unknown end is looked at first", []answer{call(repair), call(look), call(repair), call(look), done}, func(it *Item) {
			it.Done = []PastCall{{Tool: "config.write", Line: 3, Key: tools.Key(it.RunKey, "config.write", []byte(`{"value": 30, "path": "f"}`))}}
		}, nil, Repaired, "end_turn", "done", 1, 5, 500},
		{"two writes in one answer happen once", []answer{call(repair, repair), call(look), done}, nil, nil, Repaired, "end_turn", "done", 1, 3, 300},
		{"giving up", []answer{call(`give_up {"reason": "no right to"}`)}, nil, nil, GaveUp, GiveUp, "given_up", 0, 1, 100},
		{"calls behind giving up do not run", []answer{call(`give_up {"reason": "no"}`, repair)}, nil, nil, GaveUp, GiveUp, "given_up", 0, 1, 100},
		{"a call that is printed as text is none", []answer{{text: `{"name": "config.write", "arguments": {"path": "f", "value": 30}}`}}, nil, nil, StillFailing, "idle", "queued", 0, 2, 200},
		{"a tool that is not offered", []answer{call(`slow.write {"path": "f", "value": 1}`), done}, nil, nil, StillFailing, "end_turn", "queued", 0, 2, 200},
		{"arguments against the schema", []answer{call(`config.write {"path": "f", "value": "x"}`), done}, nil, nil, StillFailing, "end_turn", "queued", 0, 2, 200},
		{"the same call over and over", []answer{call(look)}, nil, nil, StillFailing, "identical_calls", "queued", 0, 3, 300},
		{"too many calls", []answer{call(look, repair, look)}, nil, func(l *Limits) { l.ToolCalls = 2 }, StillFailing, "tool_calls", "queued", 1, 1, 100},
		{"too many answers", []answer{call(look), call(repair), done}, nil, func(l *Limits) { l.ModelCalls = 2 }, StillFailing, "model_calls", "queued", 1, 2, 200},
		{"the attempt's own tokens", []answer{call(look)}, nil, func(l *Limits) { l.Tokens = 10 }, "", "error", "queued", 0, 0, 0},
		{"refused unbilled", []answer{{err: refused}}, nil, nil, "", "endpoint_disable", "queued", 0, 1, 0},
		{"connection lost: booked whole", []answer{{err: lost}}, nil, nil, "", "endpoint_repair", "queued", 0, 1, -1},
		{"usage not reported: booked whole", []answer{{calls: []string{look}, usage: noUsage}, done}, nil, nil, StillFailing, "end_turn", "queued", 0, 2, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, t.TempDir(), tt.answers...)
			if tt.limits != nil {
				tt.limits(&b.runner.Limits)
			}
			it := b.item(t, func(it *Item) {
				if tt.change != nil {
					tt.change(it)
				}
			})
			got, _ := b.runner.Attempt(t.Context(), it)
			if got.Outcome != tt.outcome || got.StopReason != tt.stop {
				t.Errorf("outcome %q ended by %q, want %q by %q (%s; %+v)", got.Outcome, got.StopReason, tt.outcome, tt.stop, got.Note, got.Claims)
			}
			if state, _ := b.state(t); state != tt.state {
				t.Errorf("the segment is %s, want %s", state, tt.state)
			}
			if n := b.writes(t); n != tt.writes {
				t.Errorf("%d writes, want %d", n, tt.writes)
			}
			if b.model.sent != tt.sent {
				t.Errorf("%d requests, want %d", b.model.sent, tt.sent)
			}
			r := b.books(t)
			if r.Held != 0 || tt.spent >= 0 && r.Spent != tt.spent || tt.spent < 0 && (r.Spent <= 200 || r.Assumed == 0) {
				t.Errorf("held %d, spent %d (assumed %d), want %d", r.Held, r.Spent, r.Assumed, tt.spent)
			}
			if r.Spent != got.Tokens {
				t.Errorf("the attempt says %d tokens, the books %d", got.Tokens, r.Spent)
			}
		})
	}
}
