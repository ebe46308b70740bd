package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/workflows"
)

// resumption is how a person wants a run to be resumed.
type resumption struct {
	why      string
	fork     bool // begin a new run of the present document instead
	recorded bool // resume with the recorded document, whatever its file holds now
	detach   bool // do not follow the run
}

func (a *app) resumeCommand() *cobra.Command {
	var o resumption
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Resume a stopped run where it left off",
		Long: `Resumes a run where it left off, however it stopped: failed, interrupted, cancelled, killed, or paused in a process that
is still running. Finished work is not repeated, and the result is the same as that of an undisturbed run.

The run's document, sources and plugins must be unchanged. If the document's file changed, --recorded resumes with the
recorded document, and --fork starts a new run of the present document, which is linked to the old run and cancels it
permanently, however it stopped.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.fork && o.recorded {
				return wrongUsef("--fork and --recorded exclude each other: the one takes the present document, the other the one on record")
			}
			if err := a.mayDetach(o.detach); err != nil {
				return err
			}
			ctx, stop := a.untilInterrupted(cmd.Context())
			defer stop()
			err := a.inTurn(func() error { return a.resume(ctx, args[0], o) })
			if !stoppedEarly(err) {
				return err
			}
			return exitError{exitInterrupted, errors.New("stopped before the run was resumed; nothing was changed")}
		},
	}
	whyFlag(cmd, &o.why)
	detachFlag(cmd, &o.detach)
	waitFlag(cmd.Flags(), &a.patience)
	cmd.Flags().BoolVar(&o.fork, "fork", false, "start a new, linked run of the present document, and cancel this one permanently")
	cmd.Flags().BoolVar(&o.recorded, "recorded", false, "resume with the recorded document, even if its file changed")
	return cmd
}

func (a *app) resume(ctx context.Context, word string, o resumption) error {
	if a.server != "" {
		return a.resumeAway(ctx, word, o)
	}
	return a.order(ctx, word, func(home *local.Home, run landscape.Run) error {
		if o.fork {
			e, err := home.Fork(ctx, run, client.ForkRequest{By: a.by(o.why), Detach: o.detach})
			if err != nil {
				return err
			}
			return a.follow(ctx, e)
		}
		resumed, err := home.Resume(ctx, run, client.ResumeRequest{By: a.by(o.why), Recorded: o.recorded, Detach: o.detach})
		switch {
		case err != nil:
			return err
		case resumed.Continued != "":
			return a.printOrder(orderResult{Run: run.ID, Order: workflows.ContinueUpdate, Changed: true}, "continues, in "+resumed.Continued)
		case resumed.Execution == nil:
			return a.printOrder(orderResult{Run: run.ID, Order: "resume"}, fmt.Sprintf("is %s", resumed.Run.Status))
		}
		return a.follow(ctx, resumed.Execution)
	})
}
