package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"waymark/internal/defect"
)

// observeDefects tells, whenever somebody asks for metrics, how many panics the process has caught.
func observeDefects(meter metric.Meter) error {
	about := metric.WithDescription("Panics that were caught, by where; each is in the log.")
	_, err := meter.Int64ObservableCounter("waymark_defects", about,
		metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
			for where, n := range defect.Counts() {
				to.Observe(n, labels("where", where))
			}
			return nil
		}))
	return err
}
