package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/internal/failpoint"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// execution is one run that this process executes, from its beginning or from where it stands: the input says which, and
// nothing else differs.
type execution struct {
	app      *app
	machine  *machine
	pipeline string // its name
	total    int64  // bytes to read; 0 if that cannot be told
	input    workflows.RunInput
	before   landscape.Progress          // where the run stood
	started  time.Time                   // of the workflow
	follows  bool                        // others execute the run: who stops this process stops following, and not the run
	joined   bool                        // it was executed before this process began to follow it
	detach   bool                        // not even follow it
	begun    func(context.Context) error // is called when the run is on record, until it succeeds; nil for nothing
}

// id is the run's.
func (e *execution) id() string { return e.input.Run }

// epoch is the one in which this process works for the run.
func (e *execution) epoch() int64 {
	if e.input.Resume == nil {
		return 0
	}
	return e.input.Resume.Epoch
}

// perform executes the run to its end and says what became of it.
func (e *execution) perform(ctx context.Context) error {
	id := e.id()
	if e.follows = e.machine.onCluster(); !e.follows {
		e.app.executing.Store(&id)
	}
	e.machine.planner.Run = id
	if err := e.machine.abandon(ctx, id); err != nil { // before there is a worker that would go on with it
		return err
	}
	stopWorker, err := e.machine.work(id)
	if err != nil {
		return err
	}
	defer stopWorker()
	return e.report(e.execute(ctx))
}

// execute starts the workflow and follows it to its end.
func (e *execution) execute(ctx context.Context) (ending, error) {
	var err error
	if e.before, err = e.machine.record.progress(ctx, e.id()); err != nil {
		return ending{}, err
	}
	if err := failpoint.Hit("run.prepared"); err != nil {
		return ending{}, err
	}
	e.started = time.Now()
	handle, err := e.machine.temporal.Temporal.ExecuteWorkflow(context.WithoutCancel(ctx), sdk.StartWorkflowOptions{
		ID: workflows.WorkflowID(e.id()), TaskQueue: e.machine.queueOf(e.id()),
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            fmt.Sprintf("%s · %s", e.pipeline, e.id()), // not encrypted
	}, workflows.RunPipelineName, e.input)
	if _, is := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); is {
		return ending{}, busy(e.id())
	}
	if err != nil {
		return ending{}, err
	}
	if err := failpoint.Hit("run.started"); err != nil {
		return ending{}, err
	}
	if e.follows && !e.detach {
		e.app.note("run %s is executed by the workers of queue %s; Ctrl-C stops following it", e.id(), e.machine.queue)
	}
	return e.await(ctx, handle)
}

// await follows the workflow to its end, and puts on record what it did not.
func (e *execution) await(ctx context.Context, handle sdk.WorkflowRun) (ending, error) {
	end := e.follow(ctx, handle)
	if err := failpoint.Hit("run.ended"); err != nil || end.detached {
		return end, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := e.atBeginning(ctx); err != nil {
		e.app.note("%v", err)
	}
	end.err = errors.Join(end.err, e.settle(ctx, end))
	return end, nil
}

// settle puts on record that the run is interrupted, if its workflow ended without saying how: somebody terminated it.
func (e *execution) settle(ctx context.Context, end ending) error {
	if _, terminated := errors.AsType[*temporal.TerminatedError](end.err); !terminated {
		return nil
	}
	run, recorded, err := e.onRecord(ctx)
	if err != nil || !recorded || run.Epoch != e.epoch() || run.Status != pipeline.Running {
		return err
	}
	return e.machine.record.log.StopRun(ctx, e.id(), pipeline.Interrupted, "interrupted: its workflow was terminated in Temporal")
}

// atBeginning does once what is to be done when the run is on record.
func (e *execution) atBeginning(ctx context.Context) error {
	if e.begun == nil {
		return nil
	}
	if _, recorded, err := e.onRecord(ctx); err != nil || !recorded {
		return err
	}
	if err := e.begun(ctx); err != nil {
		return err
	}
	e.begun = nil
	return nil
}

// abandon ends the workflow that a process which is gone left open for the run, if there is one. Nothing of it is needed: the
// record says how far the run is. On a cluster an open workflow is one that is worked for.
func (m *machine) abandon(ctx context.Context, run string) error {
	open, err := m.temporal.Open(ctx, run)
	switch {
	case err != nil || !open:
		return err
	case m.onCluster():
		return busy(run)
	}
	return m.temporal.Terminate(ctx, run, "its process ended")
}

// progress is how far a run is; nothing for one that is not on record.
func (r *record) progress(ctx context.Context, run string) (landscape.Progress, error) {
	progress, err := r.log.Progress(ctx, run)
	if errors.Is(err, landscape.ErrNotFound) {
		err = nil
	}
	return progress, err
}

// onRecord returns the run's record, and false if the run ended before it had one.
func (e *execution) onRecord(ctx context.Context) (landscape.Run, bool, error) {
	run, err := e.machine.record.log.Run(ctx, e.id())
	if errors.Is(err, landscape.ErrNotFound) {
		return run, false, nil
	}
	return run, err == nil, err
}
