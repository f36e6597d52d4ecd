package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nightaudit/configs"
	"nightaudit/report"
	"nightaudit/scheduler"
	"nightaudit/trace/detect"
)

// agent is a place where an agent keeps its traces.
type agent struct {
	name, title string
	env         string // names its folder, "" for none
	data        bool   // the folder lies in $XDG_DATA_HOME, else in the home directory
	folder      string
	patterns    []string
	format      string
	warning     string // what its user has to know
}

// agents are in the order of formats.md: how many have them.
var agents = []agent{
	{
		name: "claude", title: "Claude Code", env: "CLAUDE_CONFIG_DIR", folder: ".claude", patterns: []string{"projects/**/*.jsonl"}, format: "claude-code",
		warning: "it deletes traces that are 30 days old, unless cleanupPeriodDays of its settings.json says otherwise; what a finding rests on is kept, the traces are not",
	},
	{
		name: "codex", title: "Codex", env: "CODEX_HOME", folder: ".codex", format: "codex",
		patterns: []string{"sessions/**/rollout-*.jsonl*", "archived_sessions/**/rollout-*.jsonl*"},
	},
	{name: "goose", title: "goose", data: true, folder: "goose", patterns: []string{"sessions/sessions.db", "sessions/*.jsonl"}, format: "goose"},
	{name: "gemini", title: "Gemini CLI", folder: ".gemini", patterns: []string{"tmp/*/chats/session-*.json*"}, format: "gemini-cli"},
	{name: "qwen", title: "Qwen Code", folder: ".qwen", patterns: []string{"projects/*/chats/*.jsonl"}, format: "qwen-code"},
	{name: "opencode", title: "opencode", data: true, folder: "opencode", patterns: []string{"opencode.db"}, format: "opencode"},
	{name: "openhands", title: "OpenHands", folder: ".openhands", patterns: []string{"trajectories/**/*.json"}, format: "openhands"},
}

// home returns the folder of an agent.
func (a agent) home(getenv func(string) string) string {
	if dir := getenv(a.env); a.env != "" && dir != "" {
		return dir
	}
	if a.data {
		if dir := getenv("XDG_DATA_HOME"); dir != "" {
			return filepath.Join(dir, a.folder)
		}
		return filepath.Join(getenv("HOME"), ".local", "share", a.folder)
	}
	return filepath.Join(getenv("HOME"), a.folder)
}

func initCmd(config *string) *cobra.Command {
	return &cobra.Command{
		Use:   "init",
		Short: "Find the traces of agents on this machine and write a configuration for them",
		Long: `init looks for the folders in which agents keep their traces, says how many runs
each holds, and writes a commented configuration that audits them every night. A
configuration that is there already is left alone: what it lacks is printed.

Exit status: 0 it did, 3 it could not.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			path := *config
			if path == "" {
				path = configs.DefaultPath(os.Getenv)[0]
			}
			return initialise(cmd, path)
		},
	}
}

func initialise(cmd *cobra.Command, path string) error {
	w := cmd.OutOrStdout()
	var sources bytes.Buffer
	for _, a := range agents {
		if !known(a.format) {
			continue
		}
		dir := a.home(os.Getenv)
		runs, files, err := count(cmd.Context(), a, dir)
		switch {
		case errors.Is(err, fs.ErrNotExist) || err == nil && files == 0:
			continue
		case err != nil:
			return err
		}
		fmt.Fprintf(w, "%s: %d runs in %d files below %s\n", a.title, runs, files, report.Safe(dir))
		if a.warning != "" {
			fmt.Fprintf(w, "  note: %s\n", a.warning)
		}
		fmt.Fprintf(&sources, "  - name: %s\n    paths:\n", a.name)
		for _, p := range a.patterns {
			fmt.Fprintf(&sources, "      - %q\n", filepath.Join(dir, p))
		}
	}
	if sources.Len() == 0 {
		fmt.Fprintln(w, "no agent's traces were found; name your own under sources")
	}
	_, err := os.Stat(path)
	switch {
	case err == nil && sources.Len() == 0:
		fmt.Fprintf(w, "%s is there already\n", report.Safe(path))
		return nil
	case err == nil:
		fmt.Fprintf(w, "%s is there already and was left alone; its sources may be\n\nsources:\n%s", report.Safe(path), sources.String())
		return nil
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("configuration: %w", err)
	}
	text := string(configs.Example())
	if sources.Len() > 0 {
		text = strings.Replace(text, "\nsources: []\n", "\nsources:\n"+sources.String(), 1)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if err := writeNew(path, text); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	fmt.Fprintf(w, "wrote %s\nnext:  nightaudit config check, then nightaudit run --once\n", report.Safe(path))
	return nil
}

// writeNew writes a file that is not there.
func writeNew(path, text string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(text)
	return err
}

func known(format string) bool {
	_, ok := detect.Named(format)
	return ok
}

// count counts the traces of an agent. Files are not opened: one that is no
// database is a run, unless it is a sub-agent's.
func count(ctx context.Context, a agent, dir string) (runs, files int, err error) {
	if _, err := os.Stat(dir); err != nil {
		return 0, 0, err
	}
	src := scheduler.Source{Name: a.name}
	for _, p := range a.patterns {
		src.Patterns = append(src.Patterns, filepath.Join(dir, p))
	}
	for f, err := range src.Find(ctx) {
		if errors.Is(err, fs.ErrNotExist) {
			continue // one of its folders
		}
		if err != nil {
			return 0, 0, err
		}
		files++
		switch {
		case filepath.Ext(f.Path) == ".db":
			n, err := sessions(ctx, f.Path)
			if err != nil {
				return 0, 0, err
			}
			runs += n
		case !strings.HasPrefix(filepath.Base(f.Path), "agent-"):
			runs++
		}
	}
	return runs, files, nil
}

// sessions counts the runs of a database.
func sessions(ctx context.Context, path string) (n int, err error) {
	src, closer, err := scheduler.OpenTrace("", path, "")
	if err != nil {
		return 0, err
	}
	defer closer.Close()
	for run, err := range detect.Read(ctx, src) {
		if err != nil {
			return n, err
		}
		if !run.Child {
			n++
		}
	}
	return n, nil
}
