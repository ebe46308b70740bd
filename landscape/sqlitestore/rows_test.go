package sqlitestore_test

import (
	"database/sql"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// lengths are lengths of records on both sides of every byte of a number.
var lengths = []uint32{1, 255, 256, 65_535, 65_536, 70_000, 1<<24 - 1, 1 << 24, 1<<24 + 1<<16 + 1<<8 + 1}

// wide is a chunk of the scene whose numbers need up to all four bytes of their columns.
func wide(s landscapetest.Scene, i int) (landscape.Chunk, landscape.Records) {
	chunk, records := s.Chunk(i)
	var offset, line uint32
	for j := range records.Offsets {
		length := uint32(39)
		if j%99 == 0 {
			length = lengths[j/99%len(lengths)]
		}
		records.Offsets[j], records.Lengths[j] = offset, length
		offset += length + 1
		if records.Lines != nil {
			records.Lines[j] = line
			line += 1 + length/40
		}
	}
	chunk.FirstOffset, chunk.FirstLine = 1<<33, 70_000
	return chunk, records
}

// TestRowsAgreeWithRecords compares every row of the view with what the driver was given: offsets beyond 2^24 and lines beyond
// 2^16, records longer than 2^16 and 2^24 bytes.
func TestRowsAgreeWithRecords(t *testing.T) {
	store, path := create(t)
	log, scene := landscape.New(store, nil), landscapetest.Scene{Run: "r", Chunks: 2, ChunkRows: 2_500}
	require.NoError(t, scene.Begin(t.Context(), log))
	for i := range scene.Chunks {
		chunk, records := wide(scene, i)
		require.NoError(t, log.RecordChunk(t.Context(), chunk, records))
	}
	require.NoError(t, store.Close())
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	defer db.Close()
	for i := range scene.Chunks {
		sameRows(t, db, scene, i)
	}
}

func sameRows(t *testing.T, db *sql.DB, scene landscapetest.Scene, i int) {
	t.Helper()
	chunk, records := wide(scene, i)
	last := len(records.Offsets) - 1
	require.Greater(t, records.Offsets[last], uint32(1<<24))
	require.True(t, records.Lines == nil || records.Lines[last] > 1<<16)
	rows, err := db.Query(`
		select row, line, byte_offset, byte_length, raw_hash from rows
		where run_id = ? and source = ? and chunk = ? order by row`, chunk.Run, chunk.Source, chunk.Chunk)
	require.NoError(t, err)
	defer rows.Close()
	seen := 0
	for ; rows.Next(); seen++ {
		line := int64(seen)
		if records.Lines != nil {
			line = int64(records.Lines[seen])
		}
		hash := records.Hashes[landscape.HashBytes*seen : landscape.HashBytes*(seen+1)]
		var got, want [4]int64
		var gotHash string
		require.NoError(t, rows.Scan(&got[0], &got[1], &got[2], &got[3], &gotHash))
		want = [4]int64{
			chunk.FirstRow + int64(seen), chunk.FirstLine + line, chunk.FirstOffset + int64(records.Offsets[seen]), int64(records.Lengths[seen]),
		}
		require.Equal(t, want, got, "row, line, byte_offset, byte_length")
		require.Equal(t, hex.EncodeToString(hash), gotHash)
	}
	require.NoError(t, rows.Err())
	require.Equal(t, len(records.Offsets), seen)
}
