package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
)

// Outcome says what became of a run whose execution was followed to its end.
type Outcome struct {
	Run    landscape.Run        // as recorded; without a status if the run is not recorded
	Status *Status              // its figures, without links and advice; nil if Err is about a run that is not recorded, or not this execution's
	Took   time.Duration        // of this execution; of a run that was joined: of the run
	Start  landscape.StartState // of a run that is not recorded: what became of its request; as its process ended, also accepted or waiting; else empty
	Err    *Error               // why this execution has no recorded end; nil if it has one, whatever that is
}

// Outcome returns what became of the run. The Ending is that of the last event, and must not say that the run was detached.
func (e *Execution) Outcome(ctx context.Context, end *Ending) (*Outcome, error) {
	o := &Outcome{}
	if !e.Started.IsZero() { // zero: of a run that somebody else requested, and that has not begun
		o.Took = time.Since(e.Started)
	}
	if joined := end.run(); joined != "" && joined != e.Run {
		if err := e.becomes(ctx, joined); err != nil {
			return nil, err
		}
	}
	run, recorded, err := e.Recorded(ctx)
	if err != nil {
		return nil, err
	}
	if !recorded {
		return o, e.neverBegan(ctx, end, o)
	}
	o.Run = run
	if run.Epoch != e.Epoch() {
		o.Err = e.notOurs(end, run)
		return o, nil
	}
	if e.Joined && run.Finished != 0 {
		o.Took = run.Finished.Time().Sub(run.Started.Time())
	}
	c := &Client{log: e.session.Log}
	if o.Status, err = c.Counts(ctx, run.ID); err != nil {
		return nil, err
	}
	switch {
	case run.Status == pipeline.Blocked && activities.AwaitsSignOff(run.Reason):
		o.Status.Advice.Cures = []Cure{SignOff} // whose signatures count is not known here
	case run.Status == pipeline.Blocked, run.Status == pipeline.Failed:
		if o.Status.Advice, err = c.advice(ctx, run); err != nil {
			return nil, err
		}
	}
	if run.Status == pipeline.Running {
		o.Err = e.unrecorded(end)
	}
	return o, nil
}

// run returns the run whose end the workflow told: another one than that of the workflow, if it joined that; empty if it told none.
func (end *Ending) run() string {
	if end.Err == nil {
		return end.Result.Run
	}
	var problem activities.Problem
	failed, ok := errors.AsType[*temporal.ApplicationError](end.Err)
	if !ok || !failed.HasDetails() || failed.Details(&problem) != nil {
		return ""
	}
	return problem.Run
}

// becomes makes the execution that of a run that it joined, because its document says so: its result is the other one's.
func (e *Execution) becomes(ctx context.Context, run string) error {
	on, err := e.session.Log.Run(ctx, run)
	if err == nil {
		e.Run, e.Joined, e.Started = run, true, on.Started.Time()
		e.inEpoch(on.Epoch)
	}
	return err
}

// neverBegan is about a run that ended before it was recorded: nothing was read and nothing was written.
func (e *Execution) neverBegan(ctx context.Context, end *Ending, o *Outcome) error {
	start, err := e.session.Log.LastStart(ctx, e.Run)
	if err != nil && !errors.Is(err, landscape.ErrNotFound) {
		return err
	}
	if start.State != landscape.StartBegun && (start.Decided != 0 || end.Gone) {
		o.Start = start.State
	}
	o.Err = e.whyNot(end, start)
	return nil
}

