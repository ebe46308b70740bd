package workflows_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/activities/resumepoint"
	"waymark/pipeline"
	"waymark/workflows"
)

// holdingWorld answers for a plan with two sources and two barriers: what the chunks of sources bring goes to the
// first, and what comes out of it to the second. It writes down everything that happens in order.
type holdingWorld struct {
	mu       sync.Mutex
	said     []string
	chunks   map[string]int // of each source
	out      int64          // chunks that come out of every fold that takes a chunk
	deadline time.Duration  // after a fold of the first barrier that takes a chunk; 0: none
	ticked   chan struct{}  // closed when a deadline fired
	idle     bool           // the last read waits for that
}

func (w *holdingWorld) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.said = append(w.said, fmt.Sprintf(format, args...))
}

func (w *holdingWorld) OpenRun(context.Context, activities.OpenInput) (resumepoint.Plan, error) {
	return resumepoint.Plan{
		Pipeline: "p", Sources: []resumepoint.Source{{Name: "a"}, {Name: "b"}},
		Barriers: []resumepoint.Barrier{{Name: "first"}, {Name: "second", Depth: 1}},
		Sinks:    []resumepoint.Sink{{Name: "out", HeaderBytes: 10}},
	}, nil
}

func (w *holdingWorld) Read(_ context.Context, in activities.Batch[activities.ReadInput]) (activities.Results[activities.ReadResult], error) {
	return eachOf(in, w.read)
}

func (w *holdingWorld) read(in activities.ReadInput) (activities.ReadResult, error) {
	if int(in.Chunk) < w.chunks[in.Source] {
		return activities.ReadResult{Rows: 1, Cursor: in.Cursor}, nil
	}
	if w.idle && in.Source == "b" {
		<-w.ticked
	}
	return activities.ReadResult{Done: true}, nil
}

func (w *holdingWorld) Pass(_ context.Context, in activities.Batch[activities.PassInput]) (activities.Results[activities.PassResult], error) {
	return eachOf(in, w.pass)
}

func (w *holdingWorld) pass(in activities.PassInput) (activities.PassResult, error) {
	out := activities.PassResult{Rows: 1, Parts: []activities.PartSize{{Sink: "out", Rows: 1, Bytes: 5}}}
	switch in.Source {
	case "first":
		out.Barriers = []string{"second"}
	case "a", "b":
		out.Barriers = []string{"first"}
	}
	return out, nil
}

func (w *holdingWorld) Fold(_ context.Context, in activities.Batch[activities.FoldInput]) (activities.Results[activities.FoldResult], error) {
	return eachOf(in, w.fold)
}

func (w *holdingWorld) fold(in activities.FoldInput) (activities.FoldResult, error) {
	w.say("%s %d %s %s%d", in.Barrier, in.Fold, in.Kind, in.Source, in.Chunk)
	if in.Kind == activities.FoldTick {
		close(w.ticked)
		return activities.FoldResult{Rows: 1, Chunks: 1}, nil
	}
	out := activities.FoldResult{Rows: w.out, Chunks: w.out}
	if w.deadline > 0 && in.Barrier == "first" && in.Kind == activities.FoldChunk {
		out.Deadline = in.At + w.deadline.Microseconds()
	}
	return out, nil
}

func (w *holdingWorld) Write(_ context.Context, in activities.Batch[activities.WriteInput]) (activities.Results[activities.WriteResult], error) {
	return eachOf(in, func(in activities.WriteInput) (activities.WriteResult, error) {
		w.say("write %s%d at %d", in.Source, in.Chunk, in.Offset)
		return activities.WriteResult{}, nil
	})
}

func (w *holdingWorld) FinishRun(context.Context, activities.FinishInput) (activities.FinishResult, error) {
	return activities.FinishResult{Status: pipeline.Completed}, nil
}

func (w *holdingWorld) StopRun(context.Context, activities.StopInput) error { return nil }

func hold(t *testing.T, w *holdingWorld, in workflows.RunInput) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(patient)
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.WorkflowID(in.Run)})
	if in.State != nil {
		env.SetContinuedExecutionRunID("the one before")
	}
	env.RegisterWorkflow(workflows.RunPipeline)
	env.RegisterActivity(w)
	env.ExecuteWorkflow(workflows.RunPipeline, in)
	require.True(t, env.IsWorkflowCompleted())
	return env
}

// folds returns what was said of barriers.
func (w *holdingWorld) folds() []string {
	var folds []string
	for _, line := range w.said {
		if line[:5] != "write" {
			folds = append(folds, line)
		}
	}
	return folds
}

func TestSourcesTakeTurns(t *testing.T) {
	w := &holdingWorld{chunks: map[string]int{"a": 2, "b": 1}, out: 1}
	require.NoError(t, hold(t, w, input()).GetWorkflowError())
	require.Equal(t, []string{
		"first 0 chunk a0", "second 0 chunk first0",
		"first 1 chunk b0", "second 1 chunk first1",
		"first 2 chunk a1", "second 2 chunk first2",
		"first 3 end 0", "second 3 chunk first3",
		"second 4 end 0",
	}, w.folds())
	// Each chunk of a source, of the first barrier and of the second has one part, in the order of the turns.
	for at, chunk := range []string{"a0", "first0", "second0", "b0", "first1", "second1", "a1", "first2", "second2", "first3", "second3", "second4"} {
		require.Contains(t, w.said, fmt.Sprintf("write %s at %d", chunk, 10+5*at))
	}
}

func TestADeadlineFiresWhileASourceIsIdle(t *testing.T) {
	w := &holdingWorld{chunks: map[string]int{"a": 1, "b": 0}, deadline: 50 * time.Millisecond, idle: true, ticked: make(chan struct{})}
	require.NoError(t, hold(t, w, input()).GetWorkflowError())
	require.Equal(t, []string{"first 0 chunk a0", "first 1 tick 0", "second 0 chunk first0", "first 2 end 0", "second 1 end 0"}, w.folds())
	require.Contains(t, w.said, "write first0 at 15")
}

func TestResumeAmidBarrierOutput(t *testing.T) {
	w := &holdingWorld{out: 0}
	in := input()
	in.State = &workflows.State{State: resumepoint.State{
		Plan: resumepoint.Plan{
			Sources:  []resumepoint.Source{{Name: "a"}},
			Barriers: []resumepoint.Barrier{{Name: "first"}, {Name: "second", Depth: 1}},
			Sinks:    []resumepoint.Sink{{Name: "out"}},
		},
		Sources: []resumepoint.Reading{{Source: "a", Chunk: 7, AtEnd: true}},
		Outputs: []resumepoint.Output{{Ordinal: 3, Offset: 15, Rows: 3}},
		Held:    []resumepoint.BarrierState{{Barrier: "first", Folds: 8, Rows: 5, Chunks: 5, Passed: 3, Ended: true}, {Barrier: "second", Folds: 3}},
	}}
	require.NoError(t, hold(t, w, in).GetWorkflowError())
	require.Equal(t, []string{"second 3 chunk first3", "second 4 chunk first4", "second 5 end 0"}, w.folds())
	require.Contains(t, w.said, "write first4 at 20")
}
