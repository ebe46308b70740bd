package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"waymark/activities"
	"waymark/client"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

func (a *app) followCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "follow RUN",
		Short: "Show how far a run is that others execute, until it ends",
		Long: `Shows how far a run is that the workers of a cluster execute, or another process of this state folder, and at its end what
became of it, with the exit code that ` + "`waymark run`" + ` has. Ctrl-C stops that, and not the run.

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
func (a *app) followRun(ctx context.Context, word string) (err error) {
	record, err := a.openRecord(ctx)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, record.close) }()
	run, missing := record.client.Find(ctx, word)
	if missing != nil {
		run.ID = word // it may not be on record yet
	}
	e := &execution{app: a, machine: &machine{record: record, queue: a.queueName()}, pipeline: run.Pipeline, follows: true, joined: true, started: run.Started.Time()}
	e.inEpoch(run.ID, run.Epoch)
	if missing == nil && (client.Complete(run.Status) || run.Final) {
		return e.report(ending{}, nil)
	}
	found, err := client.WithExecutor(ctx, &host{app: a}, run.ID, func(worker *client.Executor) error { return e.join(ctx, worker, run) })
	switch {
	case err != nil || found:
		return err
	case missing != nil:
		return a.never(ctx, word, missing)
	}
	if now, err := record.log.Run(ctx, run.ID); err != nil || now.Status != pipeline.Running { // it may have ended meanwhile
		return e.report(ending{}, err)
	}
	return wrongUsef("nobody works for run %s; %s", run.ID, goOnWith(run.ID))
}

// inEpoch says which run is followed, and in which epoch.
func (e *execution) inEpoch(run string, epoch int64) {
	e.input = workflows.RunInput{OpenInput: activities.OpenInput{Run: run}}
	if epoch > 0 {
		e.input.Resume = &activities.ResumeInput{Run: run, Epoch: epoch}
	}
}

// queueName is the cluster's queue; empty without a cluster.
func (c *config) queueName() string {
	if !c.onCluster() {
		return ""
	}
	return c.queue
}

// join follows the workflow that somebody else works for.
func (e *execution) join(ctx context.Context, worker *client.Executor, run landscape.Run) error {
	e.machine.temporal = worker.Connection
	var err error
	if e.before, err = e.machine.record.progress(ctx, e.id()); err != nil {
		return err
	}
	if run.Plan != "" {
		if e.total, err = e.machine.record.sourceBytes(ctx, run); err != nil {
			return err
		}
	}
	resuming := run.Status != "" && run.Status != pipeline.Running // its workflow is about to resume it, or about to end
	if resuming {
		e.inEpoch(run.ID, run.Epoch+1)
	}
	end, err := e.await(ctx, worker.Temporal.GetWorkflow(ctx, workflows.WorkflowID(e.id()), ""))
	if now, recorded, _ := e.onRecord(ctx); resuming && recorded && now.Epoch == run.Epoch && end.err == nil {
		e.inEpoch(run.ID, run.Epoch) // it ended
	}
	return e.report(end, err)
}
