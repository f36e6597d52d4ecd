package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nightaudit/configs"
	"nightaudit/scheduler"
	"nightaudit/systemd"
)

func runCmd(config *string) *cobra.Command {
	var once, reaudit, dryRun, asJSON bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Audit every night on the schedule, or once now",
		Long: `run stays and makes a pass on the configured schedule; a night that was missed is
caught up. With --once it makes one pass over the sources and exits.

A pass audits what is new or changed, queues what is contradicted, and re-runs what
is queued within the allowance. It can be stopped at any moment and started again.
SIGTERM ends it after the step in hand.

Exit status: 0 it did its work, whatever was found; 3 it could not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(*config)
			if err != nil {
				return err
			}
			if len(cfg.Sources) == 0 {
				return hintError{errors.New("no sources are configured, so there is nothing to audit"), "name your agents' folders below sources: in the configuration"}
			}
			format := "text"
			if asJSON {
				format = "json"
			}
			log := newLogger(cmd.ErrOrStderr(), cfg)
			n, err := openNight(cmd.Context(), cfg, nightOptions{getenv: os.Getenv, log: log, now: time.Now, reaudit: reaudit, dryRun: dryRun})
			if err != nil {
				return err
			}
			defer n.close()
			if once || dryRun {
				return n.once(cmd.Context(), cmd.OutOrStdout(), format)
			}
			return n.daemon(cmd.Context(), cmd.OutOrStdout(), format)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "make one pass now and exit")
	cmd.Flags().BoolVar(&reaudit, "reaudit", false, "audit what has not changed too, by the claims as they are now")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "make one pass, write no verdicts and send nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print digests as JSON")
	return cmd
}

// daemon makes a pass a slot until the context ends.
func (n *night) daemon(ctx context.Context, w io.Writer, format string) error {
	zone, err := location("timezone", n.cfg.Timezone)
	if err != nil {
		return err
	}
	schedule, err := scheduler.ParseSchedule(n.cfg.Schedule, zone)
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	slots := scheduler.NewSlots(n.store)
	loop := scheduler.Loop{
		Schedule: schedule, Slots: slots, CatchUp: scheduler.CatchUp(n.cfg.CatchUp), Log: n.opts.log,
		Pass:   func(ctx context.Context, _ scheduler.Slot) error { return n.once(ctx, w, format) },
		OnTick: func() { n.notify(systemd.Alive) },
	}
	for _, s := range schedule.Next(time.Now(), 1) {
		n.opts.log.Info("waiting", "next", s.Due.Format(time.RFC3339))
	}
	n.notify(systemd.Ready)
	defer n.notify(systemd.Stopping)
	return loop.Run(ctx)
}

// notify tells systemd, where it listens. A failure is only logged: the work does
// not depend on it.
func (n *night) notify(state string) {
	if err := systemd.Notify(n.opts.getenv, state); err != nil {
		n.opts.log.Warn("systemd was not told", "state", state, "error", err)
	}
}

// loadConfig reads the configuration: the file given, or named by the environment,
// else the first that exists of the usual places, else the defaults.
func loadConfig(path string) (configs.Config, error) {
	if path != "" {
		return configs.Load(path, os.Getenv)
	}
	usual := configs.DefaultPath(os.Getenv)
	if len(usual) == 1 {
		return configs.Load(usual[0], os.Getenv)
	}
	for _, p := range usual {
		if _, err := os.Stat(p); err == nil {
			return configs.Load(p, os.Getenv)
		}
	}
	return configs.Load("", os.Getenv)
}

func newLogger(w io.Writer, cfg configs.Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cfg.Log.Level)); err != nil {
		level = slog.LevelInfo // Validate has let only known words through
	}
	opts := &slog.HandlerOptions{Level: level}
	if cfg.Log.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
