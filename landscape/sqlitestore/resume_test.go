package sqlitestore

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// TestPassagesAreListedWithoutTheirCodes holds that a resumption, which asks for the passages of all chunks, gets them from an
// index.
func TestPassagesAreListedWithoutTheirCodes(t *testing.T) {
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "landscape.db"), Options{Create: true})
	require.NoError(t, err)
	defer store.Close()
	for table, columns := range map[string]string{
		"passages": "run_id, source, chunk, lane", "chunk_ways": "run_id, source, chunk, lane, code, way, rows",
	} {
		rows, err := store.read.Query(`explain query plan select ` + columns + ` from ` + table + ` where run_id = 'r' and source = 's'
			order by run_id, source, chunk, lane`)
		require.NoError(t, err)
		defer rows.Close()
		var steps []string
		for rows.Next() {
			var id, parent, unused int
			var step string
			require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
			steps = append(steps, step)
		}
		require.NoError(t, rows.Err())
		require.Len(t, steps, 1, "nothing is sorted")
		require.Regexp(t, `USING (COVERING INDEX|PRIMARY KEY)`, steps[0])
	}
}

// BenchmarkResume asks what a resumption asks of a source with many chunks, of which each has five ways and went to three sinks.
func BenchmarkResume(b *testing.B) {
	const chunks = 10_000
	store, err := Open(b.Context(), filepath.Join(b.TempDir(), "landscape.db"), Options{Create: true})
	require.NoError(b, err)
	defer store.Close()
	log := landscape.New(store, nil)
	scene := landscapetest.Scene{Run: "bench", Chunks: chunks, ChunkRows: 10}
	require.NoError(b, scene.Begin(b.Context(), log))
	for i := range chunks {
		chunk, records := scene.Chunk(i)
		require.NoError(b, log.RecordChunk(b.Context(), chunk, records))
		require.NoError(b, log.RecordPassage(b.Context(), scene.Passage(i)))
	}
	b.Run("passages", func(b *testing.B) {
		for b.Loop() {
			marks, err := log.PassageMarks(b.Context(), scene.Run, landscapetest.Source)
			require.NoError(b, err)
			require.Len(b, marks, chunks)
		}
	})
	b.Run("sinks", func(b *testing.B) {
		for b.Loop() {
			_, err := log.SinkChunks(b.Context(), scene.Run)
			require.NoError(b, err)
		}
	})
}

// BenchmarkGuard commits a small record, with a guard and without. The plan of the run is as long as that of a large document.
func BenchmarkGuard(b *testing.B) {
	for _, guarded := range []bool{false, true} {
		b.Run(fmt.Sprint("guarded=", guarded), func(b *testing.B) {
			store, err := Open(b.Context(), filepath.Join(b.TempDir(), "landscape.db"), Options{Create: true})
			require.NoError(b, err)
			defer store.Close()
			run, graph := landscapetest.Scene{Run: "bench"}.Graph()
			run.Plan = `"` + strings.Repeat("x", 200_000) + `"`
			require.NoError(b, landscape.New(store, nil).BeginRun(b.Context(), run, graph))
			_, err = store.write.Exec(`pragma synchronous = off`)
			require.NoError(b, err)
			batch := landscape.Tx{}
			if guarded {
				batch.Guard = &landscape.Guard{Run: run.ID}
			}
			for i := int64(0); b.Loop(); i++ {
				batch.Insert = []landscape.Record{landscape.RunEvent{Run: run.ID, Seq: i, Event: "e", At: 1}}
				require.NoError(b, store.Commit(b.Context(), batch))
			}
		})
	}
}
