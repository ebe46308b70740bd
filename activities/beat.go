package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// beatInterval is well under the workflow's heartbeat timeout of 30 s.
const beatInterval = 5 * time.Second

// beat tells Temporal that the activity is alive until the returned function is called. Cancellation of the activity
// reaches ctx by these heartbeats.
func beat(ctx context.Context) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(beatInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { close(done) }
}
