// Package telemetry says how a worker process is doing: metrics in Prometheus' form, and traces by OpenTelemetry. It
// sees the inputs and results of activities, which hold names and counts, and no row. Whatever goes wrong here is
// logged: it fails no run, and no run waits for it.
package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel"
	bridge "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"

	"waymark/internal/defect"
	"waymark/worker/spans"
)

// maxSeries bounds how many combinations of labels one metric may have. Further ones are counted together, under the
// label otel_metric_overflow.
const maxSeries = 2_000

// Options say what to tell whom.
type Options struct {
	Code   string                                     // version of the program
	Env    func(name string) (value string, set bool) // OTEL_* variables, which alone say whether and where traces are sent
	Logger *slog.Logger                               // gets what goes wrong

	Spans spans.Folder // where spans wait while their collector is away; empty: they are dropped

	Received *Received // what is posted to the process; nil if nothing can be

	Ready func(ctx context.Context) map[string]bool // whether each thing that the process needs is well; nil if nobody knows
}

// Telemetry gathers what one process has to say. It is safe for concurrent use.
type Telemetry struct {
	registry *prometheus.Registry
	meters   *metric.MeterProvider
	counts   *counts
	tracing  *tracing // nil if no traces are sent
	logger   *slog.Logger
	done     chan struct{} // closed by Stop
}

// Start begins to gather. The error says which variable is wrong; a collector of traces that cannot be reached is no
// error.
func Start(ctx context.Context, o Options) (*Telemetry, error) {
	t := &Telemetry{registry: prometheus.NewRegistry(), logger: o.Logger, done: make(chan struct{})}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), buildInfo(o.Code))
	exporter, err := bridge.New(bridge.WithRegisterer(t.registry), bridge.WithoutScopeInfo(), bridge.WithoutTargetInfo())
	if err != nil {
		return nil, err
	}
	t.meters = metric.NewMeterProvider(metric.WithReader(exporter), metric.WithCardinalityLimit(maxSeries), metric.WithView(seconds()))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(quiet(o.Logger)))
	if t.counts, err = newCounts(t.meters.Meter("waymark")); err != nil {
		return nil, err
	}
	if err := observeDefects(t.meters.Meter("waymark")); err != nil {
		return nil, err
	}
	if o.Received != nil {
		if err := o.Received.observe(t.meters.Meter("waymark")); err != nil {
			return nil, err
		}
	}
	if o.Ready != nil {
		t.registry.MustRegister(readyCollector(o.Ready))
	}
	if t.tracing, err = startTracing(ctx, o); err != nil {
		return nil, err
	}
	if t.tracing != nil && o.Spans != "" {
		if err := observeSpans(t.meters.Meter("waymark"), o.Spans); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// seconds gives all histograms of seconds, Temporal's as well, bounds from what one call costs at least to what
// somebody should look at, and that of whole runs bounds of a second to a day.
func seconds() metric.View {
	return func(i metric.Instrument) (metric.Stream, bool) {
		bounds := []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
		if i.Name == runSeconds {
			bounds = []float64{1, 5, 15, 60, 300, 900, 3_600, 4 * 3_600, 12 * 3_600, 24 * 3_600}
		}
		of := metric.Stream{Name: i.Name, Description: i.Description, Unit: i.Unit, Aggregation: metric.AggregationExplicitBucketHistogram{Boundaries: bounds}}
		return of, i.Unit == "s" && i.Kind == metric.InstrumentKindHistogram
	}
}

// buildInfo is the metric that names the program's version.
func buildInfo(code string) prometheus.Collector {
	info := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "waymark_build_info", Help: "Version of the program; always 1.", ConstLabels: prometheus.Labels{"code": code},
	})
	info.Set(1)
	return info
}

// quiet logs an error of the libraries, and not again as long as it stays the same: a collector that is away is away
// for each batch.
func quiet(logger *slog.Logger) func(error) {
	last := make(chan string, 1)
	last <- ""
	return func(err error) {
		if before := <-last; before != err.Error() {
			logger.Warn("telemetry", "error", err)
		}
		last <- err.Error()
	}
}

// ClientOptions makes clients with these options, and workers on them, tell Temporal's own metrics and traces.
func (t *Telemetry) ClientOptions(o *client.Options) {
	o.MetricsHandler = fewQueues{opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: t.meters.Meter("temporal"), OnError: quiet(t.logger), UseMonotonicCounters: true,
	})}
	if t.tracing != nil {
		o.Interceptors = append(o.Interceptors, t.tracing.interceptor)
	}
}

// Run is what is recorded of a run.
type Run struct {
	Pipeline string // its name
	Started  time.Time
}

// Interceptor returns what makes a worker tell of its activities, and log when runs begin, are resumed, and end. recorded returns
// what is recorded of a run; it is asked once for each run, and not while the run waits.
func (t *Telemetry) Interceptor(recorded func(ctx context.Context, run string) (Run, error)) interceptor.WorkerInterceptor {
	w := newWatcher(t.counts, recorded)
	w.logger = t.logger
	go defect.Guard("telemetry", func() { w.work(t.done) })()
	return w
}

// Handler serves the metrics.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError})
}

// Stop sends the traces that were not sent yet, as long as ctx lasts. Call it once.
func (t *Telemetry) Stop(ctx context.Context) error {
	close(t.done)
	err := t.meters.Shutdown(ctx)
	if t.tracing != nil {
		err = errors.Join(err, t.tracing.provider.Shutdown(ctx))
	}
	return err
}
