package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"waymark/client/local"
)

func (a *app) followCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "follow RUN",
		Short: "Follow a run that another process executes, until it ends",
		Long: `Shows the progress of a run that a cluster's workers, or another process on this state folder, execute. When the run ends, it
prints the result and exits with the code that ` + "`waymark run`" + ` would have. Ctrl-C stops following, not the run.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := a.untilInterrupted(cmd.Context())
			defer stop()
			err := a.followRun(ctx, args[0])
			if !stoppedEarly(err) {
				return err
			}
			return exitError{exitInterrupted, errors.New("stopped")}
		},
	}
}

// followRun follows the run that word means to its end.
func (a *app) followRun(ctx context.Context, word string) error {
	if a.server != "" {
		return a.followNamed(ctx, word)
	}
	return a.existing(ctx, func(home *local.Home) error {
		e, err := home.Follow(ctx, word)
		if err != nil {
			return err
		}
		return a.follow(ctx, e)
	})
}
