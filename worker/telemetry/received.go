package telemetry

import (
	"context"
	"sync"

	"go.opentelemetry.io/otel/metric"
)

// Received counts what other services posted to triggers, for the part of the process that takes it. The zero Received
// has counted nothing. It is safe for concurrent use.
type Received struct {
	mu sync.Mutex
	of map[delivered]int64
}

// delivered are the labels of a count.
type delivered struct{ trigger, outcome string }

// Add counts a delivery. trigger is empty if it was refused: who knows no secret could make up any.
func (r *Received) Add(trigger, outcome string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[delivered]int64{}
	}
	r.of[delivered{trigger, outcome}]++
}

// observe tells the counts whenever somebody asks for metrics.
func (r *Received) observe(meter metric.Meter) error {
	_, err := meter.Int64ObservableCounter("waymark_deliveries_received", metric.WithDescription("What other services posted to triggers."),
		metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
			r.mu.Lock()
			defer r.mu.Unlock()
			for of, n := range r.of {
				to.Observe(n, labels("trigger", of.trigger, "outcome", of.outcome))
			}
			return nil
		}))
	return err
}
