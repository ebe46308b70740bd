package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/workflows"
)

// untilInterrupted returns a context that the first Ctrl-C or SIGTERM cancels. The second one ends the process at once.
func untilInterrupted(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		fmt.Fprintln(stderr, "waymark: ended at once; the record says what was done until then: waymark runs")
		os.Exit(exitInterrupted)
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel()
	}
}

const (
	// pollInterval is how often progress is read. A reading costs the record less than a millisecond.
	pollInterval = 300 * time.Millisecond
	// troubleInterval is how often Temporal is asked for activities that fail and are tried again.
	troubleInterval = 2 * time.Second
	// stopPatience is how long the workflow may take to record that it was stopped.
	stopPatience = 10 * time.Second
)

// ending is how the workflow of a run ended.
type ending struct {
	result      workflows.RunResult
	err         error
	interrupted bool // by the person at the terminal
}

// follow shows progress until the workflow ends. If ctx is cancelled it cancels the workflow.
func (e *execution) follow(ctx context.Context, handle client.WorkflowRun) ending {
	lasting := context.WithoutCancel(ctx)
	ended := make(chan ending, 1)
	go func() {
		var end ending
		end.err = handle.Get(lasting, &end.result)
		ended <- end
	}()
	view := e.app.progressView(lasting, e.doc.plan)
	defer view.close()
	progress, troubles := time.NewTicker(pollInterval), time.NewTicker(troubleInterval)
	defer progress.Stop()
	defer troubles.Stop()
	told := map[string]bool{}
	for {
		select {
		case end := <-ended:
			return end
		case <-ctx.Done():
			return e.cancel(lasting, handle, ended)
		case <-troubles.C:
			for _, trouble := range e.troubles(lasting, handle, told) {
				view.say(trouble)
			}
		case <-progress.C:
			// There is no progress yet while the record is being made. A reading that fails is no reason to stop a run.
			if progress, err := e.machine.record.log.Progress(lasting, e.id); err == nil {
				view.show(progress)
			}
		}
	}
}

// troubles returns what to tell about activities that failed and are tried again, each activity once.
func (e *execution) troubles(ctx context.Context, handle client.WorkflowRun, told map[string]bool) []string {
	description, err := e.machine.temporal.DescribeWorkflowExecution(ctx, handle.GetID(), handle.GetRunID())
	if err != nil {
		return nil // the run itself tells what is wrong with Temporal
	}
	var news []string
	for _, activity := range description.GetPendingActivities() {
		if activity.GetLastFailure() == nil || told[activity.GetActivityId()] {
			continue
		}
		told[activity.GetActivityId()] = true
		news = append(news, fmt.Sprintf("%s failed and is tried again: %s", activity.GetActivityType().GetName(), activity.GetLastFailure().GetMessage()))
	}
	return news
}

// cancel stops the workflow and waits until the record says so.
func (e *execution) cancel(ctx context.Context, handle client.WorkflowRun, ended <-chan ending) ending {
	e.app.note("stopping …")
	ctx, done := context.WithTimeout(ctx, stopPatience)
	defer done()
	if err := e.machine.temporal.CancelWorkflow(ctx, handle.GetID(), handle.GetRunID()); err != nil {
		return ending{err: err, interrupted: true}
	}
	select {
	case end := <-ended:
		end.interrupted = true
		return end
	case <-ctx.Done():
		err := e.machine.record.log.InterruptRun(context.WithoutCancel(ctx), e.id, "stopped at the terminal; its last activities did not end in time")
		return ending{err: err, interrupted: true}
	}
}

// cause returns the message of the error that began it, without Temporal's wrapping.
func cause(err error) string {
	message := err.Error()
	for err != nil {
		var application *temporal.ApplicationError
		if !errors.As(err, &application) {
			break
		}
		message, err = application.Message(), application.Unwrap()
	}
	return message
}
