package activities_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"waymark/activities"
	"waymark/landscape"
	"waymark/plugin"
)

// breakNext gives the next write to the record after skip others a fate.
func (r *rig) breakNext(skip int64, keep bool) {
	r.driver.broken, r.driver.keep = r.driver.writes.Load()+skip, keep
}

func TestTargetIsAskedAfterLostAttempt(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	e := watch(r)
	write := r.begin()[0]

	r.breakNext(1, false) // the attempt begins, writes, and its end is lost
	_, err := try[none](r, act.Write, write)
	require.ErrorContains(t, err, errLost.Error())
	require.EqualValues(t, 1, e.wrote.Load())
	require.Zero(t, e.asked.Load(), "nobody was there before the first attempt")

	call[none](r, act.Write, write)
	require.EqualValues(t, 1, e.asked.Load())
	require.EqualValues(t, 1, e.wrote.Load(), "the target held the part exactly")
	require.Equal(t, []string{"1 began", "2 began", "2 reconciled exactly", "2 finalized"}, r.story(write))

	call[none](r, act.Write, write)
	require.EqualValues(t, 1, e.asked.Load(), "a finalized write is left alone")
	require.EqualValues(t, 1, e.wrote.Load())
}

func TestPartIsWrittenIfTheTargetDoesNotHoldIt(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	e := watch(r)
	write := r.begin()[0]
	r.breakNext(0, true) // the attempt is recorded and nothing else happened
	_, err := try[none](r, act.Write, write)
	require.ErrorContains(t, err, errLost.Error())
	require.Zero(t, e.wrote.Load(), "nothing is written before the attempt is known to be recorded")
	call[none](r, act.Write, write)
	require.EqualValues(t, 1, e.wrote.Load())
	require.Equal(t, []string{"1 began", "2 began", "2 reconciled not_applied", "2 finalized"}, r.story(write))
}

func TestFailedWriteIsOnRecord(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	e := watch(r)
	write := r.begin()[0]
	e.fail = errLost
	_, err := try[none](r, act.Write, write)
	require.ErrorContains(t, err, "sink review, chunk 0: connection reset")
	require.Equal(t, []string{"1 began", "1 failed connection reset"}, r.story(write))
	call[none](r, act.Write, write)
	require.EqualValues(t, 1, e.wrote.Load(), "the failed attempt had written the part")
}

func TestTargetThatCannotTellBlocksTheEffect(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	e := watch(r)
	write := r.begin()[0]
	r.breakNext(1, false)
	_, err := try[none](r, act.Write, write)
	require.Error(t, err)
	unknown := plugin.Unknown
	e.answer = &unknown
	for range 2 {
		_, err = try[none](r, act.Write, write)
		requireFinal(t, err, activities.TypeBlocked)
	}
	require.EqualValues(t, 1, e.wrote.Load(), "nobody may guess")
	require.EqualValues(t, 1, e.asked.Load(), "a blocked effect begins no attempt")
}

// TestTwoWritesAtOnce holds the first attempt before it records its end until a second one has done everything.
func TestTwoWritesAtOnce(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	write := r.begin()[0]
	reached, release := make(chan struct{}), make(chan struct{})
	var held atomic.Bool
	r.driver.onBatch = func(b landscape.Tx) {
		if moves(b, landscape.Finalized) && held.CompareAndSwap(false, true) {
			close(reached)
			<-release
		}
	}
	first := make(chan error)
	env := r.env
	go func() {
		_, err := env.ExecuteActivity(act.Write, batchOf(write))
		first <- err
	}()
	<-reached
	var suite testsuite.WorkflowTestSuite
	second := suite.NewTestActivityEnvironment()
	second.RegisterActivity(activities.New(r.log, r.payloads, r.planner, "test"))
	_, err := second.ExecuteActivity(act.Write, batchOf(write))
	require.NoError(t, err)
	close(release)
	require.ErrorContains(t, <-first, landscape.ErrFenced.Error())
	require.Equal(t, []string{"1 began", "1 fenced finalize", "2 began", "2 reconciled exactly", "2 finalized"}, r.story(write))

	call[none](r, act.Write, write)
	require.Len(t, r.story(write), 5, "the loser's next attempt finds nothing to do")
}

func TestPartThatComesOutOtherwiseIsRefused(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	r.driver.onBatch = func(b landscape.Tx) {
		for i, record := range b.Insert {
			if effect, ok := record.(landscape.Effect); ok && effect.Sink == "review" && effect.Kind == landscape.WriteEffect {
				effect.SHA256 = strings.Repeat("0a", 32)
				b.Insert[i] = effect
			}
		}
	}
	write := r.begin()[0]
	r.restart()
	_, err := try[none](r, act.Write, write)
	message := requireFinal(t, err, activities.TypeDiverged)
	require.Contains(t, message, "sink review, chunk 0: the steps give ")
	require.NotContains(t, r.outputs(), "review.csv")
}

// moves reports whether the batch moves an effect to the state.
func moves(b landscape.Tx, to landscape.EffectState) bool {
	for _, move := range b.Move {
		if effect, ok := move.To.(landscape.Effect); ok && effect.State == to {
			return true
		}
	}
	return false
}

// story returns the events of a write: attempt, word and detail.
func (r *rig) story(write activities.WriteInput) []string {
	r.t.Helper()
	events, err := r.log.EffectEvents(r.t.Context(), runID)
	require.NoError(r.t, err)
	return tell(events, landscape.EffectKey{Run: runID, Sink: write.Sink, Source: write.Source, Chunk: write.Chunk})
}

// tell returns the events of one effect in the order in which they happened within each attempt. The receipt of a target,
// which is JSON, is left out.
func tell(events []landscape.EffectEvent, key landscape.EffectKey) []string {
	events = slices.DeleteFunc(events, func(e landscape.EffectEvent) bool { return e.EffectKey != key })
	slices.SortStableFunc(events, func(a, b landscape.EffectEvent) int {
		return cmp.Or(cmp.Compare(a.Fence, b.Fence), cmp.Compare(a.At, b.At))
	})
	var told []string
	for _, e := range events {
		line := fmt.Sprintf("%d %s %s", e.Fence, e.Event, e.Detail)
		if e.Event == landscape.EffectFinalized {
			line = fmt.Sprintf("%d %s", e.Fence, e.Event)
		}
		told = append(told, strings.TrimSpace(line))
	}
	return told
}
