package resume_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/tests/inprocess"
	"waymark/workflows"
)

// order gives an order, and calls then when it was obeyed.
func order(t *testing.T, env *testsuite.TestWorkflowEnvironment, name string, order workflows.Command, then func()) {
	t.Helper()
	env.UpdateWorkflow(name, name, &testsuite.TestUpdateCallback{
		OnReject: func(err error) { t.Errorf("%s: %v", name, err) },
		OnComplete: func(_ any, err error) {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			then()
		},
	}, order)
}

// named is for activities of one name.
func named(want string) func(string, converter.EncodedValue) bool {
	return func(name string, _ converter.EncodedValue) bool { return name == want }
}

// afterFirst calls do once, when the first activity of a kind is done.
func afterFirst(env *testsuite.TestWorkflowEnvironment, is func(name string, result converter.EncodedValue) bool, do func()) {
	did := false
	env.SetOnActivityCompletedListener(func(info *activity.Info, result converter.EncodedValue, err error) {
		if err == nil && !did && is(info.ActivityType.Name, result) {
			did = true
			do()
		}
	})
}

// anHour is how long the runs of these tests are paused.
const anHour = time.Hour

// atTheEnd is the one of pauses before which a run may have asked for its barriers to be emptied.
const atTheEnd = "when nothing comes to barriers any more"

// pauses are moments at which a run is paused: when an activity is done, the first of its kind.
var pauses = map[string]func(name string, result converter.EncodedValue) bool{
	"amid the rows": func(name string, _ converter.EncodedValue) bool { return name == "Fold" },
	"at the end of a source": func(name string, result converter.EncodedValue) bool {
		var read activities.Results[activities.ReadResult]
		return name == "Read" && result.Get(&read) == nil && read.Each[0].Done && read.Each[0].Cursor.Row > 7
	},
	atTheEnd: func(name string, result converter.EncodedValue) bool {
		var fold activities.Results[activities.FoldResult]
		return name == "Fold" && result.Get(&fold) == nil && fold.Each[0].Rows > 0 && fold.Each[0].Deadline == 0
	},
}

// patient is timed with batches that are due after minutes: never before the test wants it.
var patient = strings.NewReplacer("120ms", "15m", "60ms", "10m", "90ms", "12m").Replace(timed)

// TestAPausedRunBeginsNothing pauses a run for an hour, at several moments. Work in flight comes to its end; nothing is read
// meanwhile, no barrier is emptied, and nothing fires, whatever is due.
func TestAPausedRunBeginsNothing(t *testing.T) {
	for name, is := range pauses {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write(map[string]string{"first.csv": numbered(14), "second.csv": numbered(7)})
			p := pausing{obeyed: make(chan struct{})}
			b.Fate = p.fate
			in := activities.OpenInput{Run: "paused", File: "pipeline.yaml", Folder: b.Folder}
			require.NoError(t, b.Start(t, patient, in, func(env *testsuite.TestWorkflowEnvironment) {
				env.SetOnActivityStartedListener(p.note)
				afterFirst(env, is, func() {
					p.ordered.Store(true)
					order(t, env, workflows.PauseUpdate, workflows.Command{Actor: "ann", Why: "to look"}, func() { close(p.obeyed) })
					env.RegisterDelayedCallback(func() {
						p.over.Store(true)
						order(t, env, workflows.ContinueUpdate, workflows.Command{Actor: "ben", Why: "seen"}, func() {})
					}, anHour)
				})
			}))
			require.True(t, p.over.Load())
			require.LessOrEqual(t, p.reads.Load(), int64(1), "chunks that were read, but for one that was asked for before")
			require.LessOrEqual(t, p.folds.Load(), int64(1), "deadlines that were acted on, and barriers that were emptied, but for one that was asked for before")
			if name != atTheEnd {
				require.Zero(t, p.ends.Load(), "barriers that were emptied")
			}
			require.Equal(t, 1, b.count("paused", "actions", `verb="pause" actor="ann" why="to look"`))
			require.Equal(t, 1, b.count("paused", "actions", `verb="continue" actor="ben" why="seen"`))
			b.sound("paused")
		})
	}
}

// pausing takes note of what begins while a run is paused.
type pausing struct {
	ordered, over atomic.Bool
	obeyed        chan struct{}
	reads, folds  atomic.Int64
	ends          atomic.Int64 // of folds: those that empty a barrier
}

// fate lets nothing be put on record between the order and the moment when it is obeyed, but the order.
func (p *pausing) fate(deed inprocess.Deed) (bool, error) {
	isOrder := slices.ContainsFunc(deed.Batch.Insert, func(r landscape.Record) bool { _, is := r.(landscape.Action); return is })
	if p.ordered.Load() && !isOrder {
		<-p.obeyed
	}
	return true, nil
}

