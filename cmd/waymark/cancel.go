package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

func (a *app) cancelCommand() *cobra.Command {
	var why string
	var final bool
	cmd := &cobra.Command{
		Use:   "cancel RUN --why TEXT",
		Short: "Stop a run, for now or for good",
		Long: `Stops a run, whether a process works for it or not. What was done stays on record and what was staged for sinks stays
where it is: ` + "`waymark resume`" + ` goes on with it. With --final nobody can, and what was staged is removed; that may be
repeated, and be said of a run that is cancelled.

` + runArgument,
		Args:              exactlyOne("run"),
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := whyGiven(why); err != nil {
				return err
			}
			run, err := a.findRun(cmd.Context(), args[0])
			if err != nil {
				return a.cancelWaiting(cmd.Context(), args[0], err)
			}
			return a.cancel(cmd.Context(), run, workflows.Order{Actor: actor(), Why: why, As: pipeline.Cancelled, Final: final})
		},
	}
	whyFlag(cmd, &why)
	cmd.Flags().BoolVar(&final, "final", false, "for good: nobody can resume the run, and what it staged is removed")
	return cmd
}

func (a *app) cancel(ctx context.Context, run landscape.Run, order workflows.Order) error {
	if err := cancellable(run.RunHead, order); err != nil {
		return err
	}
	alone := false // nobody can obey
	found, err := client.WithExecutor(ctx, &host{app: a}, run.ID, func(worker *client.Executor) error {
		if alone = worker.Process == 0 && worker.Unattended(ctx, worker.Queue); alone {
			return worker.Terminate(ctx, run.ID, "cancelled while no worker listened")
		}
		if err := worker.Order(ctx, run.ID, workflows.CancelUpdate, order); err != nil {
			return err
		}
		if err := a.awaitEnd(ctx, run.ID); err != nil {
			return err
		}
		return worker.AwaitClosed(ctx, run.ID)
	})
	if err == nil && (!found || alone) {
		err = a.withMachine(ctx, a.cancelMachine, func(m *machine) error { return a.cancelStopped(ctx, m, run.ID, order) })
	}
	if err != nil {
		return err
	}
	result := orderResult{Run: run.ID, Order: workflows.CancelUpdate}
	if order.Final {
		return a.printOrder(result, "is cancelled for good, and what it staged is removed")
	}
	result.Next = goOnWith(run.ID)
	return a.printOrder(result, "is cancelled")
}

// cancelWaiting cancels a run that is not on record because no worker has come for it yet; unless that is so, it returns missing.
func (a *app) cancelWaiting(ctx context.Context, run string, missing error) error {
	if !a.onCluster() {
		return missing
	}
	found, err := client.WithExecutor(ctx, &host{app: a}, run, func(worker *client.Executor) error {
		if !worker.Unattended(ctx, worker.Queue) {
			return missing // it is about to be on record
		}
		return worker.Terminate(ctx, run, "cancelled before a worker came")
	})
	switch {
	case err != nil:
		return err
	case !found:
		return missing
	}
	return a.printOrder(orderResult{Run: run, Order: workflows.CancelUpdate}, "is cancelled before it began; nothing was read or written")
}

// cancellable refuses an order that would change nothing, and so would not be on record. One for good may be repeated: what was
// staged may be there still.
func cancellable(run landscape.RunHead, order workflows.Order) error {
	switch {
	case client.Complete(run.Status):
		return wrongUsef("run %s is %s: there is nothing to cancel", run.ID, run.Status)
	case run.Final && !order.Final:
		return wrongUsef("run %s was cancelled for good already: there is nothing to cancel", run.ID)
	case run.Status == pipeline.Cancelled && !order.Final:
		return wrongUsef("run %s is cancelled already; --final cancels it for good; %s", run.ID, goOnWith(run.ID))
	default:
		return nil
	}
}

// cancelStopped cancels a run that nobody works for: this process has the lock that whoever would must have, or there is no
// workflow. It may be repeated.
func (a *app) cancelStopped(ctx context.Context, m *machine, run string, order workflows.Order) error {
	now, err := m.record.log.Run(ctx, run)
	if err == nil {
		err = cancellable(now.RunHead, order)
	}
	if err != nil {
		return err
	}
	if err := m.end(ctx, run, order); err != nil || !order.Final {
		return err
	}
	if err := errors.Join(a.discard(ctx, m, run), m.forgetInput(run)); err != nil {
		return fmt.Errorf("run %s is cancelled for good, but what it staged stays where it is; when the cause is cured, "+
			"waymark cancel %s --final removes it: %w", run, run, err)
	}
	return nil
}

// discard removes what the run staged, if that is to be seen here.
func (a *app) discard(ctx context.Context, m *machine, id string) error {
	run, err := m.record.log.Run(ctx, id)
	if err != nil {
		return err
	}
	files, err := writesFiles(run)
	if err != nil {
		return err
	}
	if files && !a.sees(run) {
		return fmt.Errorf("it lies among the files of %q, and this machine sees those of %q", run.Host, a.filesName())
	}
	if err := a.openPayloads(ctx, m.record); err != nil {
		return err
	}
	return m.activities().Discard(ctx, id)
}

// end puts on record that the run is cancelled.
func (m *machine) end(ctx context.Context, run string, order workflows.Order) error {
	if err := m.abandon(ctx, run); err != nil {
		return err
	}
	return m.record.log.CancelRun(ctx, run, order.Final, order.Actor, order.Why)
}

// endInterval is the time between two looks at a run that is about to end.
const endInterval = 100 * time.Millisecond

// awaitEnd waits until a run that was cancelled is so on record.
func (a *app) awaitEnd(ctx context.Context, run string) error {
	return a.query(ctx, run, func(r *record, found landscape.Run) error {
		ctx, done := context.WithTimeout(ctx, client.OrderTimeout)
		defer done()
		for found.Status == pipeline.Running {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(endInterval):
			}
			var err error
			if found, err = r.log.Run(ctx, run); err != nil {
				return err
			}
		}
		return nil
	})
}
