package main

import (
	"context"

	"github.com/spf13/cobra"

	"waymark/landscape"
	"waymark/workflows"
)

func (a *app) pauseCommand() *cobra.Command {
	var why string
	cmd := &cobra.Command{
		Use:   "pause RUN --why TEXT",
		Short: "Let a run that is going begin nothing new until it is resumed",
		Long: `Lets a run finish what is on its way and then wait, where it is worked for, until ` + "`waymark resume`" + ` lets it go on.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			run, err := a.findRun(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return a.pause(cmd.Context(), run, workflows.Order{Actor: actor(), Why: why})
		},
	}
	whyFlag(cmd, &why)
	return cmd
}

func (a *app) pause(ctx context.Context, run landscape.Run, order workflows.Order) error {
	found, err := a.withWorker(ctx, run.ID, func(worker *attendant) error {
		if err := worker.heard(ctx, run.ID, a.queue); err != nil {
			return err
		}
		return worker.tell(ctx, run.ID, workflows.PauseUpdate, order)
	})
	switch {
	case err != nil:
		return err
	case !found:
		return wrongUsef("run %s is %s, and no process works for it: there is nothing to pause", run.ID, run.Status)
	}
	return a.printOrder(orderResult{Run: run.ID, Order: workflows.PauseUpdate, Next: goOnWith(run.ID)}, "is paused")
}
