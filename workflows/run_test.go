package workflows_test

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/workflows"
)

// world answers the workflow's activities from a table of chunks. It stands for workers far away: what the activities
// do is tested in their own package, here only what the workflow decides.
type world struct {
	chunks  []activities.PassResult
	ordered bool
	split   bool
	seeks   bool
	fail    map[string]error // by activity name
	mu      sync.Mutex       // held while writes, unread and done change
	writes  []activities.WriteInput
	unread  map[int64]activities.Unread // by the first of the chunks
	opened  int
	stopped *activities.StopInput
	refused *activities.RefuseInput
	actions []activities.ActionInput
	done    []string

	passedAhead chan struct{} // closed when the third chunk goes through the steps ahead of its turn
	active      atomic.Int32  // chunks that have their turn right now
	overlap     atomic.Bool
	before      []int64 // as the turns were told how many there were before
}

func (w *world) OpenRun(context.Context, activities.OpenInput) (resumepoint.Plan, error) {
	w.opened++
	return resumepoint.Plan{
		Pipeline: "p", Sources: []resumepoint.Source{{Name: "in"}}, Ordered: w.ordered, Split: w.split, Bytes: int64(100 * len(w.chunks)),
		Sinks: []resumepoint.Sink{{Name: "a", HeaderBytes: 10}, {Name: "b"}},
	}, w.fail["OpenRun"]
}

func (w *world) Read(_ context.Context, in activities.Batch[activities.ReadInput]) (activities.Results[activities.ReadResult], error) {
	return eachOf(in, func(in activities.ReadInput) (activities.ReadResult, error) {
		if int(in.Chunk) == len(w.chunks) {
			return activities.ReadResult{Cursor: in.Cursor, Done: true}, w.fail["Read"]
		}
		out := activities.ReadResult{Rows: w.chunks[in.Chunk].Rows, Bytes: 100, Seeks: w.seeks}
		for _, size := range in.Shares {
			in.Most += size
		}
		for more := int(in.Chunk) + 1; more < min(int(in.Chunk)+in.Most, len(w.chunks)); more++ {
			out.More = append(out.More, activities.ReadChunk{Rows: w.chunks[more].Rows, Bytes: 100})
		}
		out.Cursor.Offset = in.Cursor.Offset + 100*int64(len(out.Chunks()))
		if in.Shares != nil {
			w.survey(in, &out)
		}
		return out, nil
	})
}

// survey divides what was found into shares.
func (w *world) survey(in activities.ReadInput, out *activities.ReadResult) {
	found := len(out.Chunks())
	out.Survey, out.Ended = true, int(in.Chunk)+found == len(w.chunks)
	for from := 0; from < found; in.Shares = in.Shares[1:] {
		to := min(from+in.Shares[0], found)
		share := activities.Share{Chunks: to - from}
		share.End.Offset = in.Cursor.Offset + 100*int64(to)
		out.Shares, from = append(out.Shares, share), to
	}
}

func (w *world) Pass(_ context.Context, in activities.Batch[activities.PassInput]) (activities.Results[activities.PassResult], error) {
	return eachOf(in, func(in activities.PassInput) (activities.PassResult, error) {
		if in.Unread != nil {
			w.mu.Lock()
			w.unread[in.Chunk] = *in.Unread
			w.mu.Unlock()
		}
		switch {
		case in.Mode == activities.PassTurn:
			return w.passInTurn(in)
		case in.Mode == activities.PassNow:
			return w.chunks[in.Chunk], w.fail["Pass"]
		case in.Chunk == 2:
			close(w.passedAhead)
		}
		return activities.PassResult{}, nil
	})
}

func (w *world) passInTurn(in activities.PassInput) (activities.PassResult, error) {
	if w.active.Add(1) > 1 {
		w.overlap.Store(true)
	}
	defer w.active.Add(-1)
	<-w.passedAhead // the first chunk keeps its turn while others go through the steps ahead of theirs
	w.before = append(w.before, in.Before)
	return w.chunks[in.Chunk], nil
}

