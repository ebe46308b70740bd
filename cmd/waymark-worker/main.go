// Command waymark-worker is a worker process of a cluster, and nothing else: it holds neither a Temporal server nor SQLite.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/spf13/cobra"

	"waymark/internal/defect"
	"waymark/internal/program"
	"waymark/internal/settings"
	programs "waymark/internal/version"
	"waymark/worker/daemon"
)

// version is set by the linker for released binaries: make release.
var version string

// Exit codes, as those of waymark. Scripts depend on them; never renumber.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	program.OutliveReaders()
	ctx, stop := signal.NotifyContext(context.Background(), program.Signals()...)
	context.AfterFunc(ctx, defect.Guard("signal", stop)) // a second signal ends the process at once
	os.Exit(program.Main("waymark-worker", os.Stderr, func() int { return execute(ctx, os.Args[1:], os.Stdout, os.Stderr, os.LookupEnv) }))
}

// execute runs the command line and returns the exit code.
func execute(ctx context.Context, args []string, stdout, stderr io.Writer, env settings.Lookup) int {
	var config daemon.Config
	started := false
	build := programs.This(version)
	about := "waymark-worker" + strings.TrimPrefix(build.String(), "waymark")
	root := &cobra.Command{
		Use: "waymark-worker", Short: daemon.Short, Long: daemon.About, Version: about, Args: cobra.NoArgs,
		SilenceErrors: true, SilenceUsage: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := settings.Apply(cmd.Flags(), settings.Names(cmd.Root().PersistentFlags()), env)
			started = err == nil
			return err
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Own = daemon.OwnFiles(cmd.Flags())
			return daemon.Run(cmd.Context(), config, daemon.Program{Code: build.Code(), Env: env, Stderr: stderr})
		},
	}
	root.PersistentFlags().String(settings.FileFlag, "", "settings `file` (default "+settings.DefaultFile+", if there is one)")
	config.Bind(root.PersistentFlags())
	root.AddCommand(&cobra.Command{
		Use: "ready", Short: "Check whether the worker on this machine is ready, for containers and scripts", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return daemon.Ready(cmd.Context(), config) },
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetArgs(args)
	out := &program.Output{To: stdout, Outlives: true}
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if out.Err != nil && !started {
		err, started = out.Err, true
	}
	if err == nil {
		return exitDone
	}
	fmt.Fprintf(stderr, "waymark-worker: %v\n", err)
	if _, usage := errors.AsType[*daemon.UsageError](err); usage || !started {
		return exitUsage
	}
	return exitFailed
}
