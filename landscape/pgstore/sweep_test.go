package pgstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// TestARowInTwoChunks holds that the deep sweep finds the tokens of chunks that overlap, and names them.
func TestARowInTwoChunks(t *testing.T) {
	store, _ := create(t)
	scene := landscapetest.Scene{Run: "r", Chunks: 2, ChunkRows: 30}
	require.NoError(t, scene.PlayToEnd(t.Context(), landscape.New(store, nil)))
	extra, _ := scene.Chunk(scene.Chunks)
	extra.FirstRow, extra.Read = extra.FirstRow-1, 1
	require.NoError(t, store.Commit(t.Context(), landscape.Tx{Insert: []landscape.Record{extra}}))
	found, err := store.Sweep(t.Context(), scene.Run, true)
	require.NoError(t, err)
	var twice []landscape.Finding
	for _, f := range found {
		if f.Check == "token_twice" {
			twice = append(twice, f)
		}
	}
	require.Equal(t, []landscape.Finding{
		{Check: "token_twice", Source: landscapetest.Source, Chunk: 1, Detail: "token strikes:60 is there 2 times"},
	}, twice)
}
