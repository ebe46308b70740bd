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

// fate finds out what became of the run of a slot.
func (k *Keeper) fate(ctx context.Context, slot landscape.Slot, now landscape.Micros) (fate, error) {
	start, err := k.Log.LastStart(ctx, slot.Run)
	missing := errors.Is(err, landscape.ErrNotFound)
	if err != nil && !missing {
		return fate{}, err
	}
	var f fate
	if !missing {
		f.tries = start.Seq + 1
	}
	run, err := k.Log.Run(ctx, slot.Run)
	switch {
	case err == nil:
		f.tries += run.Epoch
		return k.fateOfRun(ctx, slot, run.RunHead, f, now)
	case !errors.Is(err, landscape.ErrNotFound):
		return f, err
	case missing, start.Decided != 0 && !tried(slot, f):
		return k.fateOfWorkflow(ctx, slot, f)
	case start.Decided == 0:
		if start.State == landscape.StartWaiting {
			f.reason = start.Reason
		}
		return k.attended(ctx, slot, f, now)
	case start.State == landscape.StartSkipped, start.State == landscape.StartSuperseded:
		f.state, f.reason = unwanted, start.Reason
	default:
		f.state, f.reason = failed, start.Reason
		f.curable = start.State == landscape.StartRefused && start.Refusal != activities.TypeInput && start.Refusal != activities.TypeNoPipeline
	}
	return f, nil
}

// tried reports whether the last attempt at the run of a slot is recorded.
func tried(slot landscape.Slot, f fate) bool {
	return slot.State != landscape.SlotRunning || f.tries > slot.Seen
}

// fateOfRun is that of a run that is recorded.
func (k *Keeper) fateOfRun(ctx context.Context, slot landscape.Slot, run landscape.RunHead, f fate, now landscape.Micros) (fate, error) {
	_, err := k.Log.Resumable(ctx, run.ID)
	if _, is := errors.AsType[*landscape.NotResumableError](err); is {
		f.over = true
	} else if err != nil {
		return f, err
	}
	switch {
	case run.Status.Complete():
		f.state = done
		return f, nil
	case run.Status == pipeline.Running:
		return k.attended(ctx, slot, f, now)
	}
	if !tried(slot, f) {
		return k.fateOfWorkflow(ctx, slot, f)
	}
	f.state, f.reason = failed, run.Reason
	f.curable = !f.over && (run.Status == pipeline.Failed || run.Status == pipeline.Interrupted)
	return f, nil
}

// patience is how long a run that has begun is not looked for in Temporal.
const patience = landscape.Micros(30 * time.Second / time.Microsecond)

// attended is the fate of a run that is running, or waits, on record. Temporal may have lost its workflow: then it is begun again, and continues.
func (k *Keeper) attended(ctx context.Context, slot landscape.Slot, f fate, now landscape.Micros) (fate, error) {
	f.state = open
	if slot.State != landscape.SlotRunning || now-slot.Changed < patience {
		return f, nil
	}
	_, known, err := cluster.Latest(ctx, k.Client, workflows.WorkflowID(slot.Run))
	if err == nil && !known {
		f.state = unknown
	}
	return f, err
}

// fateOfWorkflow is that of a run whose attempt is not recorded yet.
func (k *Keeper) fateOfWorkflow(ctx context.Context, slot landscape.Slot, f fate) (fate, error) {
	latest, known, err := cluster.Latest(ctx, k.Client, workflows.WorkflowID(slot.Run))
	switch {
	case err != nil:
		return f, err
	case known && latest.Open():
		f.state = open
	case known && f.tries == 0: // it is that of this attempt: there was none before
		f.state, f.reason = failed, recovery.HowClosed(slot.Run, latest)
	}
	return f, nil
}
