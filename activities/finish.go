package activities

import (
	"context"
	"errors"

	"waymark/landscape"
	"waymark/pipeline"
)

// FinishRun concludes a run: completed only if every row is accounted for, which is checked in the transaction that says
// so.
//
// It may run twice: a run that is concluded stays as it is.
func (a *Activities) FinishRun(ctx context.Context, in FinishInput) (FinishResult, error) {
	defer beat(ctx)()
	status, err := a.log.Conclude(ctx, in.Run)
	if err != nil {
		return FinishResult{}, toTemporal(err)
	}
	if err := a.log.FinishRun(ctx, in.Run, status, ""); err != nil {
		return FinishResult{}, toTemporal(err)
	}
	return FinishResult{Status: status}, toTemporal(a.forget(in.Run))
}

// StopRun records that a run ended before it was complete, and why. What a failed run staged for its sinks stays where it is;
// a cancelled run gives it up. A run whose record was never begun has nothing to record.
//
// It may run twice: a run that is stopped stays as it is.
func (a *Activities) StopRun(ctx context.Context, in StopInput) error {
	err := a.log.FinishRun(ctx, in.Run, in.Status, in.Reason)
	if errors.Is(err, landscape.ErrNotFound) {
		err = nil
	}
	if err == nil && in.Status == pipeline.Cancelled {
		err = a.discard(ctx, in.Run)
	}
	return toTemporal(errors.Join(err, a.forget(in.Run)))
}

// discard removes what the run staged and did not publish.
func (a *Activities) discard(ctx context.Context, id string) error {
	r, err := a.get(ctx, id)
	if errors.Is(err, landscape.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, i := range r.plan.Sinks() {
		if err := r.plan.Nodes[i].Sink.Target(id).Discard(ctx); err != nil {
			return err
		}
	}
	return nil
}
