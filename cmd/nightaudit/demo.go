package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"text/template"
	"time"

	"github.com/spf13/cobra"

	"nightaudit/audit"
	"nightaudit/configs"
	"nightaudit/report"
)

//go:embed demo
var demoFiles embed.FS

func demoCmd() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a whole night on sample traces, with a scripted endpoint",
		Long: `demo writes three sample traces to a temporary folder, starts a scripted endpoint on
loopback (no model: its answers are written down in this program), and runs the real
pass against it: audit, cut, re-run over HTTP with real command tools, the audit of
the re-run, and the books. Nothing outside the folder is read or written.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return demo(cmd.Context(), cmd.OutOrStdout(), dir)
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write to this folder and keep it (default: a temporary folder, removed afterwards)")
	return cmd
}

// demo plays one night in dir, or in a temporary folder.
func demo(ctx context.Context, w io.Writer, dir string) (err error) {
	if dir == "" {
		temp, err := os.MkdirTemp("", "nightaudit-demo-")
		if err != nil {
			return fmt.Errorf("make a folder for the demo: %w", err)
		}
		defer os.RemoveAll(temp)
		dir = temp
	} else if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("demo folder: %w", err)
	}
	script, err := startScript(ctx)
	if err != nil {
		return err
	}
	defer script.close()
	config, err := writeDemo(dir, script.url)
	if err != nil {
		return err
	}
	cfg, err := configs.Load(config, os.Getenv)
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "A sample night in %s. The endpoint at %s is scripted: no model answers.\n", dir, script.url)
	return errors.Join(demoAudit(ctx, w, dir), demoNight(ctx, w, cfg))
}

// demoAudit shows the verdicts and the cut of the first trace.
func demoAudit(ctx context.Context, w io.Writer, dir string) error {
	trace := filepath.Join(dir, "traces", "deploy.jsonl")
	return withReports(ctx, []string{trace}, auditFlags{}, func(reports []*audit.Report) error {
		fmt.Fprintf(w, "\n$ nightaudit audit deploy.jsonl\n")
		if err := report.Text(w, reports); err != nil {
			return err
		}
		fmt.Fprintf(w, "\n$ nightaudit cut deploy.jsonl\n")
		return report.CutText(w, reports)
	})
}

// demoNight runs the real pass and shows its digest and the books.
func demoNight(ctx context.Context, w io.Writer, cfg configs.Config) error {
	fmt.Fprintf(w, "\n$ nightaudit run --once\n")
	n, err := openNight(ctx, cfg, nightOptions{getenv: os.Getenv, log: slog.New(slog.DiscardHandler), now: time.Now})
	if err != nil {
		return err
	}
	defer n.close()
	if err := n.once(ctx, w, "text"); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n$ nightaudit budget\n")
	books, err := n.account.Report(ctx, time.Now())
	if err != nil {
		return fmt.Errorf("read the books: %w", err)
	}
	return report.BudgetText(w, books)
}

// writeDemo lays out the sample: traces with their claims, the service whose
// configuration the tools change, and a configuration file.
func writeDemo(dir, url string) (config string, err error) {
	for _, d := range []string{"traces", "service"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return "", fmt.Errorf("write the demo: %w", err)
		}
	}
	for _, name := range []string{"deploy.jsonl", "deploy.jsonl.claims.json", "quote.jsonl", "reports.jsonl", "reports.jsonl.claims.json", "tools.schema.json"} {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			return "", fmt.Errorf("write the demo: %w", err)
		}
		path := filepath.Join(dir, "traces", name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return "", fmt.Errorf("write the demo: %w", err)
		}
		// The sample runs ended long ago: their traces have settled.
		old := time.Now().Add(-time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			return "", fmt.Errorf("write the demo: %w", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "service", "nginx.json"), []byte("{\"retry_interval\": 5}\n"), 0o600); err != nil {
		return "", fmt.Errorf("write the demo: %w", err)
	}
	self, err := selfPath()
	if err != nil {
		return "", err
	}
	text, err := demoFiles.ReadFile("demo/nightaudit.yaml.tmpl")
	if err != nil {
		return "", fmt.Errorf("write the demo: %w", err)
	}
	tmpl, err := template.New("config").Parse(string(text))
	if err != nil {
		return "", fmt.Errorf("write the demo: %w", err)
	}
	var b bytes.Buffer
	if err := tmpl.Execute(&b, map[string]string{"Dir": dir, "URL": url, "Self": self}); err != nil {
		return "", fmt.Errorf("write the demo: %w", err)
	}
	config = filepath.Join(dir, "nightaudit.yaml")
	if err := os.WriteFile(config, b.Bytes(), 0o600); err != nil {
		return "", fmt.Errorf("write the demo: %w", err)
	}
	return config, nil
}

// selfPath returns the path of this program as it was called: the demo's tools
// are subcommands of it.
func selfPath() (string, error) {
	path, err := exec.LookPath(os.Args[0])
	if err != nil {
		if path, err = os.Executable(); err != nil {
			return "", fmt.Errorf("find this program: %w", err)
		}
	}
	return filepath.Abs(path)
}