func (w *world) Write(_ context.Context, in activities.Batch[activities.WriteInput]) (activities.Results[activities.WriteResult], error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return eachOf(in, func(in activities.WriteInput) (activities.WriteResult, error) {
		w.writes = append(w.writes, in)
		return activities.WriteResult{}, w.fail["Write"]
	})
}

func (w *world) Publish(_ context.Context, in activities.Batch[activities.PublishInput]) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = append(w.done, "publish "+in.Each[0].Sink)
	return w.fail["Publish"]
}

func (w *world) FinishRun(_ context.Context, in activities.FinishInput) (activities.FinishResult, error) {
	w.done = append(w.done, "finish after "+strings.Join(in.Sinks, ", "))
	return activities.FinishResult{Status: pipeline.Completed}, w.fail["FinishRun"]
}

func (w *world) RefuseStart(_ context.Context, in activities.RefuseInput) error {
	w.refused = &in
	return w.fail["RefuseStart"]
}

func (w *world) StopRun(_ context.Context, in activities.StopInput) error {
	w.stopped = &in
	return nil
}

func (w *world) RecordAction(_ context.Context, in activities.ActionInput) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.actions = append(w.actions, in)
	return nil
}

// eachOf answers each piece of a batch.
func eachOf[In, Out any](in activities.Batch[In], do func(In) (Out, error)) (results activities.Results[Out], failed error) {
	for _, piece := range in.Each {
		out, err := do(piece)
		results.Each, failed = append(results.Each, out), cmp.Or(failed, err)
	}
	return results, failed
}

// patient is for busy machines, on which a workflow may make no progress for more than the usual second.
// Their activities are far away: what has the task of the workflow does none of them.
var patient = worker.Options{
	DeadlockDetectionTimeout: time.Minute,
	Interceptors:             []interceptor.WorkerInterceptor{new(farAway)},
}

// farAway refuses what is to be done within a task of the workflow, as a process does that does no activities.
type farAway struct {
	interceptor.WorkerInterceptorBase
}

func (*farAway) InterceptActivity(
	_ context.Context, next interceptor.ActivityInboundInterceptor,
) interceptor.ActivityInboundInterceptor {
	i := new(farActivity)
	i.Next = next
	return i
}

type farActivity struct {
	interceptor.ActivityInboundInterceptorBase
}

func (i *farActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if activity.GetInfo(ctx).IsLocalActivity {
		return nil, temporal.NewApplicationError("this process only answers questions", activities.TypeElsewhere)
	}
	return i.Next.ExecuteActivity(ctx, in)
}

func newEnvironment(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	worker.SetBinaryChecksum("test") // or else the SDK reads the whole binary of the tests
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(patient)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.WorkflowID("r1")})
	env.RegisterWorkflowWithOptions(workflows.RunAsked, workflow.RegisterOptions{Name: workflows.RunPipelineName})
	return env
}

// start runs the workflow against the world.
func start(t *testing.T, w *world, in workflows.RunInput) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := newEnvironment(t)
	env.RegisterActivity(w)
	env.ExecuteWorkflow(workflows.RunPipeline, in)
	require.True(t, env.IsWorkflowCompleted())
	return env
}

func parts(a, b int64) activities.PassResult {
	out := activities.PassResult{Rows: int(a+b) + 1, Refused: 1}
	for _, part := range []activities.PartSize{{Sink: "a", Rows: a, Bytes: a * 7}, {Sink: "b", Rows: b, Bytes: b * 5}} {
		if part.Rows > 0 {
			out.Parts = append(out.Parts, part)
		}
	}
	return out
}

func input() workflows.RunInput {
	return workflows.RunInput{OpenInput: activities.OpenInput{Run: "r1"}}
}

