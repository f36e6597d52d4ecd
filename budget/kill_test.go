package budget_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nightaudit/budget"
	"nightaudit/store"
)

// childEnv makes the test binary the program that is killed: its value is the
// folder of the store and of the list of what an endpoint burned.
const childEnv = "NIGHTAUDIT_TEST_SPENDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childEnv); dir != "" {
		if err := spend(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const killAllowance = 1_000_000

// spend reserves, sends, burns and settles for ever, and says after each step
// that it is done. Tokens are burned after the mark and before the settlement.
func spend(dir string) error {
	ctx := context.Background()
	s, err := store.Open(ctx, filepath.Join(dir, "night.db"), store.Options{})
	if err != nil {
		return err
	}
	a, err := budget.Open(ctx, s.DB.Write, budget.Options{
		Allowances: []budget.Allowance{monthly(killAllowance)},
		Now:        func() time.Time { return noon },
	})
	if err != nil {
		return err
	}
	burned, err := os.OpenFile(filepath.Join(dir, "burned"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for {
		r, err := a.Reserve(ctx, budget.Request{Tokens: 1000, Now: noon})
		if err != nil {
			return err
		}
		fmt.Println("reserved")
		if err := a.MarkSent(ctx, r.ID); err != nil {
			return err
		}
		fmt.Println("sent")
		tokens := 1 + rand.Int64N(1000)
		if _, err := fmt.Fprintln(burned, tokens); err != nil {
			return err
		}
		fmt.Println("burned")
		if err := a.Settle(ctx, r.ID, reported(tokens)); err != nil {
			return err
		}
		fmt.Println("settled")
	}
}

func TestRecover_AfterKill(t *testing.T) {
	rounds := 24
	if testing.Short() {
		rounds = 6
	}
	dir := t.TempDir()
	for round := range rounds {
		killAfter(t, dir, 1+round+round%4)
		s, err := store.Open(t.Context(), filepath.Join(dir, "night.db"), store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		a := mustOpen(t, s.DB.Write, monthly(killAllowance))
		done, err := a.Recover(t.Context(), noon)
		if err != nil {
			t.Fatal(err)
		}
		if done.Voided+done.Settled > 1 {
			t.Errorf("round %d: %+v was open, want one reservation at most", round, done)
		}
		r, burned := mustReport(t, a, noon), burnedTokens(t, dir)
		if r.Held != 0 || r.Spent < burned || r.Spent > burned+int64(round+1)*1000 {
			t.Errorf("round %d: spent %d, held %d; burned were %d", round, r.Spent, r.Held, burned)
		}
		mustVerify(t, a)
		if err := s.DB.Check(t.Context(), true); err != nil {
			t.Error(err)
		}
		s.Close()
	}
}

// killAfter runs the child until it has reported a number of steps, and kills it
// while it is about its next one.
func killAfter(t *testing.T, dir string, steps int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range steps {
		if !lines.Scan() {
			t.Fatal("the child ended by itself")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("the child was not killed: %v", err)
	}
}

func burnedTokens(t *testing.T, dir string) (sum int64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "burned"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, line := range strings.Fields(string(text)) {
		var n int64
		if _, err := fmt.Sscan(line, &n); err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

func TestRecover_NeverSentIsVoidSentIsWhole(t *testing.T) {
	a := mustOpen(t, mustStore(t).DB.Write, monthly(1000))
	mustReserve(t, a, 100, noon)
	sent := mustReserve(t, a, 200, noon)
	if err := a.MarkSent(t.Context(), sent.ID); err != nil {
		t.Fatal(err)
	}
	want := budget.Recovered{Voided: 1, Settled: 1, Tokens: 200}
	for range 2 { // a second time there is nothing left to do
		got, err := a.Recover(t.Context(), noon.Add(time.Hour))
		if err != nil || got != want {
			t.Errorf("got %+v, %v, want %+v", got, err, want)
		}
		want = budget.Recovered{}
	}
	if r := mustReport(t, a, noon); r.Spent != 200 || r.Held != 0 || r.AssumedShare != 1 {
		t.Errorf("got %+v", r)
	}
	mustVerify(t, a)
}
