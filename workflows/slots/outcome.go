package slots

import (
	"context"
	"errors"
	"time"

	"waymark/activities"
	"waymark/internal/temporal/cluster"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/workflows"
	"waymark/workflows/recovery"
)

// outcome finds out what became of the run of a slot.
func (k *Keeper) outcome(ctx context.Context, slot landscape.Slot, now landscape.Micros) (outcome, error) {
	start, err := k.Log.LastStart(ctx, slot.Run)
	missing := errors.Is(err, landscape.ErrNotFound)
	if err != nil && !missing {
		return outcome{}, err
	}
	var o outcome
	if !missing {
		o.tries = start.Seq + 1
	}
	run, err := k.Log.Run(ctx, slot.Run)
	switch {
	case err == nil:
		o.tries += run.Epoch
		return k.outcomeOfRun(ctx, slot, run.RunHead, o, now)
	case !errors.Is(err, landscape.ErrNotFound):
		return o, err
	case missing, start.Decided != 0 && !tried(slot, o):
		return k.outcomeOfWorkflow(ctx, slot, o)
	case start.Decided == 0:
		if start.State == landscape.StartWaiting {
			o.reason = start.Reason
		}
		return k.attended(ctx, slot, o, now)
	case start.State == landscape.StartSkipped, start.State == landscape.StartSuperseded:
		o.state, o.reason = unwanted, start.Reason
	default:
		o.state, o.reason = failed, start.Reason
		o.curable = start.State == landscape.StartRefused &&
			start.Refusal != activities.TypeInput && start.Refusal != activities.TypeNoPipeline
	}
	return o, nil
}

// tried reports whether the last attempt at the run of a slot is recorded.
func tried(slot landscape.Slot, o outcome) bool {
	return slot.State != landscape.SlotRunning || o.tries > slot.Seen
}

// outcomeOfRun is that of a run that is recorded.
func (k *Keeper) outcomeOfRun(
	ctx context.Context, slot landscape.Slot, run landscape.RunHead, o outcome, now landscape.Micros,
) (outcome, error) {
	if run.Status == pipeline.Running {
		return k.attended(ctx, slot, o, now)
	}
	_, err := k.Log.Resumable(ctx, run.ID)
	if _, is := errors.AsType[*landscape.NotResumableError](err); is {
		o.over = true
	} else if err != nil {
		return o, err
	}
	switch {
	case run.Status.Complete():
		o.state = done
		return o, nil
	case !tried(slot, o):
		return k.outcomeOfWorkflow(ctx, slot, o)
	}
	o.state, o.reason = failed, run.Reason
	o.curable = !o.over && (run.Status == pipeline.Failed || run.Status == pipeline.Interrupted)
	return o, nil
}

// patience is how long a run that has begun is not looked for in Temporal.
const patience = landscape.Micros(30 * time.Second / time.Microsecond)

// attended is the outcome of a run that is running, or waits, on record. Temporal may have lost its workflow: then
// it is begun again, and continues.
func (k *Keeper) attended(ctx context.Context, slot landscape.Slot, o outcome, now landscape.Micros) (outcome, error) {
	o.state = open
	if slot.State != landscape.SlotRunning || now-slot.Changed < patience {
		return o, nil
	}
	_, known, err := cluster.Latest(ctx, k.Client, workflows.WorkflowID(slot.Run))
	if err == nil && !known {
		o.state = unknown
	}
	return o, err
}

// outcomeOfWorkflow is that of a run whose attempt is not recorded yet.
func (k *Keeper) outcomeOfWorkflow(ctx context.Context, slot landscape.Slot, o outcome) (outcome, error) {
	latest, known, err := cluster.Latest(ctx, k.Client, workflows.WorkflowID(slot.Run))
	switch {
	case err != nil:
		return o, err
	case known && latest.Open():
		o.state = open
	case known && o.tries == 0: // it is that of this attempt: there was none before
		o.state, o.reason = failed, recovery.HowClosed(slot.Run, latest)
	}
	return o, nil
}
