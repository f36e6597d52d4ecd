package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
)

// demoToolCmd is the demo's service: a configuration file that can be read, and
// written with a check of its values. It is what an operator's own commands are
// in a real configuration.
func demoToolCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "demo-tool read|write", Hidden: true, Args: cobra.ExactArgs(1),
		Short: "The tools of the demo",
		RunE: func(cmd *cobra.Command, args []string) error {
			var arg struct {
				Path          string
				RetryInterval int `json:"retry_interval"`
			}
			if err := json.NewDecoder(io.LimitReader(cmd.InOrStdin(), 1<<16)).Decode(&arg); err != nil {
				return fmt.Errorf("read arguments: %w", err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				return err
			}
			defer root.Close()
			if args[0] == "write" {
				if arg.RetryInterval < 1 || arg.RetryInterval > 60 {
					return errors.New("validation failed: retry_interval out of range (1 to 60)")
				}
				if err := root.WriteFile(arg.Path, fmt.Appendf(nil, "{\"retry_interval\": %d}\n", arg.RetryInterval), 0o600); err != nil {
					return err
				}
			}
			data, err := root.ReadFile(arg.Path)
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(data)
			return err
		},
	}
	cmd.Flags().StringVar(&dir, "dir", ".", "folder that the files lie in")
	return cmd
}
