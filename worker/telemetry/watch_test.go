package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/pipeline"
)

func start(t *testing.T, env map[string]string) *Telemetry {
	t.Helper()
	tel, err := Start(t.Context(), Options{
		Code: "waymark test", Logger: slog.New(slog.DiscardHandler),
		Env:   func(name string) (string, bool) { value, set := env[name]; return value, set },
		Ready: func(context.Context) map[string]bool { return map[string]bool{"temporal": true, "work": false} },
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tel.Stop(context.Background())) })
	return tel
}

// metrics returns the lines that are served of the metrics of this name.
func metrics(t *testing.T, tel *Telemetry, name string) []string {
	t.Helper()
	answer := httptest.NewRecorder()
	tel.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, answer.Code)
	var lines []string
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, name+"{") || strings.HasPrefix(line, name+" ") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}

// done is what an activity is done with in these tests.
type done struct {
	name string
	in   any
	out  any
	err  error
}

// perform lets activities be done under the watcher, and counts them.
func perform(t *testing.T, w *watcher, all ...done) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	for _, d := range all {
		env := suite.NewTestActivityEnvironment()
		env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{w}})
		env.RegisterActivityWithOptions(d.function(), activity.RegisterOptions{Name: d.name})
		_, err := env.ExecuteActivity(d.name, d.in)
		require.Equal(t, d.err == nil, err == nil)
		w.count(<-w.events)
	}
}

// function has the input and the result of the real activity.
func (d done) function() any {
	switch d.in.(type) {
	case activities.OpenInput:
		return act[activities.OpenInput, activities.Opened](d)
	case activities.Batch[activities.ReadInput]:
		return act[activities.Batch[activities.ReadInput], activities.Results[activities.ReadResult]](d)
	case activities.Batch[activities.PassInput]:
		return act[activities.Batch[activities.PassInput], activities.Results[activities.PassResult]](d)
	case activities.FinishInput:
		return act[activities.FinishInput, activities.FinishResult](d)
	case activities.ResumeInput:
		return act[activities.ResumeInput, activities.Resumed](d)
	case activities.StopInput:
		return func(context.Context, activities.StopInput) error { return d.err }
	case activities.Batch[activities.PublishInput]:
		return func(context.Context, activities.Batch[activities.PublishInput]) error { return d.err }
	}
	return act[activities.Batch[activities.WriteInput], activities.Results[activities.WriteResult]](d)
}

// batchOf is a batch of one piece of work.
func batchOf[In any](run string, in In) activities.Batch[In] {
	return activities.Batch[In]{Run: run, Each: []In{in}}
}

// resultOf is the answer to it.
func resultOf[Out any](out Out) activities.Results[Out] {
	return activities.Results[Out]{Each: []Out{out}}
}

func act[In, Out any](d done) any {
	return func(context.Context, In) (out Out, err error) {
		if d.out != nil {
			out, _ = d.out.(Out)
		}
		return out, d.err
	}
}