// whyNot says why a run did not begin: the record has what became of its start, as a rule.
func (e *Execution) whyNot(end *Ending, start landscape.Start) *Error {
	failure := &Error{Kind: Failed, Code: RunFailed, Message: "it ended before it began", Err: end.Err}
	switch {
	case end.Interrupted:
		failure.Kind, failure.Code, failure.Message = Interrupted, Stopped, "stopped before the run began; nothing was read or written"
	case start.State == landscape.StartCancelled, end.Err == nil && end.Result.Status == pipeline.Cancelled:
		failure.Kind, failure.Code = Interrupted, Stopped
		failure.Message = fmt.Sprintf("run %s was %s, before it began; nothing was read or written", e.Run, cmp.Or(start.Reason, end.Result.Reason))
	case end.Err == nil && end.Result.Reason != "":
		failure.Kind, failure.Code, failure.Message = Conflict, RunSkipped, fmt.Sprintf("run %s was %s: %s", e.Run, end.Result.Status, end.Result.Reason)
	case end.Gone && start.State == landscape.StartSkipped:
		failure.Kind, failure.Code, failure.Message = Interrupted, ExecutorGone, fmt.Sprintf("the process that worked ended; run %s did not begin: %s", e.Run, start.Reason)
	case end.Gone:
		return e.neverServed()
	case end.Err != nil:
		failure.Kind, failure.Code, failure.Cure = e.classify(end.Err)
		failure.Message = Cause(end.Err)
	case e.Remote():
		failure.Message = fmt.Sprintf("its workflow ended, and %s has no run %s: do the workers keep their record elsewhere?", e.session.Place, e.Run)
		failure.Cure = NameLandscape
	}
	return failure
}

// neverServed is about a run whose process ended before the run began. The next one that serves begins it; another one does not.
func (e *Execution) neverServed() *Error {
	gone := &Error{Kind: Interrupted, Code: ExecutorGone, Run: e.Run, Message: fmt.Sprintf("the process that was to begin run %s ended; nothing was read or written", e.Run)}
	if e.session.OnCluster() {
		gone.Cure = ServeOrCancel
	}
	return gone
}

// notOurs is about a run that this execution did not get, or does not have any more.
func (e *Execution) notOurs(end *Ending, run landscape.Run) *Error {
	switch {
	case run.Epoch > e.Epoch():
		return &Error{Kind: Busy, Code: RunSuperseded, Cure: ShowStatus, Run: run.ID, Message: fmt.Sprintf("run %s was resumed by another process, which executes it", run.ID)}
	case end.Interrupted:
		return &Error{Kind: Interrupted, Code: Stopped, Message: fmt.Sprintf("stopped before run %s was resumed; nothing was changed", run.ID)}
	case end.Err == nil:
		return &Error{Kind: Failed, Code: RunFailed, Message: fmt.Sprintf("run %s could not be resumed", run.ID)}
	}
	kind, code, cure := e.classify(end.Err)
	message := Cause(end.Err)
	if kind == Failed {
		message = fmt.Sprintf("run %s could not be resumed: %s", run.ID, message)
	}
	return &Error{Kind: kind, Code: code, Cure: cure, Run: run.ID, Message: message, Err: end.Err}
}

// unrecorded is about a run whose end could not be recorded: it is running according to its record until somebody resumes it.
func (e *Execution) unrecorded(end *Ending) *Error {
	failure := &Error{Kind: Failed, Code: OutcomeNotRecorded, Cure: DiagnoseAndResume, Run: e.Run, Message: "the run's end could not be recorded", Err: end.Err}
	if end.Gone {
		return &Error{Kind: Interrupted, Code: ExecutorGone, Cure: e.afterwards(), Run: e.Run, Message: fmt.Sprintf("the process that worked for run %s ended", e.Run)}
	}
	if end.Interrupted {
		failure.Kind, failure.Code = Interrupted, Stopped
	}
	if end.Err != nil {
		failure.Message += ": " + Cause(end.Err)
	}
	return failure
}

// afterwards is how to continue with a run whose process ended: the next one that serves does so by itself.
func (e *Execution) afterwards() Cure {
	if e.session.OnCluster() {
		return ServeAgain
	}
	return Resume
}

