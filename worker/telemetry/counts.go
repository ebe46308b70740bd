package telemetry

import (
	"context"
	"errors"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/audit/evidence"
	"waymark/landscape"
	"waymark/pipeline"
)

// counts are our own metrics. docs/cluster.md lists them; people's dashboards know their names: never rename one.
type counts struct {
	rows    metric.Int64Counter
	effects metric.Int64Counter
	runs    metric.Int64Counter
	refused metric.Int64Counter
	missed  metric.Int64Counter
	success metric.Float64Gauge
	run     metric.Float64Histogram
	chunk   metric.Float64Histogram
	lag     metric.Float64Histogram

	entries metric.Int64Gauge
	open    metric.Int64Gauge
	waits   metric.Float64Gauge

	deliveries  metric.Int64Gauge
	undelivered metric.Float64Gauge

	attested metric.Int64Gauge

	arrivals metric.Int64Gauge
	unread   metric.Float64Gauge
}

func newCounts(meter metric.Meter) (*counts, error) {
	var failed error
	counter := func(name, about string) metric.Int64Counter {
		made, err := meter.Int64Counter(name, metric.WithDescription(about))
		failed = errors.Join(failed, err)
		return made
	}
	histogram := func(name, about string) metric.Float64Histogram {
		made, err := meter.Float64Histogram(name, metric.WithDescription(about), metric.WithUnit("s"))
		failed = errors.Join(failed, err)
		return made
	}
	c := &counts{
		rows:    counter("waymark_rows", "Rows by pipeline, node and kind."),
		effects: counter("waymark_effects", "What became of writing parts and publishing outputs."),
		runs:    counter("waymark_runs", "Runs that came into a state."),
		refused: counter("waymark_starts_refused", "Starts that came to nothing, by the type of the error."),
		run:     histogram(runSeconds, "How long runs took from their beginning to their last end."),
		missed:  counter("waymark_telemetry_missed", "Activities that are in no metric, because there were too many at once."),
		chunk:   histogram("waymark_chunk", "How long an activity took."),
		lag:     histogram("waymark_schedule_to_start", "How long an activity waited for a worker."),
	}
	made, err := meter.Float64Gauge("waymark_run_last_success_timestamp", metric.WithDescription("When a run was last completed, since 1970."), metric.WithUnit("s"))
	c.success = made
	failed = errors.Join(failed, err)
	if c.entries, err = meter.Int64Gauge("waymark_log_entries", metric.WithDescription("Entries of the landscape's log that are sealed, signed, or at an anchor.")); err != nil {
		failed = errors.Join(failed, err)
	}
	says := metric.WithDescription("Runs that ended more than a minute ago and are not sealed.")
	if c.open, err = meter.Int64Gauge("waymark_runs_unsealed", says); err != nil {
		failed = errors.Join(failed, err)
	}
	if c.deliveries, err = meter.Int64Gauge("waymark_deliveries", metric.WithDescription("Events that endpoints are still to get, or did not take.")); err != nil {
		failed = errors.Join(failed, err)
	}
	if c.undelivered, err = meter.Float64Gauge("waymark_delivery_oldest_wait", metric.WithDescription("Age of the oldest event that an endpoint is still to get."), metric.WithUnit("s")); err != nil {
		failed = errors.Join(failed, err)
	}
	if c.attested, err = meter.Int64Gauge("waymark_attestations_scheduled", metric.WithDescription("Complete runs whose outputs are attested now and then, and how many of them are overdue.")); err != nil {
		failed = errors.Join(failed, err)
	}
	if c.arrivals, err = meter.Int64Gauge("waymark_arrivals_waiting", metric.WithDescription("Files that arrived at a trigger and wait for a run.")); err != nil {
		failed = errors.Join(failed, err)
	}
	if c.unread, err = meter.Float64Gauge("waymark_arrivals_oldest_wait", metric.WithDescription("Age of the oldest file that waits for a run of its trigger."), metric.WithUnit("s")); err != nil {
		failed = errors.Join(failed, err)
	}
	c.waits, err = meter.Float64Gauge("waymark_log_oldest_wait", metric.WithDescription("Age of the oldest entry that is not signed or not at all anchors."), metric.WithUnit("s"))
	return c, errors.Join(failed, err)
}

// Log tells how far the landscape's log is sealed, signed and anchored.
func (t *Telemetry) Log(b evidence.Backlog) {
	ctx, c := context.Background(), t.counts
	c.entries.Record(ctx, b.Entries, labels("state", "sealed"))
	c.entries.Record(ctx, b.Signed, labels("state", "signed"))
	for _, anchor := range b.Anchors {
		c.entries.Record(ctx, anchor.Entries, labels("state", "anchored", "anchor", anchor.Anchor))
	}
	wait := time.Duration(0)
	if !b.Oldest.IsZero() {
		wait = time.Since(b.Oldest)
	}
	c.waits.Record(ctx, wait.Seconds())
}

