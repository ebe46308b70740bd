package activities_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/activities"
	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/landscape"
	"waymark/plugin"
)

func TestPublishedOutputIsLeftAlone(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	e := watch(r)
	r.playWrites()
	sink := activities.PublishInput{Sink: "review"}
	for range 3 {
		call[none](r, act.Publish, sink)
		require.EqualValues(t, 1, e.sealed.Load())
	}
	r.reset(t)
	e.sealed.Store(0)
	r.playWrites()
	r.breakNext(2, false) // the output is visible, and nobody knows
	_, err := try[none](r, act.Publish, sink)
	require.ErrorContains(t, err, errLost.Error())
	call[none](r, act.Publish, sink)
	require.EqualValues(t, 2, e.sealed.Load())
	artifacts, err := r.log.Artifacts(t.Context(), runID)
	require.NoError(t, err)
	require.Len(t, artifacts, 1)
	require.EqualValues(t, len(r.outputs()["review.csv"]), artifacts[0].Bytes)
}

// TestPartsAreInTheOrderOfTheirPlaces plays two chunks whose parts have their places the other way round.
func TestPartsAreInTheOrderOfTheirPlaces(t *testing.T) {
	r := newRig(t, simple("quarantine"), map[string]string{"in.csv": simpleRows})
	call[resumepoint.Plan](r, act.OpenRun, r.open())
	in := readInput
	for ; in.Chunk < 2; in.Chunk++ {
		in.Cursor = call[activities.ReadResult](r, act.Read, in).Cursor
		call[activities.PassResult](r, act.Pass, activities.PassInput{Mode: activities.PassNow, Source: "in", Chunk: in.Chunk})
		call[none](r, act.Write, activities.WriteInput{Source: "in", Chunk: in.Chunk, Sink: "out", Ordinal: 1 - in.Chunk, Offset: 13 + 8*(1-in.Chunk)})
	}
	parts, err := recompute.Parts(t.Context(), r.log.Reader, runID, "out")
	require.NoError(t, err)
	require.Len(t, parts, 2)
	for i, part := range parts {
		require.Equal(t, plugin.Part{Ordinal: int64(i), Offset: 13 + 8*int64(i), Bytes: part.Bytes, Rows: 2, SHA256: part.SHA256}, part)
	}
}

// TestPlaceOfAPartNeverChanges begins a write at one place and repeats it at another.
func TestPlaceOfAPartNeverChanges(t *testing.T) {
	r := newRig(t, ordersDocument, ordersFiles)
	write := r.begin()[0]
	r.breakNext(1, false)
	_, err := try[none](r, act.Write, write)
	require.ErrorContains(t, err, errLost.Error())
	for _, moved := range []activities.WriteInput{
		{Source: write.Source, Sink: write.Sink, Ordinal: write.Ordinal + 1, Offset: write.Offset},
		{Source: write.Source, Sink: write.Sink, Ordinal: write.Ordinal, Offset: write.Offset + 1},
	} {
		_, err = try[none](r, act.Write, moved)
		requireFinal(t, err, activities.TypeDiverged)
	}
	effects, err := r.log.Effects(t.Context(), runID)
	require.NoError(t, err)
	require.NotContains(t, states(effects), landscape.Finalized)
}

func states(effects []landscape.Effect) []landscape.EffectState {
	var all []landscape.EffectState
	for _, effect := range effects {
		all = append(all, effect.State)
	}
	return all
}
