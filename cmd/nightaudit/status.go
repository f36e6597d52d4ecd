package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nightaudit/configs"
	"nightaudit/report"
	"nightaudit/scheduler"
)

func statusCmd(config *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the last and next runs, the queue, and what is left of the allowance",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := loadConfig(*config)
			if err != nil {
				return err
			}
			return view(cmd.Context(), cfg, func(v viewed) error { return status(cmd, cfg, v) })
		},
	}
}

func status(cmd *cobra.Command, cfg configs.Config, v viewed) error {
	w := cmd.OutOrStdout()
	zone, err := location("timezone", cfg.Timezone)
	if err != nil {
		return err
	}
	schedule, err := scheduler.ParseSchedule(cfg.Schedule, zone)
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	recent, err := scheduler.NewSlots(v.store).Recent(cmd.Context(), 5)
	if err != nil {
		return err
	}
	fmt.Fprintln(w, "last runs of the schedule")
	if len(recent) == 0 {
		fmt.Fprintln(w, "  none yet")
	}
	for _, s := range recent {
		fmt.Fprintf(w, "  %s  %s  %s\n", s.Label, s.State, report.Safe(s.Reason))
	}
	fmt.Fprintf(w, "next runs (%s)\n", cfg.Schedule)
	for _, s := range schedule.Next(time.Now(), 5) {
		fmt.Fprintf(w, "  %s\n", s.Due.Format(time.RFC1123Z))
	}
	now := time.Now()
	d, err := scheduler.Digest(cmd.Context(), v.store, v.queue, v.account, now, now)
	if err != nil {
		return err
	}
	if d.PlanMode, err = leftAlone(cmd.Context(), cfg, v.queue, os.Getenv, planMode(cfg), now); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return report.QueueText(w, d)
}

// planMode says why nothing is re-run, "" where an endpoint is configured. The
// key is not needed to say so.
func planMode(cfg configs.Config) string {
	_, plan, err := endpointOf(cfg, os.Getenv)
	if err != nil {
		return "the endpoint cannot be used: " + err.Error()
	}
	return plan
}