// Unsealed tells how many runs ended and are not sealed.
func (t *Telemetry) Unsealed(runs int) { t.counts.open.Record(context.Background(), int64(runs)) }

// Attestations tells of how many runs the outputs are attested now and then, and of how many of them that is overdue.
func (t *Telemetry) Attestations(scheduled, overdue int) {
	ctx := context.Background()
	t.counts.attested.Record(ctx, int64(scheduled-overdue), labels("state", "in_time"))
	t.counts.attested.Record(ctx, int64(overdue), labels("state", "overdue"))
}

// Arrivals tells how many files wait for a run of a trigger, and when the oldest of them arrived.
func (t *Telemetry) Arrivals(trigger string, waiting int64, oldest time.Time) {
	ctx, wait := context.Background(), time.Duration(0)
	if waiting > 0 {
		wait = time.Since(oldest)
	}
	t.counts.arrivals.Record(ctx, waiting, labels("trigger", trigger))
	t.counts.unread.Record(ctx, wait.Seconds(), labels("trigger", trigger))
}

// Deliveries tells what an endpoint is still to get.
func (t *Telemetry) Deliveries(b landscape.Backlog) {
	ctx, endpoint, wait := context.Background(), b.Endpoint.Name, time.Duration(0)
	t.counts.deliveries.Record(ctx, b.Waiting, labels("endpoint", endpoint, "state", "waiting"))
	t.counts.deliveries.Record(ctx, b.Dead, labels("endpoint", endpoint, "state", "dead"))
	if b.Oldest != 0 {
		wait = time.Since(b.Oldest.Time())
	}
	t.counts.undelivered.Record(ctx, wait.Seconds(), labels("endpoint", endpoint))
}

// runSeconds is the name of the histogram of whole runs, as it is before its unit.
const runSeconds = "waymark_run"

// Values of the label kind of waymark_rows.
const (
	rowsRead    = "read"        // from a source
	rowsRefused = "quarantined" // or sent to a sink for what was wrong with them
	rowsEnded   = "filtered"    // or discarded
	rowsWritten = "written"     // that the target of a sink holds
)

// Values of the label state of waymark_effects.
const (
	effectFinalized = "finalized" // a part is in its place
	effectPublished = "published" // an output is visible
	effectFailed    = "failed"    // an attempt failed; it is repeated
	effectBlocked   = "blocked"   // a person must decide
)

// Values of the label status of waymark_runs, besides those of pipeline.RunStatus.
const (
	runStarted = "started"
	runResumed = "resumed"
)

// add counts what an activity that ended is about. The labels hold names of the document and words of this program.
func (c *counts) add(e event, of Run) {
	ctx, pipeline := context.Background(), of.Pipeline
	outcome := "done"
	if e.err != nil {
		outcome = "failed"
	}
	c.chunk.Record(ctx, e.took.Seconds(), labels("activity", e.activity, "outcome", outcome))
	c.lag.Record(ctx, e.lag.Seconds(), labels("activity", e.activity))
	for _, one := range e.apart() {
		if one.err != nil {
			c.addFailed(ctx, one, pipeline)
			continue
		}
		c.addRows(ctx, one, pipeline)
		c.addSteps(ctx, one, pipeline)
		if status, ended := one.ended(pipeline); ended {
			c.addEnd(ctx, status, of)
		}
	}
}

// ended reports whether a run ended with the event, and how.
func (e event) ended(pipeline string) (status string, ended bool) {
	switch in := e.in.(type) {
	case activities.StopInput:
		return string(in.Status), !neverBegan(in, pipeline)
	case activities.FinishInput:
		out, ok := e.out.(activities.FinishResult)
		return string(out.Status), ok
	}
	return "", false
}

// neverBegan reports whether what stops is a start, whose run is not recorded.
func neverBegan(in activities.StopInput, pipeline string) bool {
	return in.Begin != nil && pipeline == nobody
}

// addEnd counts a run that ended.
func (c *counts) addEnd(ctx context.Context, status string, of Run) {
	c.runs.Add(ctx, 1, labels("pipeline", of.Pipeline, "status", status))
	if !of.Started.IsZero() {
		c.run.Record(ctx, time.Since(of.Started).Seconds(), labels("pipeline", of.Pipeline, "status", status))
	}
	switch pipeline.RunStatus(status) {
	case pipeline.Completed, pipeline.CompletedWithFailures, pipeline.Empty:
		c.success.Record(ctx, float64(time.Now().UnixMilli())/1000, labels("pipeline", of.Pipeline))
	}
}

// batch is the input of an activity that does several pieces of work.
type batch interface {
	Work() (run string, each []any)
}

