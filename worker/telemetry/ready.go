package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// readyCollector reports, at each scrape, whether each service that the process needs is well: a process that is up and
// can do nothing looks healthy in all other metrics. It is a Prometheus collector and not an OpenTelemetry instrument.
// OpenTelemetry holds a lock while it calls back an instrument, and registering an instrument takes the same lock.
// A probe calls a service, the call measures itself, and its first measurement would wait for that lock for ever.
type readyCollector func(context.Context) map[string]bool

var readySays = prometheus.NewDesc(
	"waymark_ready", "Whether what the process needs is well: 1, or 0.", []string{"check"}, nil,
)

// Describe implements prometheus.Collector.
func (readyCollector) Describe(to chan<- *prometheus.Desc) { to <- readySays }

// Collect implements prometheus.Collector.
func (ready readyCollector) Collect(to chan<- prometheus.Metric) {
	for check, well := range ready(context.Background()) {
		is := 0.
		if well {
			is = 1
		}
		to <- prometheus.MustNewConstMetric(readySays, prometheus.GaugeValue, is, check)
	}
}
