package sqlitestore

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/interop"
	"waymark/landscape"
	"waymark/pipeline"
)

// BenchmarkMillion asks the questions that must stay fast, of a run with 1,015,808 rows.
func BenchmarkMillion(b *testing.B) {
	path := filepath.Join(b.TempDir(), "landscape.db")
	store, err := open(b.Context(), path, true, pageBytes, known)
	require.NoError(b, err)
	defer store.Close()
	log, scene := landscape.New(store, nil), mostlyGood("million", 31)
	require.NoError(b, scene.PlayToEnd(b.Context(), log))
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
	for _, view := range []string{"rows", "token_outcomes", "node_states", "routing_events"} {
		ask("view "+view, func() error {
			rows, err := store.read.Query(`select * from `+view+` where run_id = ? and source = 'strikes' and row = ?`, scene.Run, row)
			require.NoError(b, err)
			defer func() { require.NoError(b, rows.Close()) }()
			require.True(b, rows.Next())
			return rows.Err()
		})
	}
	ask("parquet", func() error {
		_, err := interop.Parquet(b.Context(), log.Reader, scene.Run, b.TempDir())
		return err
	})
	ask("deep sweep", func() error {
		found, err := log.Sweep(b.Context(), scene.Run, true)
		require.Empty(b, found)
		return err
	})
	require.NoError(b, log.FinishRun(b.Context(), scene.Run, pipeline.CompletedWithFailures, ""))
}