// classify says of an error of a workflow whether workers refused the run for what its starter can mend: nothing was written then.
func (e *Execution) classify(err error) (Kind, Code, Cure) {
	application, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		return Failed, RunFailed, ""
	}
	refused, known := refusals[application.Type()]
	switch {
	case aboutInput(application, "schedule", ""):
		return refused.kind, refused.code, NameSchedule
	case aboutInput(application, "for", activities.CodeMissing):
		return refused.kind, refused.code, NameSlot
	case known:
		return refused.kind, refused.code, refused.cure
	case application.Type() == activities.TypeMissing:
		return Failed, RunFailed, SamePayloads
	case application.Type() == activities.TypeUnknownRun:
		return Failed, RunFailed, SameLandscape
	}
	return Failed, RunFailed, ""
}

// aboutInput reports whether the failure is about nothing but a key of the input, with the code, unless that is empty.
func aboutInput(failed *temporal.ApplicationError, key, code string) bool {
	var problem activities.Problem
	return failed.Type() == activities.TypeInput && failed.HasDetails() && failed.Details(&problem) == nil &&
		len(problem.Errors) == 1 && problem.Errors[0].Pointer == activities.Pointer(key) && (code == "" || problem.Errors[0].Code == code)
}

// refusal is what an error says with which workers refuse a run.
type refusal struct {
	kind Kind
	code Code
	cure Cure
}

// refusals are those of the errors by their stored types.
var refusals = map[string]refusal{
	activities.TypeDocument:      {Invalid, InvalidDocument, ""},
	activities.TypeInput:         {Invalid, InvalidInput, ""},
	activities.TypeSource:        {Invalid, SourceUnusable, ""},
	activities.TypeNoPipeline:    {NotFound, PipelineNotFound, ListPipelines},
	activities.TypeExists:        {Conflict, RunExists, ""},
	activities.TypeRetired:       {Conflict, PipelineRetired, RestorePipeline},
	activities.TypeQueueFull:     {Conflict, QueueFull, ""},
	activities.TypeQueueTimeout:  {Conflict, QueueTimeout, ""},
	activities.TypeHolderGone:    {Conflict, HolderGone, ""},
	activities.TypeSlotNotOver:   {Conflict, SlotNotOver, GiveParams},
	activities.TypePlanChanged:   {Conflict, DependencyChanged, ""},
	activities.TypeSourceChanged: {Conflict, DependencyChanged, ""},
	activities.TypeNotResumable:  {Conflict, NotResumable, ""},
	activities.TypeSealBroken:    {Damaged, SealBroken, ""},
	activities.TypeStateDiverged: {Conflict, StateDiverged, ""},
	activities.TypeElsewhere:     {Conflict, RunElsewhere, ""},
	activities.TypeNotRetryable:  {Conflict, NotRetryable, ""},
}

// refusalOf is the stored type of an error for which a start is refused: the one with which workers refuse such a start.
func refusalOf(err error) string {
	known, ok := errors.AsType[*Error](err)
	if !ok {
		return activities.RefusalService
	}
	for kind, refused := range refusals {
		if refused.code == known.Code && kind != activities.TypeSourceChanged {
			return kind
		}
	}
	switch known.Kind {
	case Invalid, NotFound:
		return activities.TypeInput
	default:
		return activities.RefusalService
	}
}

// Wait follows the run to its end and returns its figures. The error is an *Error if this execution has no recorded end; a run that
// failed, or was cancelled, is none.
func (e *Execution) Wait(ctx context.Context) (*Status, error) {
	for event, err := range e.Follow(ctx) {
		if err != nil {
			return nil, err
		}
		if event.Kind != EndedEvent {
			continue
		}
		if event.Ending.Detached {
			return nil, &Error{Kind: Interrupted, Code: Stopped, Cure: Watch, Run: e.Run, Message: fmt.Sprintf("run %s continues; only following it was stopped", e.Run)}
		}
		outcome, err := e.Outcome(context.WithoutCancel(ctx), event.Ending)
		if err != nil {
			return nil, err
		}
		if outcome.Err != nil {
			return outcome.Status, outcome.Err
		}
		return outcome.Status, nil
	}
	return nil, nil
}
