package client

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	sdk "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/internal/failpoint"
	"waymark/internal/temporal/belonging"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
)

// Execution is one execution of a run, from its beginning or from where the run was. Follow it to its end; then Close it.
type Execution struct {
	Run      string
	Pipeline string             // its name
	Workflow string             // id of the run's workflow in Temporal
	Total    int64              // bytes to read; 0 if that is not known
	Before   landscape.Progress // how far the run was when this execution began
	Started  time.Time
	Joined   bool // it had begun before this process followed it
	Detach   bool // its follower wants to know no more than that it began

	// Interrupted are the runs of the state folder that are interrupted, the newest first; of a run that was started in this process.
	Interrupted []landscape.RunHead

	Document *Document // that it executes; nil if only workers know that, or the run was resumed

	// Unfilled are the ids of schedules of the deployed pipeline of this name that have the slot which a run of a file is about: the run is not that slot's.
	Unfilled []string

	session  *Session
	ending   *Ending // of a run that did not begin, as its record has it; nil for every other one
	resuming bool    // it was joined when its workflow seemed to be about to resume it
	by       By
	lasting  bool   // BeginAccepted starts its workflow if this process does not
	slot     string // of time, that the run is about; empty if none is known
	input    workflows.RunInput
	handle   sdk.WorkflowRun
	gone     func() bool                 // the process that executes the run, which was joined, ended; nil if that cannot be
	begun    func(context.Context) error // is called when the run is recorded, until it succeeds; nil for nothing
	stop     func()                      // stops the worker
	close    func() error
}

// Session is the session that executes the run.
func (e *Execution) Session() *Session { return e.session }

// Remote reports whether others execute the run: to stop this process is to stop following it, and not the run.
func (e *Execution) Remote() bool { return e.session.OnCluster() || e.Joined }

// Epoch is the epoch of the run that this execution is.
func (e *Execution) Epoch() int64 {
	if e.input.Resume == nil {
		return 0
	}
	return e.input.Resume.Epoch
}

// inEpoch says which epoch is followed.
func (e *Execution) inEpoch(epoch int64) {
	e.input = workflows.RunInput{OpenInput: activities.OpenInput{Run: e.Run}}
	if epoch > 0 {
		e.input.Resume = &activities.ResumeInput{Run: e.Run, Epoch: epoch}
	}
}

// Close stops executing the run in this process, and closes what was opened for it. The run must have ended, or must be executed by
// others.
func (e *Execution) Close() error {
	if e.stop != nil {
		e.stop()
		e.stop = nil
	}
	if e.close == nil {
		return nil
	}
	closing := e.close
	e.close = nil
	return closing()
}

// execute starts the workflow of a run, and a worker for it if this process executes runs.
func (s *Session) execute(ctx context.Context, e *Execution) (_ *Execution, err error) {
	e.session, e.Run, e.gone = s, e.input.Run, s.Gone
	e.by = e.by.or(s.Actor)
	e.Workflow = workflows.WorkflowID(e.Run)
	if err := s.abandon(ctx, e.Run); err != nil { // before there is a worker that would continue it
		return nil, err
	}
	if e.stop, err = s.work(ctx, e.Run); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			e.stop()
		}
	}()
	if e.Before, err = progressOf(ctx, s.Log.Reader, e.Run); err != nil {
		return nil, err
	}
	if err := s.accept(ctx, e); err != nil {
		return nil, err
	}
	if err := failpoint.Hit("run.prepared"); err != nil {
		return nil, err
	}
	e.Started = time.Now()
	if e.handle, err = s.startWorkflow(ctx, e, enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE); err != nil {
		if e.input.Resume == nil {
			err = s.refuseAccepted(ctx, e, err)
		}
		return nil, err
	}
	return e, failpoint.Hit("run.started")
}

// startWorkflow starts the workflow of a run. again says whether it may have had one, which ended.
func (s *Session) startWorkflow(ctx context.Context, e *Execution, again enums.WorkflowIdReusePolicy) (sdk.WorkflowRun, error) {
	starter, err := s.as(e.by)
	if err != nil {
		return nil, err
	}
	defer starter.Close()
	id, err := s.Log.ID(ctx)
	if err != nil {
		return nil, err
	}
	started, err := starter.ExecuteWorkflow(belonging.With(context.WithoutCancel(ctx), id), sdk.StartWorkflowOptions{
		ID: e.Workflow, TaskQueue: s.queueOf(e.Run),
		WorkflowIDReusePolicy:                    again,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		StaticSummary:                            workflows.Summary(e.Pipeline, e.Run), // encrypted with codec keys only, as is what follows
		StaticDetails:                            workflows.Details(e.Pipeline, e.Run, e.input.Params),
		Memo:                                     workflows.MemoOf(e.Pipeline, e.Run),
	}, workflows.RunPipelineName, e.input)
	if _, open := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); open {
		return nil, beingExecuted(e.Run)
	}
	if err != nil {
		return nil, err
	}
	return s.Temporal.GetWorkflow(ctx, e.Workflow, started.GetRunID()), nil
}

// Recorded returns the run's record, and false if there is none: it has not begun yet, or ended before it did.
func (e *Execution) Recorded(ctx context.Context) (landscape.Run, bool, error) {
	run, err := e.session.Log.Run(ctx, e.Run)
	if errors.Is(err, landscape.ErrNotFound) {
		return run, false, nil
	}
	return run, err == nil, err
}

// progressOf is how far a run is; nothing of one that is not recorded.
func progressOf(ctx context.Context, log *landscape.Reader, run string) (landscape.Progress, error) {
	progress, err := log.Progress(ctx, run)
	if errors.Is(err, landscape.ErrNotFound) {
		err = nil
	}
	return progress, err
}

// atBeginning does once what is to be done when the run is recorded.
func (e *Execution) atBeginning(ctx context.Context) error {
	if e.begun == nil {
		return nil
	}
	if _, recorded, err := e.Recorded(ctx); err != nil || !recorded {
		return err
	}
	if err := e.begun(ctx); err != nil {
		return err
	}
	e.begun = nil
	return nil
}

// settle records that the run is interrupted, if its workflow ended without saying how: somebody terminated it.
func (e *Execution) settle(ctx context.Context, end *Ending) error {
	if _, terminated := errors.AsType[*temporal.TerminatedError](end.Err); !terminated {
		return nil
	}
	run, recorded, err := e.Recorded(ctx)
	if err != nil || !recorded || run.Epoch != e.Epoch() || run.Status != pipeline.Running {
		return err
	}
	return e.session.Log.StopRun(ctx, e.Run, pipeline.Interrupted, "interrupted: its workflow was terminated in Temporal")
}
