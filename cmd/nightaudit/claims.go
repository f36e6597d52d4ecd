package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"nightaudit/audit/claims"
	"nightaudit/scheduler"
)

func claimsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "claims", Short: "Work on claims files", Args: cobra.NoArgs, RunE: showHelp}
	var packs []string
	lint := &cobra.Command{
		Use:   "lint FILE…",
		Short: "Check claims files without a trace",
		Long: `lint reads claims files as audit does and says what is wrong with each: file, line,
column, the key, and what was probably meant.

Exit status: 0 every file is good, 3 one is not.`,
		Args: someFiles("claims file", "nightaudit claims lint claims.yaml"),
		RunE: func(cmd *cobra.Command, args []string) error {
			pack, err := rulesOf(packs)
			if err != nil {
				return plainPath(err)
			}
			var errs []error
			for _, file := range args {
				list, err := scheduler.LoadClaims(file, claims.SourceFile, pack.Kinds)
				if err != nil {
					errs = append(errs, plainPath(err))
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %d claims\n", file, len(list))
				for _, c := range list {
					if c.Empty() {
						fmt.Fprintf(cmd.OutOrStdout(), "%s:%d: the claim %s names nothing that would show it: it will be UNSUPPORTED\n", file, c.Line, c.ID)
					}
				}
			}
			return errors.Join(errs...)
		},
	}
	lint.Flags().StringSliceVar(&packs, "rules", nil, "rule packs of your own, beside the built-in one")
	cmd.AddCommand(lint)
	return cmd
}

// someFiles wants at least one argument, and says of what and how.
func someFiles(what, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return fmt.Errorf("no %s given; say which to check: %s", what, example)
		}
		return nil
	}
}