func TestPartsFollowEachOther(t *testing.T) {
	w := &world{chunks: []activities.PassResult{parts(3, 0), parts(2, 4), parts(0, 0), parts(1, 1)}}
	env := start(t, w, input())
	require.NoError(t, env.GetWorkflowError())
	var result workflows.RunResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, workflows.RunResult{Run: "r1", Status: pipeline.Completed, Rows: 15, Refused: 4}, result)
	want := map[string][]activities.WriteInput{
		"a": {
			{Source: "in", Chunk: 0, Sink: "a", Ordinal: 0, Offset: 10},
			{Source: "in", Chunk: 1, Sink: "a", Ordinal: 1, Offset: 31},
			{Source: "in", Chunk: 3, Sink: "a", Ordinal: 2, Offset: 45},
		},
		"b": {
			{Source: "in", Chunk: 1, Sink: "b", Ordinal: 0, Offset: 0},
			{Source: "in", Chunk: 3, Sink: "b", Ordinal: 1, Offset: 20},
		},
	}
	for sink, writes := range want {
		var got []activities.WriteInput
		for _, write := range w.writes {
			if write.Sink == sink {
				got = append(got, write)
			}
		}
		require.ElementsMatch(t, writes, got)
	}
	require.Equal(t, []string{"finish after a, b"}, w.done)
}

func TestAnEmptySourceStillPublishes(t *testing.T) {
	w := &world{}
	env := start(t, w, input())
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, []string{"finish after a, b"}, w.done)
}

func TestARunWithoutAnIdGetsOne(t *testing.T) {
	w := &world{}
	env := start(t, w, workflows.RunInput{})
	require.NoError(t, env.GetWorkflowError())
	var result workflows.RunResult
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, "default-test-run-id", result.Run, "that of the workflow, which it keeps when it is retried or reset")
}

func TestFinalFailureStopsRun(t *testing.T) {
	for _, activity := range []string{"OpenRun", "Read", "Pass", "Write", "Publish", "FinishRun"} {
		t.Run(activity, func(t *testing.T) {
			cause := temporal.NewNonRetryableApplicationError("the reason", activities.TypeRow, nil)
			w := &world{chunks: []activities.PassResult{parts(1, 1), parts(1<<20, 1)}, fail: map[string]error{activity: cause}}
			env := start(t, w, input())
			var application *temporal.ApplicationError
			require.ErrorAs(t, env.GetWorkflowError(), &application)
			want := activities.StopInput{Run: "r1", Status: pipeline.Failed, Reason: "the reason", Refusal: activities.TypeRow}
			if activity == "OpenRun" {
				want.Begin = &activities.OpenInput{Run: "r1"}
			}
			require.Equal(t, &want, w.stopped)
		})
	}
}

func TestABrokenServiceIsRetried(t *testing.T) {
	w := &world{chunks: []activities.PassResult{parts(1, 0)}, fail: map[string]error{"Write": errors.New("disk full")}}
	env := start(t, w, input())
	require.Error(t, env.GetWorkflowError())
	require.Len(t, w.writes, 15, "attempts before the run stops")
	require.Equal(t, "disk full", w.stopped.Reason)
}

func TestOrderedSourceKeepsOrder(t *testing.T) {
	w := &world{ordered: true, passedAhead: make(chan struct{}), chunks: []activities.PassResult{parts(1, 0), parts(1, 0), parts(1, 0)}}
	env := start(t, w, input())
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, w.writes, 3)
	require.False(t, w.overlap.Load())
	require.Equal(t, []int64{0, 1, 2}, w.before)
}

func TestARunGoesOnFromItsState(t *testing.T) {
	w := &world{chunks: []activities.PassResult{parts(1, 0), parts(2, 0)}}
	in := input()
	in.State = &workflows.State{
		State: resumepoint.State{
			Plan:    resumepoint.Plan{Sources: []resumepoint.Source{{Name: "in"}}, Sinks: []resumepoint.Sink{{Name: "a"}, {Name: "b"}}},
			Sources: []resumepoint.Reading{{Source: "in", Cursor: plugin.Cursor{Offset: 100}, Chunk: 1}},
			Outputs: []resumepoint.Output{{Ordinal: 1, Offset: 17, Rows: 1}, {}},
		},
	}
	env := newEnvironment(t)
	env.SetContinuedExecutionRunID("the one before")
	env.RegisterActivity(w)
	env.ExecuteWorkflow(workflows.RunPipeline, in)
	require.NoError(t, env.GetWorkflowError())
	require.Zero(t, w.opened)
	require.Equal(t, []activities.WriteInput{{Source: "in", Chunk: 1, Sink: "a", Ordinal: 1, Offset: 17}}, w.writes)
}