// apart returns what an activity did for each piece of work, as if each had had an activity of its own. Of one that
// failed it returns the pieces that failed: all, if the error does not say which.
func (e event) apart() []event {
	switch in := e.in.(type) {
	case batch:
		_, pieces := in.Work()
		return e.split(pieces)
	case activities.SmallRunInput:
		did, _ := e.out.(activities.SmallRunResult)
		return slices.Concat(eachDone(did.Reads), eachDone(did.Passes), eachDone(did.Writes))
	case activities.FinishInput:
		var outputs []any
		for _, sink := range in.Sinks {
			outputs = append(outputs, activities.PublishInput{Sink: sink})
		}
		if e.err != nil && activities.FailedOf(e.err) == nil { // it failed after they were published
			return []event{e}
		}
		return append(e.split(outputs), e)
	default:
		return []event{e}
	}
}

// eachDone returns what an activity did as if each had had an activity of its own.
func eachDone[In, Out any](did []activities.Done[In, Out]) []event {
	events := make([]event, len(did))
	for i, done := range did {
		events[i] = event{in: done.In, out: done.Out}
	}
	return events
}

// split returns an event for each piece of work that was done, or failed.
func (e event) split(pieces []any) (events []event) {
	if e.err != nil {
		failed := activities.FailedOf(e.err)
		for i, piece := range pieces {
			if failed == nil || slices.Contains(failed, i) {
				events = append(events, event{in: piece, err: e.err})
			}
		}
		return events
	}
	var all []any
	if results, ok := e.out.(interface{ All() []any }); ok {
		all = results.All()
	}
	for i, piece := range pieces {
		one := event{in: piece}
		if i < len(all) {
			one.out = all[i]
		}
		events = append(events, one)
	}
	return events
}

func (c *counts) addFailed(ctx context.Context, e event, pipeline string) {
	var sink string
	switch in := e.in.(type) {
	case activities.WriteInput:
		sink = in.Sink
	case activities.PublishInput:
		sink = in.Sink
	default:
		return
	}
	state := effectFailed
	if application, ok := errors.AsType[*temporal.ApplicationError](e.err); ok && application.Type() == activities.TypeBlocked {
		state = effectBlocked
	}
	c.effects.Add(ctx, 1, labels("pipeline", pipeline, "sink", sink, "state", state))
}

// addRows counts rows.
func (c *counts) addRows(ctx context.Context, e event, pipeline string) {
	add := func(node, kind string, rows int64) {
		if rows > 0 {
			c.rows.Add(ctx, rows, labels("pipeline", pipeline, "node", node, "kind", kind))
		}
	}
	switch out := e.out.(type) {
	case activities.ReadResult:
		if in, ok := e.in.(activities.ReadInput); ok {
			for _, chunk := range out.Chunks() {
				add(in.Source, rowsRead, int64(chunk.Rows))
			}
		}
	case activities.PassResult:
		for node, rows := range out.RefusedBy {
			add(node, rowsRefused, int64(rows))
		}
		for node, rows := range out.EndedBy {
			add(node, rowsEnded, int64(rows))
		}
	case activities.WriteResult:
		if in, ok := e.in.(activities.WriteInput); ok {
			add(in.Sink, rowsWritten, out.Rows)
			add(in.Sink, rowsRefused, out.Refused)
		}
	}
}

// begins reports whether a run began with the event, and does not wait.
func begins(e event) bool {
	out, ok := e.out.(activities.Opened)
	return ok && e.err == nil && out.Held == nil
}

// addSteps counts what happened to runs and outputs.
func (c *counts) addSteps(ctx context.Context, e event, pipeline string) {
	run := func(status string) { c.runs.Add(ctx, 1, labels("pipeline", pipeline, "status", status)) }
	effect := func(sink, state string) {
		c.effects.Add(ctx, 1, labels("pipeline", pipeline, "sink", sink, "state", state))
	}
	switch in := e.in.(type) {
	case activities.WriteInput:
		effect(in.Sink, effectFinalized)
	case activities.PublishInput:
		effect(in.Sink, effectPublished)
	case activities.OpenInput:
		if begins(e) {
			run(runStarted)
		}
	case activities.ResumeInput:
		run(runResumed)
	case activities.RefuseInput:
		c.refused.Add(ctx, 1, labels("refusal", in.Refusal))
	case activities.StopInput:
		if neverBegan(in, pipeline) {
			c.refused.Add(ctx, 1, labels("refusal", in.Refusal))
		}
	}
}

// labels are pairs of names and values.
func labels(pairs ...string) metric.MeasurementOption {
	set := make([]attribute.KeyValue, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		set = append(set, attribute.String(pairs[i], pairs[i+1]))
	}
	return metric.WithAttributes(set...)
}
