package daemon

import (
	"context"
	"time"

	sdklog "go.temporal.io/sdk/log"

	"go.temporal.io/sdk/client"

	"waymark/worker/storage"
	"waymark/workflows/slots"
)

// shortestTurn is how long the process waits at least between two looks at the schedules.
const shortestTurn = 200 * time.Millisecond

// keeperOf returns what does the work of the schedules in this process.
func (d *process) keeperOf(temporal client.Client, opened *storage.Storage) *slots.Keeper {
	return &slots.Keeper{Client: temporal, Queue: d.Queue, Log: opened.Log, Payloads: opened.Payloads, Logger: sdklog.NewStructuredLogger(d.logger)}
}

// watchSchedules does what the schedules of deployed pipelines are due to do, until ctx ends, as long as this process
// leads. What Temporal's schedules fire for every worker does.
func (d *process) watchSchedules(ctx context.Context, keeper *slots.Keeper, lead *lead) {
	for {
		wait, err := beat, error(nil)
		if lead.has() {
			wait, err = keeper.All(ctx)
		} else {
			keeper.Forget()
		}
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot do what schedules are due to do", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(wait, shortestTurn)):
		}
	}
}
