package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nightaudit/budget"
	"nightaudit/configs"
	"nightaudit/report"
	"nightaudit/rerun"
	"nightaudit/rerun/endpoint"
	"nightaudit/rerun/tools"
	"nightaudit/scheduler"
	"nightaudit/store"
	"nightaudit/trace"
	"nightaudit/trace/custom"
)

// databaseName is the SQLite file below the state directory.
const databaseName = "nightaudit.db"

// scratchName is the folder, below the state directory, in which copies of agents'
// databases lie for a moment.
const scratchName = "scratch"

// nightOptions are what a night takes from its surroundings.
type nightOptions struct {
	getenv func(string) string
	log    *slog.Logger
	now    func() time.Time
	// reaudit and dryRun are those of scheduler.Pass.
	reaudit, dryRun bool
}

// night is everything that a pass works with, opened and put together.
type night struct {
	cfg     configs.Config
	opts    nightOptions
	unlock  func() error
	store   *store.Store
	queue   *rerun.Queue
	account *budget.Account
	pass    *scheduler.Pass
	since   time.Time // what the next digest begins with: also what the start had to mend
	plan    string    // why nothing is re-run, "" where an endpoint is configured
}

// openNight opens the state directory for working on it: it takes the lock,
// brings the database up to date, and closes what a killed program left open.
func openNight(ctx context.Context, cfg configs.Config, o nightOptions) (n *night, err error) {
	n = &night{cfg: cfg, opts: o, since: o.now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.close())
		}
	}()
	if err := os.MkdirAll(cfg.StateDir, 0o700); err != nil {
		return n, fmt.Errorf("state directory (state_dir): %w", err)
	}
	if n.unlock, err = scheduler.Lock(filepath.Join(cfg.StateDir, "lock")); err != nil {
		return n, err
	}
	if err := os.RemoveAll(filepath.Join(cfg.StateDir, scratchName)); err != nil { // of a run that was killed
		return n, fmt.Errorf("state directory (state_dir): %w", err)
	}
	if n.store, err = store.Open(ctx, filepath.Join(cfg.StateDir, databaseName), store.Options{Now: o.now}); err != nil {
		return n, err
	}
	n.queue = rerun.NewQueue(n.store.DB.Write)
	if err := n.openBooks(ctx); err != nil {
		return n, err
	}
	if err := n.recover(ctx); err != nil {
		return n, n.store.Explain(err)
	}
	return n, n.build()
}

// recover closes what a killed program left open.
func (n *night) recover(ctx context.Context) error {
	books, err := n.account.Recover(ctx, n.opts.now())
	if err != nil {
		return err
	}
	cutOff, err := n.queue.Recover(ctx, n.opts.now())
	if err != nil {
		return err
	}
	if books.Settled+books.Voided > 0 || cutOff > 0 {
		n.opts.log.Warn("the last run was cut off", "attempts", cutOff, "reservations_voided", books.Voided, "reservations_booked_whole", books.Settled, "tokens", books.Tokens)
	}
	return nil
}

// build puts the pass together.
func (n *night) build() error {
	set, observes, err := toolsOf(n.cfg)
	if err != nil {
		return err
	}
	pack, err := rulesOf(n.cfg.Rules)
	if err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	sources, err := sourcesOf(n.cfg)
	if err != nil {
		return err
	}
	n.pass = &scheduler.Pass{
		Rules: pack,
		Store: n.store, Queue: n.queue, Sources: sources, Policy: rerun.Policy{Unsupported: n.cfg.Rerun.Unsupported}, Tools: set,
		Settle: n.cfg.Settle, Reaudit: n.opts.reaudit, DryRun: n.opts.dryRun, Now: n.opts.now, Log: n.opts.log,
	}
	client, plan, err := endpointOf(n.cfg, n.opts.getenv)
	if err != nil {
		return err
	}
	if n.plan = plan; client == nil {
		return nil
	}
	n.pass.Runner = rerun.New(rerun.Options{
		Queue: n.queue, Account: n.account, Endpoint: client, Name: n.cfg.Endpoint.Name, Fingerprint: fingerprint(n.cfg, n.opts.getenv), Model: n.cfg.Endpoint.Model,
		Tools: set, Observes: observes, Tables: pack.Tables, Limits: limitsOf(n.cfg), Dir: filepath.Join(n.cfg.StateDir, "reruns"),
		First: scheduler.FirstTrace(n.pass.Sources), Now: n.opts.now,
	})
	return nil
}

