package worker

import (
	"context"
	"sync/atomic"

	"go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/internal/processors"
)

const (
	// unused is how many slots there are for what a worker of shares never gets: the SDK asks for all kinds.
	unused = 1

	// perShare is for how many processors a process takes one share at once: the chunks of a share go through the steps
	// side by side.
	perShare = 4
)

// sharesOptions returns options of a worker for shares of runs that are split. It takes none while the process reads
// for such a run: others wait for what it reads, and can do everything else.
func sharesOptions(common worker.Options, act *activities.Activities) worker.Options {
	o := besideOptions(common, 1, 0)
	most := (processors.Computing() + perShare - 1) / perShare
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		WorkflowSlotSupplier:        slotsOf(unused),
		ActivitySlotSupplier:        &shareSlots{SlotSupplier: slotsOf(2 * most), act: act, most: int64(most)},
		LocalActivitySlotSupplier:   slotsOf(unused),
		NexusSlotSupplier:           slotsOf(unused),
		SessionActivitySlotSupplier: slotsOf(unused),
	})
	if err != nil {
		panic(err) // it returns none
	}
	o.MaxConcurrentWorkflowTaskExecutionSize, o.MaxConcurrentLocalActivityExecutionSize = 0, 0
	o.Tuner = tuner
	return o
}

// slotsOf supplies so many slots.
func slotsOf(n int) worker.SlotSupplier {
	supplier, err := worker.NewFixedSizeSlotSupplier(n)
	if err != nil {
		panic(err) // only of a number below 1
	}
	return supplier
}

// shareSlots are slots for shares. One that is only to be recorded leaves its place to the next.
type shareSlots struct {
	worker.SlotSupplier
	act  *activities.Activities
	most int64
	has  atomic.Int64
}

// ReserveSlot waits for a slot, before the worker asks for a task.
func (s *shareSlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	if err := activities.AwaitShare(ctx, s.act, s.has.Load, s.most); err != nil {
		return nil, err
	}
	permit, err := s.SlotSupplier.ReserveSlot(ctx, info)
	if err == nil {
		s.has.Add(1)
	}
	return permit, err
}

// TryReserveSlot returns a slot for a task that need not be asked for; nil if there is none.
func (s *shareSlots) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	if !activities.MayShare(s.act, s.has.Load(), s.most) {
		return nil
	}
	permit := s.SlotSupplier.TryReserveSlot(info)
	if permit != nil {
		s.has.Add(1)
	}
	return permit
}

// ReleaseSlot gives a slot back.
func (s *shareSlots) ReleaseSlot(info worker.SlotReleaseInfo) {
	s.has.Add(-1)
	s.SlotSupplier.ReleaseSlot(info)
}
