package daemon

import (
	"context"
	"sync"
	"time"

	"waymark/landscape"
	"waymark/worker/delivery"
	"waymark/worker/secrets"
)

const (
	// sequenceInterval is how long an event waits at most for its position. A look is a few reads of indexes.
	sequenceInterval = time.Second
	// backlogInterval is the time between two looks at how many deliveries wait, for metrics.
	backlogInterval = 15 * time.Second
)

// watchOutbox gives events their positions, and delivers them to endpoints, until ctx ends, as long as this process
// leads. Runs do not wait for it.
func (d *process) watchOutbox(ctx context.Context, log *landscape.Log, lead *lead) {
	holder := ""
	if d.Alone {
		holder = delivery.Alone
	}
	keeper := secrets.Keeper{Folder: d.SecretsDir, Rules: d.Secrets, Server: true}
	deliverer := delivery.New(log, delivery.NewSender(log.Reader, keeper.Deliver, d.AllowNetworks), d.logger, holder)
	var deliveries sync.WaitGroup
	defer deliveries.Wait()
	var counted time.Time
	for {
		var err error
		if lead.has() {
			if _, err = log.Sequence(ctx); err == nil {
				err = deliverer.All(ctx, &deliveries)
			}
			if err == nil && time.Since(counted) >= backlogInterval {
				counted = time.Now()
				err = d.countDeliveries(ctx, log)
			}
		}
		if err != nil && ctx.Err() == nil {
			d.logger.Warn("cannot tell others what happens", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(sequenceInterval):
		}
	}
}

// countDeliveries tells metrics what endpoints are still to get.
func (d *process) countDeliveries(ctx context.Context, log *landscape.Log) error {
	backlogs, err := log.Backlogs(ctx)
	for _, b := range backlogs {
		d.telemetry.Deliveries(b)
	}
	return err
}
