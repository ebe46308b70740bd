package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"
)

// observeReady tells, whenever somebody asks for metrics, whether each thing that the process needs is well: a process
// that is up and can do nothing looks like one that is well in all other metrics.
func observeReady(meter metric.Meter, ready func(context.Context) map[string]bool) error {
	about := metric.WithDescription("Whether what the process needs is well: 1, or 0.")
	_, err := meter.Int64ObservableGauge("waymark_ready", about, metric.WithInt64Callback(func(ctx context.Context, to metric.Int64Observer) error {
		for check, well := range ready(ctx) {
			var is int64
			if well {
				is = 1
			}
			to.Observe(is, labels("check", check))
		}
		return nil
	}))
	return err
}
