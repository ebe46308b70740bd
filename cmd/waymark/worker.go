package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"waymark/client/local"
	"waymark/internal/defect"
	"waymark/internal/program"
	"waymark/internal/settings"
	"waymark/worker/daemon"
)

func (a *app) workerCommand() *cobra.Command {
	var config daemon.Config
	var door apiServing
	cmd := &cobra.Command{
		Use: "worker", Short: daemon.Short, Long: daemon.About, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config.Own = daemon.OwnFiles(cmd.Flags())
			return a.work(cmd.Context(), config, &door)
		},
	}
	config.Bind(cmd.Flags())
	door.bind(cmd.Flags(), off)
	return cmd
}

// servingSettings are the names of the options that serve and worker have besides those that all commands have.
func servingSettings() []string {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(daemon.Config).Bind(flags)
	new(apiServing).bind(flags, off)
	new(pageServing).bind(flags, false)
	waitFlag(flags, new(time.Duration))
	return settings.Names(flags)
}

// work is a worker process. Without other words its record, payloads and fingerprint key are those of the state folder.
func (a *app) work(ctx context.Context, config daemon.Config, door *apiServing) error {
	if config.Landscape == "" {
		if err := a.folder().Make(); err != nil {
			return err
		}
		config.Keys, config.MakeKeys = cmp.Or(config.Keys, a.keys, a.folder().Keys()), true
		config.Spans = cmp.Or(config.Spans, string(a.folder().Spans()))
		config.LogAnchors = append(config.LogAnchors, a.folder().Anchor())
		var err error
		if config.OwnKey, err = a.folder().LastingKey(); err != nil {
			return err
		}
	}
	return a.untilTold(ctx, config, func(ctx context.Context, config daemon.Config, p daemon.Program) error {
		if err := daemon.Check(config, p); err != nil {
			return err
		}
		if err := door.listen(ctx); err != nil {
			return err
		}
		if door.listener == nil {
			return daemon.Run(ctx, config, p)
		}
		defer door.close()
		p.Received = &door.received
		return local.RunBeside(ctx, config, p, func(ctx context.Context, config daemon.Config, logger *slog.Logger) error {
			door.folder = config.Pipelines
			return door.serve(ctx, a.apiOptions(config, config.Temporal, false), true, logger)
		})
	})
}

// untilTold runs a process with a worker until a signal tells it to end; a second one ends it at once. What the configuration leaves out of the
// storages is the state folder's.
func (a *app) untilTold(ctx context.Context, config daemon.Config, run func(context.Context, daemon.Config, daemon.Program) error) error {
	config.Landscape = cmp.Or(config.Landscape, a.landscape, a.folder().Landscape())
	config.Payloads = cmp.Or(config.Payloads, a.payloads, a.folder().Payloads())
	a.outlive()
	ctx, stop := signal.NotifyContext(ctx, program.Signals()...)
	defer stop()
	context.AfterFunc(ctx, defect.Guard("signal", stop))
	err := run(ctx, config, daemon.Program{Code: thisBuild().Code(), Env: a.env, Stderr: a.stderr, SQLite: local.SQLite})
	if _, usage := errors.AsType[*daemon.UsageError](err); usage {
		return wrongUse(err)
	}
	return err
}
