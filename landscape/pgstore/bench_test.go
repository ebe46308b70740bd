package pgstore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
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

// BenchmarkChunk records a chunk and its passage: two transactions, two columns of hashes. The metric is the growth of the database.
func BenchmarkChunk(b *testing.B) {
	store, db := create(b)
	log := landscape.New(store, nil)
	scene := mostlyGood("bench", b.N)
	require.NoError(b, scene.Begin(b.Context(), log))
	before := size(b, db.DSN())
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		chunk, records := scene.Chunk(i)
		passage := scene.Passage(i)
		b.StartTimer()
		require.NoError(b, log.RecordChunk(b.Context(), chunk, records))
		require.NoError(b, log.RecordPassage(b.Context(), passage))
	}
	b.ReportMetric(float64(size(b, db.DSN())-before)/float64(b.N)/benchRows, "B/row")
	b.ReportMetric(benchRows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

// BenchmarkBegin begins runs that all append to one log, or do not.
func BenchmarkBegin(b *testing.B) {
	for name, sealed := range map[string]bool{"plain": false, "sealed": true} {
		b.Run(name, func(b *testing.B) {
			store, _ := create(b)
			landscapetest.BenchBegin(b, store, sealed)
		})
	}
}

// BenchmarkErrors records a chunk in which every row is refused.
func BenchmarkErrors(b *testing.B) {
	store, _ := create(b)
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

// size returns how many bytes the database has.
func size(t testing.TB, url string) (bytes int64) {
	t.Helper()
	require.NoError(t, connect(t, url).QueryRow(t.Context(), `select pg_database_size(current_database())`).Scan(&bytes))
	return bytes
}

// BenchmarkMillion asks the questions that must stay fast, of a run with 1,015,808 rows.
func BenchmarkMillion(b *testing.B) {
	store, db := create(b)
	log, scene := landscape.New(store, nil), mostlyGood("million", 31)
	require.NoError(b, scene.PlayToEnd(b.Context(), log))
	conn := connect(b, db.Superuser())
	_, err := conn.Exec(b.Context(), `analyze; set jit = off`)
	require.NoError(b, err)
	const row = 900_001
	token := landscape.Token{Source: "strikes", Row: row}
	ask := func(name string, question func() error) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, question())
			}
		})
	}
	ask("sweep", func() error { _, err := log.Sweep(b.Context(), scene.Run, false); return err })
	ask("summary", func() error { _, err := log.Summary(b.Context(), scene.Run); return err })
	ask("way", func() error { _, err := log.WayOf(b.Context(), scene.Run, token); return err })
	ask("hash", func() error { _, _, err := log.HashAt(b.Context(), scene.Run, token, "score"); return err })
	ask("position", func() error { _, _, err := log.SinkPosition(b.Context(), scene.Run, token); return err })
	ask("line", func() error { _, err := log.SinkLine(b.Context(), scene.Run, "review", row); return err })
	ask("key", func() error {
		_, _, err := log.KeyCandidates(b.Context(), scene.Run, "strikes", map[string][][4]byte{"airport": {scene.Key(row)}})
		return err
	})
	answer := func(query string, args ...any) error {
		rows, err := conn.Query(b.Context(), query, args...)
		require.NoError(b, err)
		_, err = pgx.CollectRows(rows, pgx.RowToMap)
		return err
	}
	for _, view := range []string{"rows", "token_outcomes", "node_states", "routing_events"} {
		if view != "routing_events" { // which has no chunk
			ask("chunk and row of "+view, func() error {
				return answer(`select * from `+view+` where run_id = $1 and source = 'strikes' and chunk = $2 and row = $3`, scene.Run, (row-1)/benchRows, row)
			})
		}
		ask("row of "+view, func() error {
			return answer(`select * from `+view+` where run_id = $1 and source = 'strikes' and row = $2`, scene.Run, row)
		})
		ask("count of "+view, func() error { return answer(`select count(*) from `+view+` where run_id = $1`, scene.Run) })
	}
	ask("hashes of a node", func() error {
		return answer(`select count(output_hash) from node_states where run_id = $1 and node = 'score'`, scene.Run)
	})
	ask("deep sweep", func() error {
		found, err := log.Sweep(b.Context(), scene.Run, true)
		require.Empty(b, found)
		return err
	})
	require.NoError(b, log.FinishRun(b.Context(), scene.Run, pipeline.CompletedWithFailures, ""))
}
