package rerun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightaudit/audit/claims"
	"nightaudit/budget"
	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/store"
)

// model is a scripted Completer: its answers in order, the last one repeated. It
// prepares requests as the real client does.
type model struct {
	*endpoint.Client
	answers []answer
	sent    int
}

type answer struct {
	calls []string // tool and arguments: `config.read {"path": "f"}`
	text  string
	usage *endpoint.Usage // nil: 100 tokens; see noUsage
	err   error
}

var noUsage = &endpoint.Usage{Total: -1}

func (m *model) Do(context.Context, endpoint.Prepared) (endpoint.Reply, error) {
	a := m.answers[min(m.sent, len(m.answers)-1)]
	m.sent++
	if a.err != nil {
		return endpoint.Reply{}, a.err
	}
	r := endpoint.Reply{Text: a.text, Model: "m", Usage: &endpoint.Usage{Prompt: 80, Completion: 20, Total: 100}}
	if a.usage == noUsage {
		r.Usage = nil
	}
	for i, c := range a.calls {
		name, args, _ := strings.Cut(c, " ")
		r.ToolCalls = append(r.ToolCalls, endpoint.ToolCall{ID: fmt.Sprintf("call_%d_%d", m.sent, i), Name: name, Arguments: json.RawMessage(args)})
	}
	return r, nil
}

// bench is a queue, books and tools on a real database in a temporary folder.
type bench struct {
	dir     string
	store   *store.Store
	runner  *Runner
	model   *model
	account *budget.Account
}

func newBench(t *testing.T, dir string, answers ...answer) *bench {
	t.Helper()
	ctx := context.Background()
	st, err := store.Open(ctx, filepath.Join(dir, "nightaudit.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	account, err := budget.Open(ctx, st.DB.Write, budget.Options{Allowances: []budget.Allowance{{Name: "overall", Tokens: 100_000}}})
	if err != nil {
		t.Fatal(err)
	}
	client, err := endpoint.New(endpoint.Options{Name: "e", BaseURL: "http://127.0.0.1:1/v1", Model: "m", MaxCompletion: 100})
	if err != nil {
		t.Fatal(err)
	}
	path := `{"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}`
	value := `{"type": "object", "properties": {"path": {"type": "string"}, "value": {"type": "integer"}}, "required": ["path", "value"]}`
	set, err := tools.NewSet([]tools.Command{
		{Name: "config.read", Class: tools.ClassRead, Parameters: []byte(path), Argv: []string{"cat", "--", "{path}"}, Dir: dir},
		// Every run of it leaves a line, so that a test can count them.
		{Name: "config.write", Class: tools.ClassMutating, Parameters: []byte(value), Argv: []string{"sh", "-c", "cat >>written; echo >>written"}, Dir: dir},
		{Name: "slow.write", Class: tools.ClassMutating, Parameters: []byte(value), Argv: []string{"sh", "-c", "cat >>written; echo >>written; sleep 60"}, Timeout: slowTimeout(), Dir: dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := &bench{dir: dir, store: st, account: account, model: &model{Client: client, answers: answers}}
	b.runner = New(Options{
		Queue: NewQueue(st.DB.Write), Account: account, Endpoint: b.model, Name: "e", Model: "m", Tools: set,
		Limits: DefaultLimits, Dir: filepath.Join(dir, "reruns"), Now: time.Now,
	})
	return b
}

// slowTimeout is how long slow.write may run: not long, except in the process that
// is to be killed in there.
func slowTimeout() time.Duration {
	if os.Getenv(crashDir) != "" {
		return time.Hour
	}
	return 300 * time.Millisecond
}

// item queues one segment: config.write failed and must be shown anew.
func (b *bench) item(t *testing.T, change ...func(*Item)) Item {
	t.Helper()
	it := Item{
		Key: "segment", RunKey: strings.Repeat("ab", 32), TraceHash: "hash", Source: "s", Path: "run.jsonl", Worst: "CONTRADICTED",
		System: systemText, User: "Repair it.\n", Tools: []string{"config.read", "config.write"}, Estimate: 100,
		Claims: []Claim{{
			Key: strings.Repeat("cd", 32), Verdict: "CONTRADICTED", Reason: "failed", Source: claims.SourceFile,
			Claim: StoredClaim{ID: "c1", Text: "updated the policy", Requirement: []byte(`{"must_show": ["config.write"], "must_not_fail": ["config.write"]}`)},
		}},
	}
	for _, c := range change {
		c(&it)
	}
	tx, err := b.store.DB.Write.BeginTx(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(Enqueue(context.Background(), tx, it, time.Now()), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	return b.ready(t)
}

// ready returns the one segment that may be tried now.
func (b *bench) ready(t *testing.T) Item {
	t.Helper()
	ready, err := b.runner.Queue.Ready(context.Background(), time.Now())
	if err != nil || len(ready) != 1 {
		t.Fatalf("%d segments are ready (%v), want 1", len(ready), err)
	}
	return ready[0].Item
}

func (b *bench) state(t *testing.T) (state string, attempts int) {
	t.Helper()
	err := b.store.DB.Write.QueryRow(`SELECT state, attempts FROM rerun_queue`).Scan(&state, &attempts)
	if err != nil {
		t.Fatal(err)
	}
	return state, attempts
}

// writes counts how often a writing tool has run.
func (b *bench) writes(t *testing.T) int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "written"))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(data), "\n")
}

func (b *bench) books(t *testing.T) budget.Report {
	t.Helper()
	r, err := b.account.Report(context.Background(), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const (
	look   = `config.read {"path": "f"}`
	repair = `config.write {"path": "f", "value": 30}`
)

func call(calls ...string) answer { return answer{calls: calls} }

var done = answer{text: "done"}
