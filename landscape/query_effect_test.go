package landscape_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/blank"
)

// TestEffectsAreFoundByTheirKeys asks for each effect of a run that is complete, and of one of which nothing was written.
func TestEffectsAreFoundByTheirKeys(t *testing.T) {
	log := landscape.New(blank.New(t), nil)
	require.NoError(t, landscapetest.Scene{Run: "written", Chunks: 2, ChunkRows: 20}.Play(t.Context(), log))
	require.NoError(t, landscapetest.Scene{Run: "begun", Chunks: 2, ChunkRows: 20}.Begin(t.Context(), log))
	for run, attempted := range map[string]bool{"written": true, "begun": false} {
		effects, err := log.Effects(t.Context(), run)
		require.NoError(t, err)
		require.NotEmpty(t, effects)
		for _, want := range effects {
			got, err := log.Effect(t.Context(), want.EffectKey)
			require.NoError(t, err)
			require.Equal(t, want, got)
			is, err := log.Attempted(t.Context(), run, want.Sink)
			require.NoError(t, err)
			require.Equal(t, attempted, is)
		}
	}
	_, err := log.Effect(t.Context(), landscape.PublishKey("begun", "nowhere"))
	require.ErrorIs(t, err, landscape.ErrNotFound)
	is, err := log.Attempted(t.Context(), "written", "nowhere")
	require.NoError(t, err)
	require.False(t, is)
}
