package workflows_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/workflows"
)

// team answers for a cluster of processes. Work comes to a process by the queue that its activity was scheduled on;
// what is scheduled for a process that is gone is not fetched.
type team struct {
	world
	barriers      []resumepoint.Barrier
	inOrder       bool
	bound         string                              // queue of the workers that see the run's files
	gone          map[string]bool                     // queues that nobody listens on
	commandTarget func(activity, queue string) string // who does what comes by the common queue

	mu   sync.Mutex
	took map[string][]string // by activity: the queues by which it came
}

func (w *team) take(ctx context.Context) (worker string, err error) {
	info := activity.GetInfo(ctx)
	w.mu.Lock()
	w.took[info.ActivityType.Name] = append(w.took[info.ActivityType.Name], info.TaskQueue)
	w.mu.Unlock()
	if w.gone[info.TaskQueue] {
		return "", temporal.NewTimeoutError(enums.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	}
	return w.commandTarget(info.ActivityType.Name, info.TaskQueue), nil
}

func (w *team) OpenRun(ctx context.Context, in activities.OpenInput) (resumepoint.Plan, error) {
	worker, err := w.take(ctx)
	if err != nil {
		return resumepoint.Plan{}, err
	}
	out, err := w.world.OpenRun(ctx, in)
	out.Worker, out.Queue, out.Barriers = worker, w.bound, w.barriers
	out.Sinks[0].InOrder = w.inOrder
	return out, err
}

func (w *team) Read(ctx context.Context, in activities.Batch[activities.ReadInput]) (activities.Results[activities.ReadResult], error) {
	worker, err := w.take(ctx)
	if err != nil {
		return activities.Results[activities.ReadResult]{}, err
	}
	out, err := w.world.Read(ctx, in)
	for i := range out.Each {
		out.Each[i].Worker = worker
	}
	return out, err
}

func (w *team) Pass(ctx context.Context, in activities.Batch[activities.PassInput]) (activities.Results[activities.PassResult], error) {
	worker, err := w.take(ctx)
	if err != nil {
		return activities.Results[activities.PassResult]{}, err
	}
	out, err := w.world.Pass(ctx, in)
	for i := range out.Each {
		out.Each[i].Worker = worker
	}
	return out, err
}

func (w *team) Write(ctx context.Context, in activities.Batch[activities.WriteInput]) (activities.Results[activities.WriteResult], error) {
	if _, err := w.take(ctx); err != nil {
		return activities.Results[activities.WriteResult]{}, err
	}
	return w.world.Write(ctx, in)
}

func (w *team) Fold(ctx context.Context, in activities.Batch[activities.FoldInput]) (activities.Results[activities.FoldResult], error) {
	worker, err := w.take(ctx)
	if err != nil {
		return activities.Results[activities.FoldResult]{}, err
	}
	return eachOf(in, func(activities.FoldInput) (activities.FoldResult, error) {
		return activities.FoldResult{Worker: worker}, nil
	})
}

func (w *team) Publish(ctx context.Context, in activities.Batch[activities.PublishInput]) error {
	if _, err := w.take(ctx); err != nil {
		return err
	}
	return w.world.Publish(ctx, in)
}

// common is the queue of the workflow in the test environment.
const common = "default-test-taskqueue"

// shares is the queue of the shares of runs that are split.
const shares = common + "#shares"

func newTeam(chunks int) *team {
	w := &team{took: map[string][]string{}, gone: map[string]bool{}, commandTarget: func(_, queue string) string {
		if queue == common || queue == shares {
			return "one"
		}
		return queue
	}}
	for range chunks {
		w.chunks = append(w.chunks, parts(1, 1))
	}
	return w
}

func runTeam(t *testing.T, w *team, in workflows.RunInput) error {
	t.Helper()
	env := newEnvironment(t)
	env.RegisterActivity(w)
	env.ExecuteWorkflow(workflows.RunPipeline, in)
	require.True(t, env.IsWorkflowCompleted())
	return env.GetWorkflowError()
}

// TestASplitRunIsSurveyed holds that of a source that can be entered anywhere only the first chunks are read where the
// others are found, that each share is read by who sends it through the steps, and that the end comes after all of
// them.
func TestASplitRunIsSurveyed(t *testing.T) {
	w := newTeam(120)
	w.split, w.seeks, w.unread = true, true, map[int64]activities.Unread{}
	require.NoError(t, runTeam(t, w, input()))
	require.Len(t, w.took["Read"], 4) // of 2 and 24 chunks, of the others, and of the end
	require.Subset(t, []string{shares}, w.took["Pass"])
	require.Less(t, len(w.took["Pass"]), 25)
	var firsts []int64
	for first := range w.unread {
		firsts = append(firsts, first)
	}
	slices.Sort(firsts)
	require.Equal(t, int64(2), firsts[0])
	for i, first := range firsts {
		next := int64(120)
		if i+1 < len(firsts) {
			next = firsts[i+1]
		}
		share := w.unread[first]
		require.Equal(t, []int64{100 * first, 100 * next}, []int64{share.At.Offset, share.End.Offset})
	}
	require.Len(t, w.writes, 240)
}

func TestWorkStaysWithItsProcess(t *testing.T) {
	w := newTeam(6)
	w.barriers = []resumepoint.Barrier{{Name: "sums"}} // what gathers is not spread
	require.NoError(t, runTeam(t, w, input()))
	for _, activity := range []string{"Read", "Pass", "Write", "Fold"} {
		require.Subset(t, []string{"one"}, w.took[activity], activity)
	}
	require.Equal(t, []string{common}, w.took["OpenRun"])
}

// TestChunksOfASplitRunGoTogether holds that several chunks of a run that is split are read by one activity, go through
// the steps by another one that anybody takes, fewer towards the end, and are written by a third, at their places.
func TestChunksOfASplitRunGoTogether(t *testing.T) {
	w := newTeam(40)
	w.split = true
	require.NoError(t, runTeam(t, w, input()))
	require.Len(t, w.took["Read"], 6) // of 2, 4, 8, 16, 10, and none
	require.Subset(t, []string{shares}, w.took["Pass"])
	require.Less(t, len(w.took["Write"]), len(w.took["Pass"]), "what goes through the steps in several is written in one")
	require.GreaterOrEqual(t, len(w.took["Write"]), 2, "no more than 11 and a stretch of 16 chunks are written in one")
	require.Less(t, len(w.took["Pass"]), 12)
	require.Greater(t, len(w.took["Pass"]), 5)
	ordinals := map[string][]int64{}
	slices.SortFunc(w.writes, func(a, b activities.WriteInput) int { return cmp.Compare(a.Chunk, b.Chunk) })
	for _, part := range w.writes {
		ordinals[part.Sink] = append(ordinals[part.Sink], part.Ordinal)
	}
	for _, sink := range []string{"a", "b"} {
		require.Len(t, ordinals[sink], 40)
		require.IsIncreasing(t, ordinals[sink])
	}
}

func TestChunksAreSpreadOverProcesses(t *testing.T) {
	w := newTeam(40)
	helped := make(chan struct{})
	help := sync.OnceFunc(func() { close(helped) })
	w.commandTarget = func(activity, queue string) string {
		switch {
		case queue == "one" && activity == "Pass":
			<-helped // it has enough to do until others have begun to help
			return queue
		case queue != common:
			return queue
		case activity == "Pass":
			help()
			return "two"
		default:
			return "one"
		}
	}
	require.NoError(t, runTeam(t, w, input()))
	require.Subset(t, []string{"one"}, w.took["Read"], "one process reads")
	require.Contains(t, w.took["Pass"], common)
	require.Contains(t, w.took["Pass"], "one")
	require.Contains(t, w.took["Write"], "two", "parts are written where they were made")
	require.NotContains(t, w.took["Write"], common)
}

func TestTakeoverFromDeadProcess(t *testing.T) {
	w := newTeam(5)
	w.gone["one"] = true
	w.commandTarget = func(activity, queue string) string {
		if activity == "OpenRun" {
			return "one"
		}
		return "two"
	}
	require.NoError(t, runTeam(t, w, input()))
	require.Equal(t, []string{"one", common}, w.took["Read"][:2])
	require.NotContains(t, w.took["Read"][2:], "one", "nobody asks the one that is gone again")
	require.Len(t, w.writes, 10)
}

func TestFilesBindRunToWorkers(t *testing.T) {
	w := newTeam(3)
	w.bound = workflows.FilesQueue(common, "shelf")
	in := input()
	in.Files = "shelf"
	w.gone["two"] = true
	w.commandTarget = func(string, string) string { return "two" } // and is gone at once
	require.NoError(t, runTeam(t, w, in))
	for activity, queues := range w.took {
		require.Subset(t, []string{w.bound, "two"}, queues, activity)
		require.Contains(t, queues, w.bound, activity)
	}
}

func TestARunForWhoseFilesNoWorkerComesSaysSo(t *testing.T) {
	w := newTeam(1)
	w.gone[workflows.FilesQueue(common, "shelf")] = true
	in := input()
	in.Files = "shelf"
	err := runTeam(t, w, in)
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, workflows.TypeNoWorker, application.Type())
	require.Contains(t, application.Message(), `sees the files of "shelf"`)
	require.Equal(t, application.Message(), w.stopped.Reason)
}

func TestOrderedSinkKeepsOrder(t *testing.T) {
	w := newTeam(12)
	w.inOrder = true
	require.NoError(t, runTeam(t, w, input()))
	var ordinals []int64
	for _, write := range w.writes {
		if write.Sink == "a" {
			ordinals = append(ordinals, write.Ordinal)
		}
	}
	require.IsIncreasing(t, ordinals)
	require.Len(t, ordinals, 12)
}
