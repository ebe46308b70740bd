package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// Repeating returns the passage with its rows 2 and 5 on record as repeats, at the node keep, of row 1 and row 3 of the source. Drivers
// do not look at why a row went its way.
func Repeating(p landscape.Passage) landscape.Passage {
	column := landscape.RepeatColumn{Node: "keep", Firsts: make([]landscape.Token, len(p.Lanes[0].Codes))}
	column.Firsts[1], column.Firsts[4] = landscape.Token{Source: Source, Row: 1}, landscape.Token{Source: Source, Row: 3}
	p.Repeats = []landscape.RepeatColumn{column}
	return p
}

// repeats records of which rows those are repeats that a deduplicate dropped, and asks for them.
func repeats(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "r", Chunks: 2, ChunkRows: landscape.SliceRows + 6}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	passed, err := log.Passed(t.Context(), s.Run, landscape.ChunkKey{Source: Source, Chunk: 0})
	require.NoError(t, err)
	require.False(t, passed)
	p := Repeating(s.Passage(0))
	last := len(p.Repeats[0].Firsts) - 1 // in another slice
	p.Repeats[0].Firsts[last] = landscape.Token{Source: Source, Row: 7}
	for range 2 {
		require.NoError(t, log.RecordPassage(t.Context(), p), "a repeat changes nothing")
	}
	require.NoError(t, log.RecordPassage(t.Context(), s.Passage(1)))
	passed, err = log.Passed(t.Context(), s.Run, landscape.ChunkKey{Source: Source, Chunk: 0})
	require.NoError(t, err)
	require.True(t, passed)
	require.Len(t, stored[landscape.RepeatsRecord](t, d, s.Run), 2)

	columns, err := log.Repeats(t.Context(), s.Run, landscape.ChunkKey{Source: Source, Chunk: 0})
	require.NoError(t, err)
	require.Equal(t, p.Repeats, columns)
	columns, err = log.Repeats(t.Context(), s.Run, landscape.ChunkKey{Source: Source, Chunk: 1})
	require.NoError(t, err)
	require.Nil(t, columns)
	for row, first := range map[int64]int64{2: 1, 5: 3, int64(last) + 1: 7} {
		token, err := log.FirstOf(t.Context(), s.Run, "keep", tokens(row)[0])
		require.NoError(t, err)
		require.Equal(t, tokens(first)[0], token)
	}
	for _, row := range []int64{1, 6, int64(last) + 2} {
		_, err := log.FirstOf(t.Context(), s.Run, "keep", tokens(row)[0])
		require.ErrorIs(t, err, landscape.ErrNotFound, "row %d", row)
	}

	differences, err := log.ComparePassage(t.Context(), p, nil)
	require.NoError(t, err)
	require.Empty(t, differences)
	p.Repeats[0].Firsts[1].Row = 3
	differences, err = log.ComparePassage(t.Context(), p, nil)
	require.NoError(t, err)
	require.Len(t, differences, 1)
	require.Contains(t, differences[0].String(), "repeats r/strikes/0/0/keep/0: firsts should be ")
	var diverged *landscape.DivergedError
	require.ErrorAs(t, log.RecordPassage(t.Context(), p), &diverged)
	differences, err = log.ComparePassage(t.Context(), s.Passage(0), nil)
	require.NoError(t, err)
	require.Len(t, differences, 2, "two that nothing repeats")

	p.Repeats[0].Firsts = p.Repeats[0].Firsts[1:]
	require.ErrorContains(t, log.RecordPassage(t.Context(), p), "repeats at keep: 1029 tokens for 1030 rows")
}
