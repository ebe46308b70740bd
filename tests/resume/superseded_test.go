package resume_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	sdkworker "go.temporal.io/sdk/worker"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/inprocess"
	"waymark/tests/sample"
	"waymark/tests/started"
)

// attempt is an activity as a workflow asked for it.
type attempt struct {
	activity string
	input    json.RawMessage
}

// attempts runs a document and returns all activities that its workflow asked for, and how many deeds there were.
func (b *bench) attempts(run, document string) (asked []attempt, deeds int64) {
	b.t.Helper()
	var mu sync.Mutex
	life := inprocess.Lives()
	b.Fate = life.Fate
	in := activities.OpenInput{Run: run, File: "pipeline.yaml", Folder: b.Folder}
	require.NoError(b.t, b.Start(b.t, document, in, func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, args converter.EncodedValues) {
			mu.Lock()
			defer mu.Unlock()
			a := attempt{activity: info.ActivityType.Name}
			if err := args.Get(&a.input); err != nil {
				b.t.Error(err)
			}
			asked = append(asked, a)
		})
	}))
	open, err := json.Marshal(in) // it was done within a task of the workflow
	require.NoError(b.t, err)
	return append(asked, attempt{"OpenRun", open}), life.Deeds()
}

// TestAttemptsOfBeforeChangeNothing has a run that was resumed by somebody else while its process was away. Then the process comes
// back, and does everything that it would have done: nothing of it reaches the record or the targets, but for the note that it came.
func TestAttemptsOfBeforeChangeNothing(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	asked, deeds := b.attempts("undisturbed", everything)
	b.collect()
	for _, status := range []pipeline.RunStatus{pipeline.Failed, pipeline.Cancelled} {
		stop, err := json.Marshal(activities.StopInput{Run: "undisturbed", Status: status, Reason: "late", Final: status == pipeline.Cancelled, Actor: "ann"})
		require.NoError(t, err)
		asked = append(asked, attempt{"StopRun", stop})
	}
	refused := map[string]int{}
	publishing := []int64{deeds - 6, deeds - 9, deeds - 12, deeds - 15} // before and while outputs are published
	moments := sample.Of(4, publishing)
	stride := int64(sample.Step(3))
	for at := 20 + deeds/8*(stride-1); at < deeds; at += deeds / 8 * stride {
		moments = append(moments, at)
	}
	slices.Sort(moments)
	moments = slices.Compact(moments)
	// How many deeds come before a write differs with the load.
	deaths := map[string]inprocess.Fate{"writing": diesWriting()}
	for _, at := range moments {
		deaths[fmt.Sprintf("at-%d", at)] = inprocess.DiesAt(at, true).Fate
	}
	for run, fate := range deaths {
		t.Run(run, func(t *testing.T) {
			b := b.of(t)
			b.EmptyPayloads()
			b.Fate = fate
			require.Error(t, b.begin(run, everything))
			require.NoError(t, b.Log.Resume(t.Context(), landscape.Resumption{Run: run, Epoch: 1, Claim: "somebody else"}))
			before, staged := b.Dump(t, run), b.outputs("")
			came := 0
			for _, a := range asked {
				if b.comesBack(run, a) {
					refused[a.activity]++
					came++
				}
			}
			after := b.Dump(t, run)
			require.Len(t, after["run_events"], came)
			require.Equal(t, came, b.count(run, "run_events", `event="superseded"`))
			before["run_events"], after["run_events"] = nil, nil
			require.Equal(t, before, after)
			require.Equal(t, staged, b.outputs(""))

			b.Fate = nil
			require.NoError(t, b.Resume(t, run, nil))
			b.sound(run)
			b.collect()
		})
	}
	require.Equal(t, []string{"FinishRun", "Fold", "OpenRun", "Pass", "Read", "StopRun", "Write"},
		slices.Sorted(maps.Keys(refused)), "what was refused at least once")
	t.Logf("refused: %v", refused)
}

// diesWriting is the death of a process when it has written the first part to a target.
func diesWriting() inprocess.Fate {
	var gone atomic.Bool
	return func(d inprocess.Deed) (done bool, err error) {
		switch {
		case d.Kind == inprocess.Write && gone.CompareAndSwap(false, true):
			return true, inprocess.ErrGone
		case gone.Load():
			return false, inprocess.ErrGone
		}
		return true, nil
	}
}

// TestEarlierAttemptCountsUntilEpoch has a process that comes back and does everything but to publish, at
// the very moment when somebody else takes its run up. Nothing of it is done again.
func TestEarlierAttemptCountsUntilEpoch(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	asked, _ := b.attempts("undisturbed", everything)
	outputs, work := b.collect(), b.Work(t, "undisturbed")
	asked = slices.DeleteFunc(asked, func(a attempt) bool { return a.activity == "FinishRun" })
	b.Fate = inprocess.DiesAt(12, true).Fate
	require.Error(t, b.begin("raced", everything))

	var once sync.Once
	b.Fate = func(deed inprocess.Deed) (bool, error) {
		if slices.ContainsFunc(deed.Batch.Insert, func(r landscape.Record) bool { _, is := r.(landscape.Resumption); return is }) {
			once.Do(func() {
				for _, a := range asked {
					b.comesBack("raced", a)
				}
			})
		}
		return true, nil
	}
	var done []string
	require.NoError(t, b.Resume(t, "raced", func(env *testsuite.TestWorkflowEnvironment) {
		env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
			done = append(done, info.ActivityType.Name)
		})
	}))
	require.Equal(t, []string{"ResumeRun", "FinishRun"}, done)
	require.Equal(t, outputs, b.collect())
	require.Equal(t, work, b.Work(t, "raced"))
}

// comesBack does an activity of the undisturbed run for another one, and reports whether it was refused for being of before. It may
// fail for other reasons, or find that there is nothing to do.
func (b *bench) comesBack(run string, a attempt) bool {
	b.t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	env := suite.NewTestActivityEnvironment()
	env.SetWorkerOptions(sdkworker.Options{BackgroundActivityContext: started.Context("tester")})
	env.RegisterActivity(activities.New(b.Log, b.Payloads, b.Planner, "test"))
	input := json.RawMessage(strings.ReplaceAll(string(a.input), `"undisturbed"`, `"`+run+`"`))
	_, err := env.ExecuteActivity(a.activity, input)
	return err != nil && kind(err) == activities.TypeSuperseded
}
