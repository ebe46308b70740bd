package landscapetest

import (
	"bytes"
	"encoding/hex"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// seals records the roots of chunks, and computes them again from what is recorded.
func seals(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "sealed", Chunks: 2, ChunkRows: landscape.SliceRows + 6, Late: func(_ string, row int64) bool { return row%7 == 1 }}
	log := begun(t, d, s)
	run, graph := s.Graph()
	graph.Key = []byte("salts of another")
	require.NoError(t, log.BeginRun(t.Context(), run, graph), "the first key stays")
	require.NoError(t, s.Read(t.Context(), log))
	p, records := Repeating(s.Passage(0)), recordsOf(s, 0)
	root, err := log.RecordSealed(t.Context(), p, records)
	require.NoError(t, err)
	require.Len(t, root, 64)
	again, err := landscape.New(d, nil).RecordSealed(t.Context(), turned(p), records)
	require.NoError(t, err)
	require.Equal(t, root, again, "of another process, with its ways in another order")

	other := records
	other.Hashes = slices.Clone(records.Hashes)
	other.Hashes[40]++
	_, err = log.RecordSealed(t.Context(), p, other)
	var diverged *landscape.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.Equal(t, landscape.DivergedError{Table: "chunk_seals", Key: "sealed/strikes/0", Column: "root"}, *diverged)
	other.Hashes = records.Hashes[:32]
	_, err = log.RecordSealed(t.Context(), p, other)
	require.ErrorContains(t, err, "32 bytes of hashes")

	second, err := log.RecordSealed(t.Context(), s.Passage(1), recordsOf(s, 1))
	require.NoError(t, err)
	for i := range s.Chunks {
		require.NoError(t, s.Write(t.Context(), log, i), "targets refuse rows of it")
	}
	require.NotEmpty(t, stored[landscape.RowError](t, d, s.Run))
	kept, err := log.ChunkSeals(t.Context(), s.Run)
	require.NoError(t, err)
	require.Len(t, kept, 2)
	for i, want := range []string{root, second} {
		rows, err := log.SealedRows(t.Context(), chunkOf(s, i))
		require.NoError(t, err)
		salts, err := log.ChunkSalts(t.Context(), chunkOf(s, i))
		require.NoError(t, err)
		now := rows.Root(salts)
		require.Equal(t, want, hex.EncodeToString(now[:]))
		require.True(t, bytes.Equal(kept[i].Root, now[:]))
	}
	computed, err := log.ComputedRows(t.Context(), chunkOf(s, 1), s.Passage(0), recordsOf(s, 1))
	require.NoError(t, err)
	rows, err := log.SealedRows(t.Context(), chunkOf(s, 1))
	require.NoError(t, err)
	require.Contains(t, rows.Differ(computed, 3), "hashes")
}
