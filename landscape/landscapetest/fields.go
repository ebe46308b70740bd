package landscapetest

import (
	"encoding/hex"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/seal"
)

// Disclosing returns the passage with every third row at the sink review, where two fields can be disclosed. Of every second one of these a field is missing. Drivers do not
// look at whether the rows went there.
func Disclosing(p landscape.Passage) landscape.Passage {
	of := seal.Fields{Sink: "review", Names: []string{"id", "verdict"}}
	for i := range p.Lanes[0].Codes {
		if i%3 == 1 {
			of.Rows, of.Values = append(of.Rows, i), fmt.Append(of.Values, i)
			of.Ends = append(of.Ends, len(of.Values))
			if i%2 == 1 {
				of.Values = append(of.Values, `"major"`...)
			}
			of.Ends = append(of.Ends, len(of.Values))
		}
	}
	p.Fields = []seal.Fields{of}
	return p
}

// fields records what can be disclosed of rows, and asks for it.
func fields(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "fields", Chunks: 2, ChunkRows: landscape.SliceRows + 6}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	p := Disclosing(s.Passage(0))
	root, err := log.RecordSealed(t.Context(), p, recordsOf(s, 0))
	require.NoError(t, err)
	again, err := landscape.New(d, nil).RecordSealed(t.Context(), p, recordsOf(s, 0))
	require.NoError(t, err)
	require.Equal(t, root, again)
	_, err = log.RecordSealed(t.Context(), s.Passage(1), recordsOf(s, 1))
	require.NoError(t, err)
	stored := stored[landscape.FieldRootsRecord](t, d, s.Run)
	require.Len(t, stored, 2, "a slice each, and none of a chunk without")
	require.Equal(t, [2]int64{341, 2}, [2]int64{stored[0].Rows, stored[1].Rows})
	require.Equal(t, [2]int{32 * landscape.SliceRows, 32 * 6}, [2]int{len(stored[0].Roots), len(stored[1].Roots)})

	chunk := chunkOf(s, 0)
	rows, err := log.SealedRows(t.Context(), chunk)
	require.NoError(t, err)
	salts, err := log.ChunkSalts(t.Context(), chunk)
	require.NoError(t, err)
	now := rows.Root(salts)
	require.Equal(t, root, hex.EncodeToString(now[:]), "late as in the hot path")
	computed, err := log.ComputedRows(t.Context(), chunk, p, recordsOf(s, 0))
	require.NoError(t, err)
	require.Equal(t, rows.Fields, computed.Fields)

	leaves, err := log.Commitments(t.Context(), chunk, 1027, p.Fields)
	require.NoError(t, err)
	require.Len(t, leaves, 2)
	require.JSONEq(t, `{"field":"verdict","lane":0,"row":1028,"sink":"review","value":"major"}`, string(leaves[1].Line))
	leaves, err = log.Commitments(t.Context(), chunk, 4, p.Fields)
	require.NoError(t, err)
	require.Len(t, leaves, 1, "the row does not have the other")
	for _, i := range []int{0, 2, 1029} {
		_, err = log.Commitments(t.Context(), chunk, i, p.Fields)
		require.ErrorIs(t, err, landscape.ErrNoFields, i)
	}
	_, err = log.Commitments(t.Context(), chunkOf(s, 1), 1, p.Fields)
	require.ErrorIs(t, err, landscape.ErrNoFields)

	differences, err := log.ComparePassage(t.Context(), p, nil)
	require.NoError(t, err)
	require.Empty(t, differences)
	p.Fields[0].Values[0]++
	_, err = log.Commitments(t.Context(), chunk, 1, p.Fields)
	require.ErrorIs(t, err, landscape.ErrSealBroken)
	differences, err = log.ComparePassage(t.Context(), p, nil)
	require.NoError(t, err)
	require.Len(t, differences, 1)
	require.Contains(t, differences[0].String(), "field_roots fields/strikes/0/0: roots should be ")
	other, err := log.ComputedRows(t.Context(), chunk, p, recordsOf(s, 0))
	require.NoError(t, err)
	require.Equal(t, []string{"field_roots"}, rows.Differ(other, 1))
	_, err = log.RecordSealed(t.Context(), p, recordsOf(s, 0))
	var diverged *landscape.DivergedError
	require.ErrorAs(t, err, &diverged)
	require.Equal(t, landscape.DivergedError{Table: "field_roots", Key: "fields/strikes/0/0", Column: "roots"}, *diverged)
}