func (p *pausing) note(info *activity.Info, _ context.Context, args converter.EncodedValues) {
	select {
	case <-p.obeyed:
	default:
		return
	}
	var fold activities.Batch[activities.FoldInput]
	switch {
	case p.over.Load():
	case info.ActivityType.Name == "Read":
		p.reads.Add(1)
	case info.ActivityType.Name == "Fold" && args.Get(&fold) == nil && fold.Each[0].Kind != activities.FoldChunk:
		p.folds.Add(1)
		if fold.Each[0].Kind == activities.FoldEnd {
			p.ends.Add(1)
		}
	}
}

// TestARunThatIsPausedCanBeResumed has a process that dies while its run is paused. Who takes the run up wants it to go on.
func TestARunThatIsPausedCanBeResumed(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	var dead atomic.Bool
	b.Fate = func(inprocess.Deed) (bool, error) {
		if dead.Load() {
			return false, inprocess.ErrGone
		}
		return true, nil
	}
	err := b.Start(t, everything, activities.OpenInput{Run: "paused", File: "pipeline.yaml", Folder: b.Folder}, func(env *testsuite.TestWorkflowEnvironment) {
		afterFirst(env, named("Fold"), func() {
			order(t, env, workflows.PauseUpdate, workflows.Command{Actor: "ann", Why: "lunch"}, func() {})
			env.RegisterDelayedCallback(func() {
				dead.Store(true)
				env.CancelWorkflow()
			}, anHour)
		})
	})
	require.Error(t, err)
	require.Equal(t, pipeline.Running, b.status("paused"))
	b.Fate = nil
	require.NoError(t, b.Resume(t, "paused", nil))
	require.Equal(t, pipeline.CompletedWithFailures, b.status("paused"))
	b.sound("paused")
}

// TestACancelledRunCanBeResumed cancels runs in both ways that leave them open. Who takes one up gets the record and the outputs
// of an undisturbed run.
func TestACancelledRunCanBeResumed(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	require.NoError(t, b.begin("undisturbed", everything))
	outputs, work := b.collect(), b.Work(t, "undisturbed")
	for as, verb := range map[pipeline.RunStatus]string{pipeline.Cancelled: "cancel", pipeline.Interrupted: "interrupt"} {
		t.Run(string(as), func(t *testing.T) {
			b, run := b.of(t), string(as)+"-run"
			require.NoError(t, b.cancelEarly(run, workflows.Command{Actor: "ann", Why: "enough", As: as}))
			on, err := b.Log.Run(t.Context(), run)
			require.NoError(t, err)
			require.Equal(t, as, on.Status)
			require.False(t, on.Final)
			require.Equal(t, string(as)+" by ann: enough", on.Reason)
			actions, err := b.Log.Actions(t.Context(), run)
			require.NoError(t, err)
			require.Len(t, actions, 1)
			require.Equal(t, verb, actions[0].Verb)
			require.NotEmpty(t, b.outputs(""), "what is staged stays")
			require.NotContains(t, b.outputs(""), "even.csv")
			require.NoError(t, b.Resume(t, run, nil))
			require.Equal(t, outputs, b.collect())
			require.Equal(t, work, b.Work(t, run))
		})
	}
}

// TestARunThatIsCancelledForGoodIsOver cancels a run permanently: what it staged is gone, and nobody may resume it.
func TestARunThatIsCancelledForGoodIsOver(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	require.NoError(t, b.cancelEarly("over", workflows.Command{Actor: "ann", Why: "wrong file", Final: true}))
	on, err := b.Log.Run(t.Context(), "over")
	require.NoError(t, err)
	require.Equal(t, pipeline.Cancelled, on.Status)
	require.True(t, on.Final)
	require.Empty(t, b.outputs(""))
	before := b.Dump(t, "over")
	requireType(t, b.Resume(t, "over", nil), activities.TypeNotResumable)
	require.Equal(t, before, b.Dump(t, "over"))
	require.Empty(t, b.outputs(""))
}

// cancelEarly begins a run of everything and cancels it when its first part is written.
func (b *bench) cancelEarly(run string, o workflows.Command) error {
	b.t.Helper()
	return b.Start(b.t, everything, activities.OpenInput{Run: run, File: "pipeline.yaml", Folder: b.Folder}, func(env *testsuite.TestWorkflowEnvironment) {
		afterFirst(env, named("Write"), func() { order(b.t, env, workflows.CancelUpdate, o, func() {}) })
	})
}

// TestAnOrderIsOnRecordOnce loses the reply of the transaction that records the order: the activity runs twice.
func TestAnOrderIsOnRecordOnce(t *testing.T) {
	b := newBench(t)
	b.write(everyInput)
	var lost atomic.Int64
	b.Fate = func(deed inprocess.Deed) (bool, error) {
		for _, record := range deed.Batch.Insert {
			if _, is := record.(landscape.Action); is && lost.Add(1) == 1 {
				return true, errors.New("connection reset")
			}
		}
		return true, nil
	}
	require.NoError(t, b.cancelEarly("once", workflows.Command{Actor: "ann", Why: "enough"}))
	require.Equal(t, pipeline.Cancelled, b.status("once"))
	require.EqualValues(t, 1, lost.Load())
	require.Equal(t, 1, b.count("once", "actions", `verb="cancel"`))
}
