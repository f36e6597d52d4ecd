package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
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

// find returns the newest segment that holds the claim whose key begins so. What
// fits several claims is refused: tokens are spent on the one that was meant.
func (n *night) find(cmd *cobra.Command, prefix string) (rerun.Item, error) {
	if prefix == "" {
		return rerun.Item{}, hintError{errors.New("an empty ID names no claim"), "nightaudit report shows the keys"}
	}
	found, err := n.queue.Find(cmd.Context(), prefix)
	if err != nil {
		return rerun.Item{}, n.store.Explain(err)
	}
	if len(found) == 0 {
		return rerun.Item{}, hintError{fmt.Errorf("no queued segment holds a claim whose key begins with %s", prefix), "nightaudit report shows the keys"}
	}
	if keys := keysWith(found, prefix); len(keys) > 1 {
		return rerun.Item{}, fmt.Errorf("%s begins the keys of %d claims: %s; give more digits", prefix, len(keys), strings.Join(keys, ", "))
	}
	switch found[0].State {
	case "stale":
		return rerun.Item{}, fmt.Errorf("the segment of %s is stale: its trace has changed since; run a pass first", prefix)
	case "done":
		return rerun.Item{}, fmt.Errorf("the segment of %s is repaired already", prefix)
	}
	return found[0].Item, nil
}

// keysWith lists the claims' keys that begin with prefix, each once, as short as
// people are shown them unless more digits were asked for.
func keysWith(found []rerun.Waiting, prefix string) []string {
	var out []string
	for _, w := range found {
		for _, c := range w.Claims {
			key := c.Key[:min(len(c.Key), max(8, len(prefix)+1))]
			if strings.HasPrefix(c.Key, prefix) && !slices.Contains(out, key) {
				out = append(out, key)
			}
		}
	}
	return out
}