func TestActivitiesAreCounted(t *testing.T) {
	tel := start(t, nil)
	asked := 0
	w := newWatcher(tel.counts, func(_ context.Context, run string) (Run, error) {
		asked++
		return map[string]Run{"r2": {Pipeline: "returns", Started: time.Now().Add(-20 * time.Second)}}[run], nil
	})
	blocked := temporal.NewNonRetryableApplicationError("who knows", activities.TypeBlocked, nil)
	perform(t, w,
		done{name: "OpenRun", in: activities.OpenInput{Run: "r1"}, out: activities.Opened{Plan: resumepoint.Plan{Pipeline: "orders"}}},
		done{name: "Read", in: batchOf("r1", activities.ReadInput{Source: "in"}), out: resultOf(activities.ReadResult{Rows: 10})},
		done{name: "Read", in: batchOf("r1", activities.ReadInput{Source: "in"}), out: resultOf(activities.ReadResult{Done: true})},
		done{name: "Pass", in: batchOf("r1", activities.PassInput{Source: "in"}), out: resultOf(activities.PassResult{
			Rows: 10, Refused: 2, Ended: 3, RefusedBy: map[string]int{"in": 1, "share": 1}, EndedBy: map[string]int{"known": 3}, Parts: []activities.PartSize{{Sink: "out", Rows: 5}},
		})},
		done{name: "Write", in: batchOf("r1", activities.WriteInput{Sink: "out"}), err: errors.New("disk on fire")},
		done{name: "Write", in: batchOf("r1", activities.WriteInput{Sink: "out"}), err: blocked},
		done{name: "Write", in: batchOf("r1", activities.WriteInput{Sink: "out"}), out: resultOf(activities.WriteResult{Rows: 4, Refused: 1})},
		done{name: "Publish", in: batchOf("r1", activities.PublishInput{Sink: "out"})},
		done{name: "FinishRun", in: activities.FinishInput{Run: "r1"}, out: activities.FinishResult{Status: pipeline.CompletedWithFailures}},
		done{name: "ResumeRun", in: activities.ResumeInput{Run: "r2"}},
		done{name: "Read", in: batchOf("r2", activities.ReadInput{Source: "in"}), out: resultOf(activities.ReadResult{Rows: 7})},
		done{name: "StopRun", in: activities.StopInput{Run: "r2", Status: pipeline.Cancelled}},
	)
	require.Equal(t, 1, asked, "only of what it was not told, and once")
	require.ElementsMatch(t, []string{
		`waymark_rows_total{kind="read",node="in",pipeline="orders"} 10`,
		`waymark_rows_total{kind="read",node="in",pipeline="returns"} 7`,
		`waymark_rows_total{kind="quarantined",node="in",pipeline="orders"} 1`,
		`waymark_rows_total{kind="quarantined",node="share",pipeline="orders"} 1`,
		`waymark_rows_total{kind="filtered",node="known",pipeline="orders"} 3`,
		`waymark_rows_total{kind="written",node="out",pipeline="orders"} 4`,
		`waymark_rows_total{kind="quarantined",node="out",pipeline="orders"} 1`,
	}, metrics(t, tel, "waymark_rows_total"))
	require.ElementsMatch(t, []string{
		`waymark_effects_total{pipeline="orders",sink="out",state="failed"} 1`,
		`waymark_effects_total{pipeline="orders",sink="out",state="blocked"} 1`,
		`waymark_effects_total{pipeline="orders",sink="out",state="finalized"} 1`,
		`waymark_effects_total{pipeline="orders",sink="out",state="published"} 1`,
	}, metrics(t, tel, "waymark_effects_total"))
	require.ElementsMatch(t, []string{
		`waymark_runs_total{pipeline="orders",status="started"} 1`,
		`waymark_runs_total{pipeline="orders",status="completed_with_failures"} 1`,
		`waymark_runs_total{pipeline="returns",status="resumed"} 1`,
		`waymark_runs_total{pipeline="returns",status="cancelled"} 1`,
	}, metrics(t, tel, "waymark_runs_total"))
	require.ElementsMatch(t, []string{
		`waymark_run_seconds_count{pipeline="orders",status="completed_with_failures"} 1`,
		`waymark_run_seconds_count{pipeline="returns",status="cancelled"} 1`,
	}, metrics(t, tel, "waymark_run_seconds_count"))
	require.Contains(t, metrics(t, tel, "waymark_run_seconds_bucket"), `waymark_run_seconds_bucket{pipeline="returns",status="cancelled",le="15"} 0`)
	require.Contains(t, metrics(t, tel, "waymark_run_seconds_bucket"), `waymark_run_seconds_bucket{pipeline="returns",status="cancelled",le="60"} 1`)
	success := metrics(t, tel, "waymark_run_last_success_timestamp_seconds")
	require.Len(t, success, 1, "only of what was completed")
	require.Regexp(t, `^waymark_run_last_success_timestamp_seconds\{pipeline="orders"\} 1\.\d+e\+09$`, success[0])
	require.ElementsMatch(t, []string{
		`waymark_chunk_seconds_count{activity="OpenRun",outcome="done"} 1`,
		`waymark_chunk_seconds_count{activity="Read",outcome="done"} 3`,
		`waymark_chunk_seconds_count{activity="Pass",outcome="done"} 1`,
		`waymark_chunk_seconds_count{activity="Write",outcome="failed"} 2`,
		`waymark_chunk_seconds_count{activity="Write",outcome="done"} 1`,
		`waymark_chunk_seconds_count{activity="Publish",outcome="done"} 1`,
		`waymark_chunk_seconds_count{activity="FinishRun",outcome="done"} 1`,
		`waymark_chunk_seconds_count{activity="ResumeRun",outcome="done"} 1`,
		`waymark_chunk_seconds_count{activity="StopRun",outcome="done"} 1`,
	}, metrics(t, tel, "waymark_chunk_seconds_count"))
	require.Contains(t, metrics(t, tel, "waymark_schedule_to_start_seconds_count"), `waymark_schedule_to_start_seconds_count{activity="Write"} 3`)
	require.Equal(t, []string{`waymark_build_info{code="waymark test"} 1`}, metrics(t, tel, "waymark_build_info"))
	require.ElementsMatch(t, []string{
		`waymark_ready{check="temporal"} 1`, `waymark_ready{check="work"} 0`,
	}, metrics(t, tel, "waymark_ready"))
}

