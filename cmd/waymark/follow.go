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
	// recordPatience is how long this process may then take to record that itself.
	recordPatience = 2 * time.Second
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
	told, still := map[string]bool{}, &stillness{moved: time.Now()}
	for {
		select {
		case end := <-ended:
			return end
		case <-ctx.Done():
			return e.cancel(lasting, handle, ended)
		case <-troubles.C:
			news, failing := e.troubles(lasting, handle, told)
			if now := time.Now(); !failing && still.due(now) {
				news = append(news, fmt.Sprintf("nothing has moved for %.0f s; is the disk with %s full? waymark doctor looks for the cause",
					now.Sub(still.moved).Seconds(), e.app.state))
			}
			for _, trouble := range news {
				view.say(trouble)
			}
		case <-progress.C:
			// There is no progress yet while the record is being made. A reading that fails is no reason to stop a run.
			if progress, err := e.machine.record.log.Progress(lasting, e.id); err == nil {
				still.saw(progress, time.Now())
				view.show(progress)
			}
		}
	}
}

// troubles returns what to tell about activities that failed and are tried again, each activity once, and whether there are
// any now.
func (e *execution) troubles(ctx context.Context, handle client.WorkflowRun, told map[string]bool) (news []string, failing bool) {
	ctx, done := context.WithTimeout(ctx, troubleInterval)
	defer done()
	description, err := e.machine.temporal.DescribeWorkflowExecution(ctx, handle.GetID(), handle.GetRunID())
	if err != nil {
		return nil, false // the run itself tells what is wrong with Temporal
	}
	for _, activity := range description.GetPendingActivities() {
		if activity.GetLastFailure() == nil {
			continue
		}
		failing = true
		if told[activity.GetActivityId()] {
			continue
		}
		told[activity.GetActivityId()] = true
		news = append(news, fmt.Sprintf("%s failed and is tried again: %s", activity.GetActivityType().GetName(), activity.GetLastFailure().GetMessage()))
	}
	return news, failing
}

// cancel stops the workflow and waits until the record says so.
func (e *execution) cancel(ctx context.Context, handle client.WorkflowRun, ended <-chan ending) ending {
	e.app.note("stopping …")
	patience, done := context.WithTimeout(ctx, stopPatience)
	defer done()
	if err := e.machine.temporal.CancelWorkflow(patience, handle.GetID(), handle.GetRunID()); err == nil {
		select {
		case end := <-ended:
			end.interrupted = true
			return end
		case <-patience.Done():
		}
	}
	last, done := context.WithTimeout(ctx, recordPatience)
	defer done()
	err := e.machine.record.log.InterruptRun(last, e.id, "stopped at the terminal; its last activities did not end in time")
	return ending{err: err, interrupted: true}
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
