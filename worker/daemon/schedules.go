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

// watchSchedules does what the schedules of deployed pipelines are due to do, until ctx ends. Every worker does so.
func (d *process) watchSchedules(ctx context.Context, keeper *slots.Keeper) {
	for {
		wait, err := keeper.All(ctx)
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
