// Command nightaudit audits what agents claim against what their traces record,
// by hand (audit, cut) or every night (run), and re-runs what is contradicted
// within a token allowance.
//
// This package wires the stages together, one file a subcommand, and decides
// nothing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Exit codes. Only audit speaks verdicts by exit code; everything else is 0 when
// it did its work and 3 when it could not.
const (
	exitPass         = 0
	exitContradicted = 1
	exitUnsupported  = 2
	exitCannotRun    = 3
)

// exitError carries a verdict's exit code out of a command.
type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprintf("exit %d", e.code) }

// hintError adds a line that says what to do.
type hintError struct {
	error
	hint string
}

func (e hintError) Unwrap() error { return e.error }

// run is main without the process around it. A panic is a bug of ours: it is said
// so, and it is never taken for a verdict.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "nightaudit: this is a bug, please report it: %v\n%s", p, debug.Stack())
			code = exitCannotRun
		}
	}()
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var exit exitError
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &exit):
		return exit.code
	}
	fmt.Fprintf(stderr, "nightaudit: %v\n", err)
	var hint hintError
	if errors.As(err, &hint) {
		fmt.Fprintf(stderr, "nightaudit: hint: %s\n", hint.hint)
	}
	return exitCannotRun
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "nightaudit",
		Short: "Audits what agents claim against what their traces record",
		Long: `nightaudit holds an agent's end-of-run claims against the trace of its tool calls
and says PASS, UNSUPPORTED or CONTRADICTED, each with its evidence.

Start with:  nightaudit demo
Then:        nightaudit init, or nightaudit audit TRACE --claims CLAIMS`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version(),
		Args:          cobra.NoArgs,
		RunE:          showHelp,
	}
	root.SetVersionTemplate("nightaudit {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	var config string
	root.PersistentFlags().StringVar(&config, "config", "", "configuration file (default: the first of $NIGHTAUDIT_CONFIG, ~/.config/nightaudit/nightaudit.yaml, /etc/nightaudit/nightaudit.yaml)")
	root.AddCommand(
		auditCmd(), cutCmd(&config), runCmd(&config), rerunCmd(&config), budgetCmd(&config), reportCmd(&config), statusCmd(&config), explainCmd(&config), convertCmd(), claimsCmd(), rulesCmd(), verifyCmd(&config), configCmd(&config),
		initCmd(&config), demoCmd(), demoToolCmd(),
	)
	return root
}

// showHelp is what a command does that only has subcommands. It makes cobra refuse
// an unknown one instead of taking it for a wish for help.
func showHelp(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// linkedVersion is set by the linker in a release.
var linkedVersion string

func version() string {
	if linkedVersion != "" {
		return linkedVersion
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
