package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// pagedReads reads the errors and effects of a run some at a time, beside another run, and looks its chunks up by their rows.
func pagedReads(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	scene := Scene{Run: "paged", Chunks: 3, ChunkRows: 40}
	for _, s := range []Scene{{Run: "other", Chunks: 2, ChunkRows: 20}, scene, {Run: "pagee", Chunks: 1, ChunkRows: 20}} {
		require.NoError(t, s.Play(ctx, log))
	}

	errors, err := log.Errors(ctx, scene.Run, nil, 0)
	require.NoError(t, err)
	require.Greater(t, len(errors), 5)
	whole := stored[landscape.RowError](t, d, scene.Run)
	require.Len(t, whole, len(errors))
	for i := range whole {
		require.Equal(t, whole[i].ErrorHead, errors[i])
	}
	effects, events, err := log.EffectsAfter(ctx, scene.Run, nil, 0)
	require.NoError(t, err)
	require.Equal(t, stored[landscape.Effect](t, d, scene.Run), effects)
	require.Equal(t, stored[landscape.EffectEvent](t, d, scene.Run), events)
	require.Greater(t, len(events), len(effects))

	for _, limit := range []int{1, 2, 3, 1000} {
		var pagedErrors []landscape.ErrorHead
		for after := (*landscape.ErrorKey)(nil); ; after = &pagedErrors[len(pagedErrors)-1].ErrorKey {
			page, err := log.Errors(ctx, scene.Run, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			if page == nil {
				break
			}
			pagedErrors = append(pagedErrors, page...)
		}
		require.Equal(t, errors, pagedErrors, "%d at a time", limit)

		var pagedEffects []landscape.Effect
		var pagedEvents []landscape.EffectEvent
		for after := (*landscape.EffectKey)(nil); ; after = &pagedEffects[len(pagedEffects)-1].EffectKey {
			page, happened, err := log.EffectsAfter(ctx, scene.Run, after, limit)
			require.NoError(t, err)
			require.LessOrEqual(t, len(page), limit)
			if page == nil {
				require.Empty(t, happened)
				break
			}
			pagedEffects, pagedEvents = append(pagedEffects, page...), append(pagedEvents, happened...)
		}
		require.Equal(t, effects, pagedEffects, "%d at a time", limit)
		require.Equal(t, events, pagedEvents, "%d at a time", limit)
	}

	for row := int64(1); row <= 120; row++ {
		chunk, err := log.ChunkOf(ctx, scene.Run, Source, row)
		require.NoError(t, err)
		require.Equal(t, (row-1)/40, chunk.Chunk, "row %d", row)
	}
	for _, row := range []int64{-1, 0, 121, 1 << 40} {
		_, err := log.ChunkOf(ctx, scene.Run, Source, row)
		require.ErrorIs(t, err, landscape.ErrNotFound, "row %d", row)
	}
	_, err = log.ChunkOf(ctx, "nothing", Source, 1)
	require.ErrorIs(t, err, landscape.ErrNotFound)
}
