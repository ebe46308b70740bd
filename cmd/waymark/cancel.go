package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/workflows"
)

func (a *app) cancelCommand() *cobra.Command {
	var p proposal
	var why string
	var final bool
	cmd := &cobra.Command{
		Use:   "cancel RUN --why TEXT",
		Short: "Cancel a run; with --final it cannot be resumed",
		Long: `Stops a run, whether or not a process is executing it. Finished work stays recorded and staged output stays in place, so
` + "`waymark resume`" + ` can continue the run. With --final the run can never be resumed and its staged output is deleted. --final may be
repeated, and also works on a run that is already cancelled.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cmp.Or(whyGiven(why), p.check(why)); err != nil {
				return err
			}
			switch {
			case p.propose && !final:
				return wrongUsef("--propose is for --final: a run that is cancelled without it can be resumed")
			case p.propose:
				return a.propose(cmd, p, local.ProposeRequest{Verb: landscape.OrderCancel, Run: args[0], Args: map[string]string{}, Why: why})
			}
			if a.server != "" {
				return a.cancelAway(cmd.Context(), args[0], why, final)
			}
			return a.inTurn(func() error {
				return a.existing(cmd.Context(), func(home *local.Home) error {
					return a.cancel(cmd.Context(), home, args[0], a.by(why), final)
				})
			})
		},
	}
	whyFlag(cmd, &why)
	waitFlag(cmd.Flags(), &a.patience)
	p.flags(cmd)
	cmd.Flags().BoolVar(&final, "final", false, "cancel permanently: the run can never be resumed, and its staged output is deleted")
	return cmd
}

func (a *app) cancel(ctx context.Context, home *local.Home, word string, by client.By, final bool) error {
	run, err := home.Find(ctx, word)
	if err != nil {
		return a.cancelWaiting(ctx, home, word, by, err)
	}
	done, err := home.Cancel(ctx, run, by, final)
	if err != nil {
		return err
	}
	result := orderResult{Run: run.ID, Changed: done.Changed, Deleted: done.Deleted}
	return a.printCancelled(result, final || run.Final, client.TablesOf(run))
}

// printCancelled says that a recorded run is cancelled; final if permanently. It wrote into the tables.
func (a *app) printCancelled(result orderResult, final bool, tables []string) error {
	result.Order = workflows.CancelUpdate
	switch {
	case final && result.Changed:
		did := "is cancelled permanently, and what it staged is removed"
		for i, output := range result.Deleted {
			did += []string{": ", "; "}[min(i, 1)] + stagedText(output)
		}
		return a.printOrder(result, did+butTables(tables))
	case final:
		return a.printOrder(result, "is cancelled permanently")
	}
	result.Next = resumeWith(result.Run)
	return a.printOrder(result, "is cancelled")
}

// cancelWaiting cancels a run that is not recorded because it waits for places, or because no worker has come for it yet; unless that is or was so,
// it returns missing.
func (a *app) cancelWaiting(ctx context.Context, home *local.Home, run string, by client.By, missing error) error {
	waiting, err := home.Waits(ctx, run)
	if err != nil {
		return err
	}
	if waiting != nil {
		if err := home.CancelQueued(ctx, waiting, by); err != nil {
			return err
		}
		return a.printOrder(orderResult{Run: waiting.Run, Order: workflows.CancelUpdate, Changed: true}, "is cancelled before it began; nothing was read or written")
	}
	if run, err = home.StartedAs(ctx, run); err != nil {
		return err
	}
	cancelled, err := home.CancelWaiting(ctx, run, by)
	if err != nil {
		return err
	}
	if cancelled {
		return a.printOrder(orderResult{Run: run, Order: workflows.CancelUpdate, Changed: true}, "is cancelled before it began; nothing was read or written")
	}
	off, err := home.CalledOff(ctx, run)
	if err != nil || off == "" {
		return cmp.Or(err, missing)
	}
	return a.printOrder(orderResult{Run: off, Order: workflows.CancelUpdate}, "is cancelled")
}
