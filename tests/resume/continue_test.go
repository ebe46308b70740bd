package resume_test

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
	"waymark/workflows"
)

// shortly lets the history of a workflow be long enough after so many activities.
func shortly(count int) func(*testsuite.TestWorkflowEnvironment) {
	return func(env *testsuite.TestWorkflowEnvironment) {
		done := 0
		env.SetOnActivityCompletedListener(func(*activity.Info, converter.EncodedValue, error) {
			if done++; done == count {
				env.SetContinueAsNewSuggested(true)
			}
		})
	}
}

// TestHistoriesThatContinuedAsNewAreResumed has runs that go on in many executions, before they die and after they were resumed.
func TestHistoriesThatContinuedAsNewAreResumed(t *testing.T) {
	sample.Rarely(t)
	b := newBench(t)
	b.write(everyInput)
	require.NoError(t, b.begin("undisturbed", everything))
	outputs, work, before, after := b.collect(), b.Work(t, "undisturbed"), 0, 0
	for _, at := range []int64{70, 120, 150, 170} {
		for _, count := range []int{3, 8, 20} {
			run := fmt.Sprintf("at-%d-after-%d", at, count)
			t.Run(run, func(t *testing.T) {
				b := b.of(t)
				b.EmptyPayloads()
				b.Continued, b.Fate = nil, inprocess.DiesAt(at, true).Fate
				in := activities.OpenInput{Run: run, File: "pipeline.yaml", Folder: b.Folder}
				require.Error(t, b.Start(t, everything, in, shortly(count)))
				before += len(b.Continued)
				b.Continued, b.Fate = nil, nil
				require.NoError(t, b.Resume(t, run, shortly(count)))
				after += len(b.Continued)
				require.Equal(t, outputs, b.collect())
				require.Equal(t, work, b.Work(t, run))
			})
		}
	}
	t.Logf("%d executions before the deaths, %d after", before, after)
	require.Positive(t, before)
	require.Positive(t, after)
}

// TestDeadlineOrderOverExecutions resumes runs that died when deadlines were acted on beyond where
// the run stands, in executions that end before all of them are done again.
func TestDeadlineOrderOverExecutions(t *testing.T) {
	sample.Rarely(t)
	b, amid := newBench(t), 0
	b.write(map[string]string{"first.csv": numbered(14), "second.csv": numbered(7)})
	for try := range int64(6 * 5) {
		ticks := try % 6
		if ticks == 0 && amid > 0 { // whether an execution ends amid them is a matter of chance
			break
		}
		run := fmt.Sprintf("after-%d-%d", ticks+1, try/6)
		t.Run(run, func(t *testing.T) {
			b := b.of(t)
			b.EmptyPayloads()
			b.Fate, b.Done = stuck(ticks + 1)
			b.Fate = hesitant(b.Fate)
			require.Error(t, b.begin(run, timed))
			before := b.Dump(t, run)["folds"]
			b.Continued, b.Fate, b.Done = nil, nil, nil
			require.NoError(t, b.Resume(t, run, shortly(3)))
			amid += len(slices.DeleteFunc(b.Continued, func(in workflows.RunInput) bool { return in.State.Redo.Next() == nil }))
			require.Subset(t, b.Dump(t, run)["folds"], before)
			b.sound(run)
			b.collect()
		})
	}
	t.Logf("%d executions began amid deadlines that were acted on again", amid)
	require.Positive(t, amid)
}

// stuck is about a process that cannot write its first part, however often it tries, so that its run stands where it began. It
// dies when so many deadlines were acted on.
func stuck(ticks int64) (fate inprocess.Fate, note func(inprocess.Deed)) {
	var acted atomic.Int64
	fate = func(deed inprocess.Deed) (bool, error) {
		switch {
		case acted.Load() >= ticks:
			return false, inprocess.ErrGone
		case deed.Kind == inprocess.Write && deed.Sink == "rows" && deed.Ordinal == 0:
			return false, errors.New("the target is busy")
		}
		return true, nil
	}
	return fate, func(deed inprocess.Deed) {
		for _, record := range deed.Batch.Insert {
			if fold, is := record.(landscape.FoldRecord); is && fold.Kind == landscape.TickFold {
				acted.Add(1)
			}
		}
	}
}