func (n *night) close() error {
	var errs []error
	if n.store != nil {
		errs = append(errs, n.store.Close())
	}
	if n.unlock != nil {
		errs = append(errs, n.unlock())
	}
	return errors.Join(errs...)
}

// once makes one pass and prints its digest.
func (n *night) once(ctx context.Context, w io.Writer, format string) error {
	if err := n.openBooks(ctx); err != nil {
		return err
	}
	// Not only at the start: a pass before this one, in the same process, may have
	// failed between a request and its booking (a full disk), and its segment would
	// count as running until the next restart.
	if err := n.recover(ctx); err != nil {
		return n.store.Explain(err)
	}
	tally, err := n.pass.Run(ctx)
	n.opts.log.Info("pass ended", "seen", tally.Seen, "unchanged", tally.Unchanged, "growing", tally.Growing, "audited", tally.Audited,
		"failed", tally.Failed, "quarantined", tally.Quarantined, "queued", tally.Queued, "attempts", tally.Attempts)
	if err != nil {
		return fmt.Errorf("the pass was cut off; what was done stays done: %w", err)
	}
	since := n.since
	n.since = n.opts.now()
	return n.digest(ctx, w, format, since)
}

// digest prints what has happened since a time.
func (n *night) digest(ctx context.Context, w io.Writer, format string, since time.Time) error {
	d, err := scheduler.Digest(ctx, n.store, n.queue, n.account, since, n.opts.now())
	if err != nil {
		return err
	}
	if d.PlanMode, err = leftAlone(ctx, n.cfg, n.queue, n.opts.getenv, n.plan, n.opts.now()); err != nil {
		return err
	}
	if format == "json" {
		return report.NightJSON(w, d)
	}
	return report.NightText(w, d)
}

// openBooks puts the allowances in force. The cap of a night follows from what is
// left, so this is done anew for every pass.
func (n *night) openBooks(ctx context.Context) error {
	account, err := booksOf(ctx, n.cfg, n.opts.now(), func(o budget.Options) (*budget.Account, error) {
		o.Now = n.opts.now
		return budget.Open(ctx, n.store.DB.Write, o)
	})
	if err != nil {
		return n.store.Explain(err)
	}
	n.account = account
	if n.pass != nil && n.pass.Runner != nil {
		n.pass.Runner.Account = account
	}
	return nil
}

// booksOf opens the books with the allowance of the period and the cap of a night:
// the configured one, else twice an even share of what is left of the period.
func booksOf(ctx context.Context, cfg configs.Config, now time.Time, open func(budget.Options) (*budget.Account, error)) (*budget.Account, error) {
	zone, err := location("budget.timezone", cfg.Budget.Timezone)
	if err != nil {
		return nil, err
	}
	all := []budget.Allowance{{Name: "overall", Tokens: cfg.Budget.Tokens, Period: budget.Period(cfg.Budget.Period), Zone: zone}}
	account, err := open(budget.Options{Allowances: all})
	if err != nil {
		return nil, err
	}
	nightly := cfg.Budget.Nightly
	if nightly == 0 {
		r, err := account.Report(ctx, now)
		if err != nil {
			return nil, err
		}
		nights := int64(r.End.Sub(now)/(24*time.Hour)) + 1
		nightly = min(r.Left, 2*(r.Left/max(nights, 1)))
	}
	return open(budget.Options{Allowances: append(all, budget.Allowance{Name: "nightly", Tokens: nightly, Period: budget.Night, Zone: zone})})
}