// TestStartsThatComeToNothing are no runs: they are counted as refused, and a run that waits for places has not begun.
func TestStartsThatComeToNothing(t *testing.T) {
	tel := start(t, nil)
	var log strings.Builder
	w := newWatcher(tel.counts, func(context.Context, string) (Run, error) { return Run{}, nil })
	w.logger = slog.New(slog.NewTextHandler(&log, nil))
	begin := activities.OpenInput{Run: "r1"}
	for _, e := range []event{
		{in: activities.RefuseInput{Begin: begin, Refusal: activities.TypeInput}},
		{run: "r1", in: activities.StopInput{Run: "r1", Begin: &begin, Status: pipeline.Failed, Refusal: activities.TypeSource}},
		{run: "r1", in: begin, out: activities.Opened{Held: &activities.Held{}}},
	} {
		w.count(e)
	}
	require.ElementsMatch(t, []string{
		`waymark_starts_refused_total{refusal="InputInvalid"} 1`, `waymark_starts_refused_total{refusal="SourceUnusable"} 1`,
	}, metrics(t, tel, "waymark_starts_refused_total"))
	require.Empty(t, metrics(t, tel, "waymark_runs_total"))
	require.Empty(t, log.String())
	w.count(event{run: "r1", in: begin, out: activities.Opened{Plan: resumepoint.Plan{Pipeline: "orders"}}})
	w.count(event{run: "r1", in: activities.FinishInput{Run: "r1"}, out: activities.FinishResult{Status: pipeline.Completed}})
	require.Contains(t, log.String(), `msg="run began" run=r1 pipeline=orders`)
	require.Contains(t, log.String(), `msg="run ended" run=r1 pipeline=orders status=completed seconds=`)
	w.count(event{run: "r1", in: activities.ResumeInput{Run: "r1"}, err: errors.New("away")})
	require.NotContains(t, log.String(), "resumed")
	w.count(event{run: "r1", in: activities.ResumeInput{Run: "r1"}})
	require.Contains(t, log.String(), `msg="run resumed" run=r1 pipeline=orders`)
}

// TestWhatIsDoneTogetherIsCountedApart has activities that do several things: rows and effects are those of each, and
// of one that failed only the things that did.
func TestWhatIsDoneTogetherIsCountedApart(t *testing.T) {
	tel := start(t, nil)
	w := newWatcher(tel.counts, func(context.Context, string) (Run, error) { return Run{Pipeline: "orders"}, nil })
	writes := activities.Batch[activities.WriteInput]{Run: "r1", Each: []activities.WriteInput{{Sink: "a"}, {Sink: "b"}, {Sink: "c"}}}
	failures, second := temporal.GetDefaultFailureConverter(), map[string]any{"failed": []int{1}}
	blocked := temporal.NewNonRetryableApplicationError("who knows", activities.TypeBlocked, nil, second)
	blocked = failures.FailureToError(failures.ErrorToFailure(blocked))
	for _, e := range []event{
		{in: activities.Batch[activities.ReadInput]{Run: "r1", Each: []activities.ReadInput{{Source: "x"}, {Source: "y"}}},
			out: activities.Results[activities.ReadResult]{Each: []activities.ReadResult{{Rows: 3}, {Done: true}}}},
		{in: activities.Batch[activities.PassInput]{Run: "r1", Each: []activities.PassInput{{Source: "x"}}},
			out: activities.Results[activities.PassResult]{Each: []activities.PassResult{{RefusedBy: map[string]int{"x": 1}}}}},
		{in: activities.Batch[activities.FoldInput]{Run: "r1", Each: []activities.FoldInput{{Barrier: "sums"}}}, out: activities.Results[activities.FoldResult]{}},
		{in: writes, err: &activities.BatchError{Failed: []int{0, 2}}},
		{in: writes, err: blocked},
		{in: writes, out: activities.Results[activities.WriteResult]{Each: []activities.WriteResult{{Rows: 1}, {Rows: 2}, {}}}},
		{in: activities.Batch[activities.PublishInput]{Run: "r1", Each: []activities.PublishInput{{Sink: "a"}, {Sink: "b"}}}},
	} {
		e.run = runOf(e.in)
		require.Equal(t, "r1", e.run)
		w.count(e)
	}
	require.ElementsMatch(t, []string{
		`waymark_rows_total{kind="read",node="x",pipeline="orders"} 3`,
		`waymark_rows_total{kind="quarantined",node="x",pipeline="orders"} 1`,
		`waymark_rows_total{kind="written",node="a",pipeline="orders"} 1`,
		`waymark_rows_total{kind="written",node="b",pipeline="orders"} 2`,
	}, metrics(t, tel, "waymark_rows_total"))
	require.ElementsMatch(t, []string{
		`waymark_effects_total{pipeline="orders",sink="a",state="failed"} 1`,
		`waymark_effects_total{pipeline="orders",sink="c",state="failed"} 1`,
		`waymark_effects_total{pipeline="orders",sink="b",state="blocked"} 1`,
		`waymark_effects_total{pipeline="orders",sink="a",state="finalized"} 1`,
		`waymark_effects_total{pipeline="orders",sink="b",state="finalized"} 1`,
		`waymark_effects_total{pipeline="orders",sink="c",state="finalized"} 1`,
		`waymark_effects_total{pipeline="orders",sink="a",state="published"} 1`,
		`waymark_effects_total{pipeline="orders",sink="b",state="published"} 1`,
	}, metrics(t, tel, "waymark_effects_total"))
}

