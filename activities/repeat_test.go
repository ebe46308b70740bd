package activities_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// fateStride is how far apart the writes are that TestFates and TestFatesOfATable lose. What a write's loss shows, that of its
// neighbours mostly shows as well.
var fateStride = flag.Int64("stride", 29, "TestFates loses every so many writes of a run; make nightly loses every fourth")

// playOnce plays the run without any fault, and returns what it left.
func playOnce(r *rig) (records map[string][]map[string]any, outputs map[string]string) {
	r.t.Helper()
	require.Equal(r.t, pipeline.CompletedWithFailures, r.play().Status)
	require.Zero(r.t, r.faults)
	r.requireWhole()
	return r.records(), r.outputs()
}

func TestRunLeavesWhatTheDocumentSays(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	records, outputs := playOnce(r)
	require.Equal(t, []string{"ledger.jsonl", "refused/manifest.json", "refused/part-00000.csv", "refused/part-00001.csv", "review.csv"}, sorted(outputs))
	require.Equal(t, "id,amount,parts,note,share\no2,300,2,big one,150\no8,800,4,\"two\nlines\",200\n", outputs["review.csv"])
	require.Len(t, records["chunks"], 4)
	sum, err := r.log.Summary(t.Context(), runID)
	require.NoError(t, err)
	require.EqualValues(t, 13, sum.Rows)
	require.EqualValues(t, 4, sum.Quarantined, "two values that came before, no number, a quote that is never closed")
	require.EqualValues(t, 1, sum.Filtered)
	require.EqualValues(t, 1, sum.Discarded)
}

func TestEveryActivityTwice(t *testing.T) {
	forEveryDocument(t, func(t *testing.T, r *rig) {
		records, outputs := playOnce(r)
		for _, forgetful := range []bool{false, true} {
			t.Run(fmt.Sprintf("forgetful %v", forgetful), func(t *testing.T) {
				r.reset(t)
				r.twice, r.forgetful = true, forgetful
				requireSame(r, records, outputs)
			})
		}
	})
}

// forEveryDocument runs the test over a document that is linear, and one that has every kind of barrier.
func forEveryDocument(t *testing.T, test func(*testing.T, *rig)) {
	t.Helper()
	t.Run("orders", func(t *testing.T) { test(t, newRig(t, ordersDocument, ordersFiles)) })
	t.Run("graph", func(t *testing.T) { test(t, newRig(t, graphDocument, graphFiles)) })
}

func TestNothingHangsOnTheMemoryOfTheProcess(t *testing.T) {
	forEveryDocument(t, func(t *testing.T, r *rig) {
		records, outputs := playOnce(r)
		r.reset(t)
		r.forgetful = true
		requireSame(r, records, outputs)
	})
}

// TestUniqueValues has a value again in the next chunk, and another in the chunk after the next; also when every chunk goes
// through the steps twice, in processes that know nothing.
func TestUniqueValues(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	for _, again := range []bool{false, true} {
		r.reset(t)
		r.twice, r.forgetful = again, again
		r.play()
		for row, message := range map[int64]string{6: "row 1 has the same value", 12: "row 9 has the same value"} {
			rejected, err := r.log.ErrorsOf(t.Context(), runID, landscape.Token{Source: "orders", Row: row})
			require.NoError(t, err)
			require.Len(t, rejected, 1)
			require.Equal(t, []string{"UNIQUE", "id", message}, []string{rejected[0].Code, rejected[0].Field, rejected[0].Message})
		}
	}
}

// TestFates loses every write of a run once: its request, and its reply. The activity must fail, and the run must end as
// if nothing had been; also if the process forgets everything between any two activities.
func TestFates(t *testing.T) {
	forEveryDocument(t, func(t *testing.T, r *rig) {
		records, outputs := playOnce(r)
		for _, how := range []struct{ forgetful, together bool }{{}, {forgetful: true}, {together: true}} {
			if how.together && r.document == graphDocument {
				continue // it has a sink; several are written at once in the other
			}
			r.reset(t)
			r.forgetful, r.together = how.forgetful, how.together
			requireSame(r, records, outputs)
			kinds, writes := r.driver.kinds, r.driver.writes.Load()
			require.Greater(t, kinds["commit"], 30)
			require.Positive(t, kinds["payload"])
			for broken := int64(0); broken < writes; broken += *fateStride {
				tryFates(t, r, broken, records, outputs)
			}
			t.Logf("%d fates tried, writes of a run, %+v: %v", 2*((writes+*fateStride-1) / *fateStride), how, kinds)
		}
	})
}

// tryFates loses one write, its request and its reply.
func tryFates(t *testing.T, r *rig, broken int64, records map[string][]map[string]any, outputs map[string]string) {
	t.Helper()
	forgetful, together := r.forgetful, r.together
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprintf("write %d, kept %v, forgetful %v, together %v", broken, keep, forgetful, together), func(t *testing.T) {
			r.reset(t)
			r.driver.broken, r.driver.keep = broken, keep
			requireSame(r, records, outputs)
			require.Equal(t, 1, r.faults, "the fault was swallowed")
			requireFinalizedOnce(r)
		})
	}
}

func requireSame(r *rig, records map[string][]map[string]any, outputs map[string]string) {
	r.t.Helper()
	require.Equal(r.t, pipeline.CompletedWithFailures, r.play().Status)
	r.requireWhole()
	require.Equal(r.t, outputs, r.outputs())
	now := r.records()
	for _, table := range sorted(records) {
		require.Equal(r.t, records[table], now[table], table)
	}
	require.Len(r.t, now, len(records))
}

func requireFinalizedOnce(r *rig) {
	r.t.Helper()
	events, err := r.log.EffectEvents(r.t.Context(), runID)
	require.NoError(r.t, err)
	finalized := map[landscape.EffectKey]int{}
	for _, event := range events {
		if event.Event == landscape.EffectFinalized {
			finalized[event.EffectKey]++
		}
	}
	for key, times := range finalized {
		require.Equal(r.t, 1, times, key.String())
	}
}
