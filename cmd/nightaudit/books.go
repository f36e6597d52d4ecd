package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"nightaudit/budget"
	"nightaudit/configs"
	"nightaudit/report"
	"nightaudit/rerun"
	"nightaudit/scheduler"
	"nightaudit/store"
)

// viewed is the state directory opened for looking only, beside a daemon.
type viewed struct {
	store   *store.Store
	queue   *rerun.Queue
	account *budget.Account
}

// view opens the database read-only and hands it to use.
func view(ctx context.Context, cfg configs.Config, use func(viewed) error) error {
	path := filepath.Join(cfg.StateDir, databaseName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return hintError{fmt.Errorf("nothing is recorded yet: %s does not exist", path), "nightaudit run --once makes a first pass"}
	}
	st, err := store.Open(ctx, path, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	defer st.Close()
	account, err := booksOf(ctx, cfg, time.Now(), func(o budget.Options) (*budget.Account, error) { return budget.View(st.DB.Read, o) })
	if err != nil {
		return st.Explain(err)
	}
	return st.Explain(use(viewed{st, rerun.NewQueue(st.DB.Read), account}))
}

func budgetCmd(config *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "budget",
		Short: "Show the books: allowance, held, spent, left, and how many re-runs that buys",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(*config)
			if err != nil {
				return err
			}
			return view(cmd.Context(), cfg, func(v viewed) error {
				r, err := v.account.Report(cmd.Context(), time.Now())
				if err != nil {
					return fmt.Errorf("read the books: %w", err)
				}
				if asJSON {
					return report.BudgetJSON(cmd.OutOrStdout(), r)
				}
				return report.BudgetText(cmd.OutOrStdout(), r)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func reportCmd(config *string) *cobra.Command {
	var since time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "report",
		Short:   "Show the digest of the last night, or of any time since",
		Example: `  nightaudit report --since 168h`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(*config)
			if err != nil {
				return err
			}
			return view(cmd.Context(), cfg, func(v viewed) error {
				now := time.Now()
				d, err := scheduler.Digest(cmd.Context(), v.store, v.queue, v.account, now.Add(-since), now)
				if err != nil {
					return err
				}
				if d.PlanMode, err = leftAlone(cmd.Context(), cfg, v.queue, os.Getenv, planMode(cfg), now); err != nil {
					return err
				}
				if asJSON {
					return report.NightJSON(cmd.OutOrStdout(), d)
				}
				return report.NightText(cmd.OutOrStdout(), d)
			})
		},
	}
	cmd.Flags().DurationVar(&since, "since", 24*time.Hour, "how far to look back")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON document")
	return cmd
}

func verifyCmd(config *string) *cobra.Command {
	return &cobra.Command{
		Use:   "verify",
		Short: "Recompute the books and their chain of hashes from the entries",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(*config)
			if err != nil {
				return err
			}
			return view(cmd.Context(), cfg, func(v viewed) error {
				if err := v.store.DB.Check(cmd.Context(), true); err != nil {
					return err
				}
				found, err := v.account.Verify(cmd.Context())
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "the database is whole, and the books agree: %d entries, head %s\n", found.Entries, found.Head)
				return err
			})
		},
	}
}

func configCmd(config *string) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Check or show the configuration", Args: cobra.NoArgs, RunE: showHelp}
	cmd.AddCommand(
		&cobra.Command{
			Use: "check", Short: "Read the configuration and say what is wrong with it, or the next five runs", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := loadConfig(*config)
				if err != nil {
					return err
				}
				return checkConfig(cmd, cfg)
			},
		},
		&cobra.Command{
			Use: "show", Short: "Print the configuration in force", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				cfg, err := loadConfig(*config)
				if err != nil {
					return err
				}
				text, err := cfg.Show()
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(text)
				return err
			},
		},
		&cobra.Command{
			Use: "default", Short: "Print the commented default configuration, to start from", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				_, err := cmd.OutOrStdout().Write(configs.Example())
				return err
			},
		},
	)
	return cmd
}

// checkConfig puts everything together that a night would use, without touching
// the state.
func checkConfig(cmd *cobra.Command, cfg configs.Config) error {
	zone, err := location("timezone", cfg.Timezone)
	if err != nil {
		return err
	}
	schedule, err := scheduler.ParseSchedule(cfg.Schedule, zone)
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	_, _, toolsErr := toolsOf(cfg)
	_, plan, endpointErr := endpointOf(cfg, os.Getenv)
	_, budgetErr := location("budget.timezone", cfg.Budget.Timezone)
	_, rulesErr := rulesOf(cfg.Rules)
	_, formatsErr := sourcesOf(cfg)
	if err := errors.Join(toolsErr, endpointErr, budgetErr, rulesErr, formatsErr); err != nil {
		return err
	}
	w := cmd.OutOrStdout()
	fmt.Fprintln(w, "the configuration is good; the next runs are")
	for _, s := range schedule.Next(time.Now(), 5) {
		fmt.Fprintf(w, "  %s\n", s.Due.Format(time.RFC1123Z))
	}
	if len(cfg.Sources) == 0 {
		fmt.Fprintln(w, "no sources are configured yet: there is nothing to audit")
	}
	if plan != "" {
		fmt.Fprintf(w, "plan mode: %s\n", plan)
	}
	return nil
}