func TestARunThatNobodyKnowsIsCountedAllTheSame(t *testing.T) {
	tel := start(t, nil)
	w := newWatcher(tel.counts, func(context.Context, string) (Run, error) { return Run{}, errors.New("the record is away") })
	perform(t, w, done{name: "Read", in: batchOf("r1", activities.ReadInput{Source: "in"}), out: resultOf(activities.ReadResult{Rows: 7})})
	require.Equal(t, []string{`waymark_rows_total{kind="read",node="in",pipeline="unknown"} 7`}, metrics(t, tel, "waymark_rows_total"))
}

func TestNoActivityWaitsForTheCounting(t *testing.T) {
	tel := start(t, nil)
	w := newWatcher(tel.counts, nil) // and nobody counts
	for range maxEvents + 3 {
		w.tell(event{})
	}
	require.Equal(t, []string{`waymark_telemetry_missed_total 3`}, metrics(t, tel, "waymark_telemetry_missed_total"))
}

func TestTheInterceptorCountsByItself(t *testing.T) {
	tel := start(t, nil)
	counted := make(chan struct{})
	w, ok := tel.Interceptor(func(context.Context, string) (Run, error) { close(counted); return Run{Pipeline: "orders"}, nil }).(*watcher)
	require.True(t, ok)
	w.tell(event{activity: "Read", run: "r1"})
	<-counted
}

func TestSeriesAreBounded(t *testing.T) {
	tel := start(t, nil)
	for i := range maxSeries + 10 {
		tel.counts.add(event{
			activity: "Read", in: batchOf("r1", activities.ReadInput{Source: "in"}), out: resultOf(activities.ReadResult{Rows: 1}),
		}, Run{Pipeline: strings.Repeat("p", i)})
	}
	lines := metrics(t, tel, "waymark_rows_total")
	require.Len(t, lines, maxSeries)
	require.Contains(t, strings.Join(lines, "\n"), "otel_metric_overflow")
}

func TestNamesAreBounded(t *testing.T) {
	n := names{ask: func(_ context.Context, run string) (Run, error) { return Run{Pipeline: "of " + run}, nil }}
	for i := range 3 * maxNames {
		run := strings.Repeat("r", i+1)
		require.Equal(t, "of "+run, n.of(run).Pipeline)
	}
	require.LessOrEqual(t, len(n.known), maxNames)
}

func TestEveryActivityIsOfARun(t *testing.T) {
	for _, in := range []any{
		activities.OpenInput{Run: "r"}, batchOf("r", activities.ReadInput{}), batchOf("r", activities.PassInput{}),
		batchOf("r", activities.FoldInput{}), batchOf("r", activities.WriteInput{}), batchOf("r", activities.PublishInput{}),
		activities.SmallRunInput{Run: "r"}, activities.FinishInput{Run: "r"}, activities.StopInput{Run: "r"},
		activities.ResumeInput{Run: "r"}, activities.ActionInput{Run: "r"},
	} {
		require.Equal(t, "r", runOf(in), "%T", in)
	}
}
