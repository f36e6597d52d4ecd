package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nightaudit/rerun"
)

func rerunCmd(config *string) *cobra.Command {
	return &cobra.Command{
		Use:   "rerun ID",
		Short: "Re-run one queued segment now, within the allowance",
		Long: `rerun takes the first digits of a claim's key, as the digest shows them, and tries
its segment once more, also when it has been given up. The allowance holds.

Exit status: 0 the attempt was made, whatever came of it; 3 it could not be made.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := loadConfig(*config)
			if err != nil {
				return err
			}
			n, err := openNight(cmd.Context(), cfg, nightOptions{getenv: os.Getenv, log: newLogger(cmd.ErrOrStderr(), cfg), now: time.Now})
			if err != nil {
				return err
			}
			defer n.close()
			if n.pass.Runner == nil {
				return errors.New(n.plan)
			}
			item, err := n.find(cmd, args[0])
			if err != nil {
				return err
			}
			start := n.opts.now()
			_, attemptErr := n.pass.Runner.Attempt(cmd.Context(), item)
			return errors.Join(n.digest(cmd.Context(), cmd.OutOrStdout(), "text", start), n.store.Explain(attemptErr))
		},
	}
}

// find returns the newest segment that holds a claim with this key.
func (n *night) find(cmd *cobra.Command, prefix string) (rerun.Item, error) {
	found, err := n.queue.Find(cmd.Context(), prefix)
	if err != nil {
		return rerun.Item{}, n.store.Explain(err)
	}
	if len(found) == 0 {
		return rerun.Item{}, hintError{fmt.Errorf("no queued segment holds a claim whose key begins with %s", prefix), "nightaudit report shows the keys"}
	}
	switch found[0].State {
	case "stale":
		return rerun.Item{}, fmt.Errorf("the segment of %s is stale: its trace has changed since; run a pass first", prefix)
	case "done":
		return rerun.Item{}, fmt.Errorf("the segment of %s is repaired already", prefix)
	}
	return found[0].Item, nil
}
