package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/metric"

	"waymark/worker/spans"
)

// observeSpans counts the spans whose collector is away.
func observeSpans(meter metric.Meter, folder spans.Folder) error {
	about := metric.WithDescription("Spans that wait for their collector, and those that were dropped.")
	_, err := meter.Int64ObservableGauge("waymark_spans", about, metric.WithInt64Callback(func(_ context.Context, to metric.Int64Observer) error {
		waits, err := folder.Waiting()
		to.Observe(waits.Spans, labels("state", "waiting"))
		to.Observe(waits.Dropped, labels("state", "dropped"))
		return err
	}))
	return err
}
