package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
)

// readyCollector tells, whenever somebody asks for metrics, whether each thing that the process needs is well: a process
// that is up and can do nothing looks like one that is well in all other metrics. It belongs to Prometheus' registry and
// is no instrument of OpenTelemetry: that holds a lock while it asks its instruments, calls of services measure
// themselves, and for the first measurement of a kind they would wait for that lock for ever.
type readyCollector func(context.Context) map[string]bool

var readySays = prometheus.NewDesc("waymark_ready", "Whether what the process needs is well: 1, or 0.", []string{"check"}, nil)

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
