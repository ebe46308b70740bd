package daemon

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"waymark/worker/storage"
	"waymark/workflows/triggers"
)

// watchTriggers begins runs as files arrive, until ctx ends. Every worker does so; one of them at a time looks after a
// trigger: the one that leads, unless it cannot see the files.
func (d *process) watchTriggers(ctx context.Context, temporal client.Client, opened *storage.Storage, lead *lead) {
	w := &triggers.Watcher{
		Client: temporal, Queue: d.Queue, Files: d.files(), Alone: d.Alone, Leads: lead.has, Log: opened.Log, Payloads: opened.Payloads, Planner: d.plannerOf(opened),
		Logger: sdklog.NewStructuredLogger(d.logger), Tell: d.telemetry.Arrivals,
	}
	for {
		wait, err := w.All(ctx)
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot do what triggers are to do", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(wait, shortestWatch)):
		}
	}
}

// shortestWatch is how long the process waits at least between two looks at the triggers.
const shortestWatch = 50 * time.Millisecond
