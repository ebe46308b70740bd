package daemon

import (
	"context"
	"time"

	"waymark/landscape"
)

const (
	// sequenceInterval is how long an event waits at most for its position. A look is one read of an index.
	sequenceInterval = time.Second
	// keepEvents is how long events can be read, and delivered again. docs/webhooks.md says so.
	keepEvents = 30 * 24 * time.Hour
	// dropInterval is the time between two looks for events that are older.
	dropInterval = time.Hour
)

// watchOutbox gives events their positions, and drops old ones, until ctx ends. Every worker does so.
func (d *process) watchOutbox(ctx context.Context, log *landscape.Log) {
	var dropped time.Time
	for {
		_, err := log.Sequence(ctx)
		if err == nil && time.Since(dropped) >= dropInterval {
			dropped = time.Now()
			err = d.dropEvents(ctx, log)
		}
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot give events their positions", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sequenceInterval):
		}
	}
}

// dropEvents drops the events that are too old.
func (d *process) dropEvents(ctx context.Context, log *landscape.Log) error {
	head, err := log.OutboxHead(ctx)
	if err != nil {
		return err
	}
	n, err := log.DropEvents(ctx, landscape.MicrosOf(time.Now().Add(-keepEvents)), head.Size)
	if n > 0 {
		d.logger.Info("dropped old events", "events", n)
	}
	return err
}
