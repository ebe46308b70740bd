package activities

import (
	"context"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"waymark/internal/defect"
)

// heartbeatsPerTimeout is how often an activity says within the workflow's heartbeat timeout that it is alive.
const heartbeatsPerTimeout = 30

// heartbeat tells Temporal that the activity is alive until the returned function is called, and what it waits for, if it does.
// Cancellation of the activity reaches ctx by these heartbeats.
func heartbeat(ctx context.Context, waiting *atomic.Pointer[string]) (stop func()) {
	interval := activity.GetInfo(ctx).HeartbeatTimeout / heartbeatsPerTimeout
	if interval <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	go defect.Guard("heartbeat", func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				if text := waiting.Load(); text != nil {
					activity.RecordHeartbeat(ctx, *text)
				} else {
					activity.RecordHeartbeat(ctx)
				}
			case <-done:
				return
			case <-ctx.Done():
				return
			}
		}
	})()
	return func() { close(done) }
}
