package sqlitestore

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

const benchRows = 32_768

// mostlyGood is a scene in which one row in 1,024 is refused and no row is filtered.
func mostlyGood(run string, chunks int) landscapetest.Scene {
	return landscapetest.Scene{Run: run, Chunks: chunks, ChunkRows: benchRows, Way: func(row int64) int {
		if row%1024 == 0 {
			return 6
		}
		return 0
	}}
}

// BenchmarkChunk records a chunk and its passage: two transactions, two columns of hashes. The metric is the file's growth.
func BenchmarkChunk(b *testing.B) {
	for _, page := range []int{4096, 8192, 16_384, 32_768, 65_536} {
		b.Run(fmt.Sprint("page=", page), func(b *testing.B) { benchChunk(b, page) })
	}
}

func benchChunk(b *testing.B, page int) {
	path := filepath.Join(b.TempDir(), "landscape.db")
	store, err := open(b.Context(), path, true, page, known)
	require.NoError(b, err)
	log := landscape.New(store, nil)
	scene := mostlyGood("bench", b.N)
	require.NoError(b, scene.Begin(b.Context(), log))
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		chunk, records := scene.Chunk(i)
		passage := scene.Passage(i)
		b.StartTimer()
		require.NoError(b, log.RecordChunk(b.Context(), chunk, records))
		require.NoError(b, log.RecordPassage(b.Context(), passage))
	}
	require.NoError(b, store.Close())
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.ReportMetric(float64(info.Size())/float64(b.N)/benchRows, "B/row")
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkBegin begins runs that all append to one log, or do not.
func BenchmarkBegin(b *testing.B) {
	for name, sealed := range map[string]bool{"plain": false, "sealed": true} {
		b.Run(name, func(b *testing.B) {
			store, err := Open(b.Context(), filepath.Join(b.TempDir(), "landscape.db"), Options{Create: true})
			require.NoError(b, err)
			defer store.Close()
			landscapetest.BenchBegin(b, store, sealed)
		})
	}
}

// BenchmarkErrors records a chunk in which every row is refused.
func BenchmarkErrors(b *testing.B) {
	store, err := open(b.Context(), filepath.Join(b.TempDir(), "landscape.db"), true, pageBytes, known)
	require.NoError(b, err)
	defer store.Close()
	log := landscape.New(store, nil)
	scene := landscapetest.Scene{Run: "bench", Chunks: b.N, ChunkRows: benchRows, Way: func(int64) int { return 6 }}
	require.NoError(b, scene.Begin(b.Context(), log))
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		chunk, records := scene.Chunk(i)
		passage := scene.Passage(i)
		b.StartTimer()
		require.NoError(b, log.RecordChunk(b.Context(), chunk, records))
		require.NoError(b, log.RecordPassage(b.Context(), passage))
	}
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "errors/s")
}
