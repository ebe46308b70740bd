package worker

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/sdk/worker"

	"waymark/activities"
)

const (
	// usualSlots is how many workflow tasks and local activities the SDK lets a worker have at once, if nobody says
	// anything else.
	usualSlots = 1000

	// mostBehind bounds how long a process in a stretch takes no other work: a run that no other worker can help waits no
	// longer.
	mostBehind = 2 * time.Second
)

// behindStretches returns options of a worker that executes up to size activities of a queue at once, and takes none while
// the process is in a stretch: the other workers wait for what it reads, and can do everything else.
func behindStretches(o worker.Options, act *activities.Activities, size int) worker.Options {
	tuner, err := worker.NewCompositeTuner(worker.CompositeTunerOptions{
		WorkflowSlotSupplier:        slotsOf(cmp.Or(o.MaxConcurrentWorkflowTaskExecutionSize, usualSlots)),
		ActivitySlotSupplier:        &lastSlots{slotsOf(size), act},
		LocalActivitySlotSupplier:   slotsOf(cmp.Or(o.MaxConcurrentLocalActivityExecutionSize, usualSlots)),
		NexusSlotSupplier:           slotsOf(usualSlots),
		SessionActivitySlotSupplier: slotsOf(usualSlots),
	})
	if err != nil {
		panic(err) // it returns none
	}
	o.MaxConcurrentWorkflowTaskExecutionSize, o.MaxConcurrentLocalActivityExecutionSize = 0, 0
	o.MaxConcurrentActivityExecutionSize, o.Tuner = 0, tuner
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

// lastSlots are slots that come last while the process is in a stretch.
type lastSlots struct {
	worker.SlotSupplier
	act *activities.Activities
}

// ReserveSlot waits for a slot, before the worker asks for a task.
func (s *lastSlots) ReserveSlot(ctx context.Context, info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	behind, done := context.WithTimeout(ctx, mostBehind)
	activities.AwaitStretches(behind, s.act)
	done()
	return s.SlotSupplier.ReserveSlot(ctx, info)
}

// TryReserveSlot returns a slot for a task that need not be asked for; nil if there is none.
func (s *lastSlots) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	if activities.InStretch(s.act) {
		return nil
	}
	return s.SlotSupplier.TryReserveSlot(info)
}