// location loads a zone; "" is the machine's own.
func location(key, name string) (*time.Location, error) {
	if name == "" {
		return time.Local, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return zone, nil
}

func limitsOf(cfg configs.Config) rerun.Limits {
	l := rerun.DefaultLimits
	l.ModelCalls, l.ToolCalls, l.Tokens, l.WallClock = cfg.Rerun.ModelCalls, cfg.Rerun.ToolCalls, cfg.Rerun.Tokens, cfg.Rerun.WallClock
	return l
}

func toolsOf(cfg configs.Config) (*tools.Set, map[string][]string, error) {
	var list []tools.Command
	observes := map[string][]string{}
	for _, t := range cfg.Tools {
		schema, err := t.ParametersJSON(os.ReadFile)
		if err != nil {
			return nil, nil, fmt.Errorf("tool %s: %w", t.Name, err)
		}
		list = append(list, tools.Command{
			Name: t.Name, Description: t.Description, Parameters: schema, Argv: t.Argv, Timeout: t.Timeout, MaxOutput: t.MaxOutput,
			Class: tools.Class(t.Class), Dir: t.Dir, Env: t.Env,
		})
		observes[t.Name] = t.Observes
	}
	set, err := tools.NewSet(list)
	if err != nil {
		return nil, nil, fmt.Errorf("tools: %w", err)
	}
	return set, observes, nil
}

// fingerprint stands for the endpoint's configuration, key included, so that a
// changed one is asked again although the old one was refused.
func fingerprint(cfg configs.Config, getenv func(string) string) string {
	key, err := cfg.APIKey(getenv, os.ReadFile)
	if err != nil {
		return ""
	}
	h := sha256.Sum256([]byte(strings.Join([]string{cfg.Endpoint.BaseURL, cfg.Endpoint.Model, key}, "\x00")))
	return hex.EncodeToString(h[:8])
}

// leftAlone says why nothing is re-run: plan, or what the endpoint has said.
func leftAlone(ctx context.Context, cfg configs.Config, q *rerun.Queue, getenv func(string) string, plan string, now time.Time) (string, error) {
	if plan != "" {
		return plan, nil
	}
	until, why, err := q.Left(ctx, cfg.Endpoint.Name, fingerprint(cfg, getenv), now)
	switch {
	case err != nil || until.IsZero():
		return "", err
	case rerun.Forever(until):
		return "the endpoint is left alone until its configuration changes, or a rerun by hand succeeds: " + why, nil
	default:
		return "the endpoint is left alone until " + until.Format(time.RFC3339) + ": " + why, nil
	}
}

// endpointOf makes the client, or says why there is none.
func endpointOf(cfg configs.Config, getenv func(string) string) (*endpoint.Client, string, error) {
	e := cfg.Endpoint
	switch {
	case !cfg.Rerun.Enabled:
		return nil, "re-runs are switched off (rerun.enabled)", nil
	case e.BaseURL == "":
		return nil, "no endpoint is configured (endpoint.base_url); everything was done but the request", nil
	}
	key, err := cfg.APIKey(getenv, os.ReadFile)
	if err != nil {
		return nil, "", err
	}
	c, err := endpoint.New(endpoint.Options{
		Name: e.Name, BaseURL: e.BaseURL, Model: e.Model, Key: key, Timeout: e.Timeout, MaxCompletion: e.MaxCompletion,
		MaxCompletionField: e.MaxCompletionField, ContextWindow: e.ContextWindow, AllowPlainHTTP: e.AllowPlainHTTP,
	})
	if err != nil {
		return nil, "", fmt.Errorf("endpoint: %w", err)
	}
	return c, "", nil
}

// sourcesOf makes the sources of a night, with the operator's own formats compiled.
func sourcesOf(cfg configs.Config) ([]scheduler.Source, error) {
	own := map[string]trace.Reader{}
	for _, f := range cfg.Formats {
		filter := f.JQ
		if f.JQFile != "" {
			text, err := os.ReadFile(f.JQFile)
			if err != nil {
				return nil, fmt.Errorf("formats: %w", plainPath(err))
			}
			filter = string(text)
		}
		format, err := custom.New(f.Name, filter)
		if err != nil {
			return nil, fmt.Errorf("formats: %w", err)
		}
		own[f.Name] = format.Read
	}
	var out []scheduler.Source
	for _, s := range cfg.Sources {
		src := scheduler.Source{Name: s.Name, Patterns: s.Paths, Format: s.Format, Own: own[s.Format], Scratch: filepath.Join(cfg.StateDir, scratchName)}
		for _, e := range s.Expect {
			src.Expect = append(src.Expect, scheduler.Expect{Path: e.Path, Task: e.Task, Claims: e.Claims})
		}
		out = append(out, src)
	}
	return out, nil
}
