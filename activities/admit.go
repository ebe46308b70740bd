package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"

	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/landscape/admit"
	"waymark/pipeline"
)

// Held says that a run does not begin, or not yet, because places are limited. It travels through workflow history.
type Held struct {
	State  landscape.StartState `json:"state"` // StartWaiting, StartSkipped, StartSuperseded or StartCancelled
	Reason string               `json:"reason"`
	Joined string               `json:"joined,omitempty"` // the run whose result is that of this one
	Cancel []string             `json:"cancel,omitempty"` // runs that are to be cancelled for this one
	Rest   time.Duration        `json:"rest,omitempty"`   // for how long it may wait yet; 0 if that has no end
}

// AdmittedSignal tells the workflow of a run that waits that it may begin, as far as others can tell: it asks again. Stored in histories; never
// rename.
const AdmittedSignal = "admitted"

// WorkflowID returns the id of the workflow that executes a run.
func WorkflowID(run string) string { return "run-" + run }

// takesPlace is why a run cancels another one. Stored; never change it.
const takesPlace = "it takes its place, because of concurrency.when_full: cancel"

// defaultPriority is that of a run whose document says none: in the middle.
const defaultPriority = 3

// admissionOf returns on which terms a run begins in an environment; nil if it needs no place.
func admissionOf(environment string, compiled *plan.Plan) *landscape.Admission {
	p := &compiled.Document.Pipeline
	limits := *cmp.Or(p.Concurrency, new(pipeline.Concurrency))
	on := &landscape.Admission{
		Terms: admit.Terms{Priority: cmp.Or(int64(limits.Priority), defaultPriority), WhenFull: admit.Policy(limits.WhenFull)},
		Most:  int64(limits.Queue.Max), Wait: time.Duration(limits.Queue.Wait),
	}
	if limits.Runs > 0 {
		on.Wants = append(on.Wants, admit.Want{Gate: landscape.RunsGate(environment, p.Name, limits.Key), Places: 1, Limit: int64(limits.Runs)})
	}
	for _, pool := range p.Pools {
		on.Wants = append(on.Wants, admit.Want{Gate: landscape.PoolGate(pool.Name), Places: int64(pool.Value)})
	}
	for _, target := range targetsOf(compiled) {
		on.Wants = append(on.Wants, admit.Target(target))
	}
	if on.Wants == nil {
		return nil
	}
	return on
}

// targetsOf returns the targets to which no other run may write while a run does, sorted, each once.
func targetsOf(compiled *plan.Plan) []string {
	var targets []string
	for _, i := range compiled.Sinks() {
		if target := compiled.Nodes[i].Sink.Exclusive(); target != "" {
			targets = append(targets, target)
		}
	}
	slices.Sort(targets)
	return slices.Compact(targets)
}

// admit finds out whether the run may begin, before anything is done for it.
func (a *Activities) admit(ctx context.Context, in OpenInput, compiled *plan.Plan) (*landscape.Admission, error) {
	on := admissionOf(in.Environment, compiled)
	if on == nil {
		return nil, nil
	}
	if err := a.refuseUnserved(ctx, in.Run, on); err != nil {
		return nil, err
	}
	return on, a.log.Admit(ctx, in.Run, on)
}

// decided returns an error that wraps landscape.ErrCalledOff if no run comes of the start with which this execution began; nil if one may.
func (a *Activities) decided(ctx context.Context, in OpenInput, from *origin) error {
	start, err := a.log.LastStart(ctx, in.Run)
	switch {
	case errors.Is(err, landscape.ErrNotFound):
		return nil
	case err != nil:
		return err
	case !in.Again && !repeated(ctx) && !from.calledOff(start):
		return nil
	case start.Decided == 0, start.State == landscape.StartBegun, start.State == landscape.StartRefused && !in.Again: // or else of one of before
		return nil
	}
	return fmt.Errorf("%w: %s", landscape.ErrCalledOff, start.Reason)
}

// calledOff reports whether somebody cancelled the start since the workflow was started, while no worker came for it.
func (o *origin) calledOff(start landscape.Start) bool {
	first := !o.again && o.continues == "" && o.started.Unix() > 0
	return first && start.State == landscape.StartCancelled && (start.Workflow == o.asked || start.Workflow == "") && start.Decided > landscape.MicrosOf(o.started)
}

// calledOff returns what somebody decided about a start while its run was about to begin. One that was refused is refused in the same words, so
// that it is recorded once.
func (a *Activities) calledOff(ctx context.Context, run string, cause error) (*Held, error) {
	start, err := a.log.LastStart(ctx, run)
	if err != nil {
		return nil, err
	}
	switch start.State {
	case landscape.StartSkipped, landscape.StartSuperseded, landscape.StartCancelled:
		return &Held{State: start.State, Reason: start.Reason}, nil
	case landscape.StartRefused:
		if _, known := problemKinds[start.Refusal]; known {
			return nil, final{start.Refusal, errors.New(start.Reason)}
		}
		return nil, final{TypeSuperseded, errors.New(start.Reason)}
	}
	return nil, cause
}

// heldBy returns what an error says of a run that does not begin, or not yet; nil if it says nothing of that.
func (a *Activities) heldBy(ctx context.Context, in OpenInput, err error) (*Held, error) {
	if errors.Is(err, landscape.ErrCalledOff) {
		return a.calledOff(ctx, in.Run, err)
	}
	by, ok := errors.AsType[*landscape.HeldError](err)
	if !ok {
		return nil, err
	}
	held := &Held{State: by.State, Reason: by.Decision.Why(), Rest: by.Rest}
	switch by.Decision.Verdict {
	case admit.Joined:
		held.Joined = by.Decision.Runs[0]
	case admit.WaitCancel:
		if held.Cancel = by.Decision.Runs; by.Decision.Superseded != nil {
			a.wake(ctx, by.Decision.Superseded...)
			a.release(ctx, in.Run) // what they waited for may be free by now, also for this run
		}
		for _, run := range held.Cancel {
			if err := a.log.RecordOrder(ctx, run, landscape.VerbCancel, "run "+in.Run, takesPlace, by.Since); err != nil {
				return nil, err
			}
		}
	}
	return held, nil
}

// release tells the runs that wait for what the run held or wanted that they may begin. What fails costs time alone: each asks again by itself.
func (a *Activities) release(ctx context.Context, run string) {
	runs, err := a.log.Admissible(ctx, run)
	if err != nil {
		activity.GetLogger(ctx).Warn("who waits for the places of the run is unknown", "run", run, "error", err)
		return
	}
	a.wake(ctx, runs...)
}

func (a *Activities) wake(ctx context.Context, runs ...string) {
	if runs == nil {
		return
	}
	if err := Wake(ctx, activity.GetClient(ctx), runs...); err != nil {
		activity.GetLogger(ctx).Warn("the runs that wait were not woken", "runs", runs, "error", err)
	}
}

// Signaler sends signals to workflows, as clients of Temporal do.
type Signaler interface {
	SignalWorkflow(ctx context.Context, workflow, execution, signal string, arg any) error
}

// Wake tells the workflows of runs that wait to ask again. It tries all. That a workflow is gone is no error.
func Wake(ctx context.Context, to Signaler, runs ...string) error {
	var failed error
	for _, run := range runs {
		err := to.SignalWorkflow(ctx, WorkflowID(run), "", AdmittedSignal, nil)
		if gone := (*serviceerror.NotFound)(nil); !errors.As(err, &gone) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}
