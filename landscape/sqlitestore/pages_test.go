package sqlitestore

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// runStart is what puts a list of runs into order.
type runStart struct {
	Started landscape.Micros `db:"started_us,key"`
	landscape.RunHead
}

// runStatus is what finds runs by their status.
type runStatus struct {
	Is pipeline.RunStatus `db:"status,key"`
	landscape.RunHead
}

// publication is what finds outputs by when they were published.
type publication struct {
	At landscape.Micros `db:"published_us,key"`
	landscape.ArtifactRecord
}

// chunkByRow is what finds a chunk by a row.
type chunkByRow struct {
	InRun string `db:"run_id,key"`
	Of    string `db:"source,key"`
	From  int64  `db:"first_row,key"`
	landscape.Chunk
}

// TestPagesAreSearchedNotSorted holds that a page is looked up where it begins in a key or index.
func TestPagesAreSearchedNotSorted(t *testing.T) {
	store, err := Open(t.Context(), filepath.Join(t.TempDir(), "landscape.db"), Options{Create: true})
	require.NoError(t, err)
	defer store.Close()
	for _, c := range []struct {
		kind landscape.Record
		q    landscape.Query
	}{
		{runStart{}, landscape.Query{After: []any{int64(1), "r"}, Descending: true, Limit: 50}},
		{landscape.RunStart{}, landscape.Query{After: []any{int64(1), "r"}}},
		{runStatus{}, landscape.Query{Prefix: []any{"running"}, After: []any{"r"}, Limit: 50}},
		{landscape.LinkedRun{}, landscape.Query{Prefix: []any{"r"}}},
		{chunkByRow{}, landscape.Query{Prefix: []any{"r", "s"}, After: []any{int64(8)}, Descending: true, Limit: 1}},
		{landscape.ErrorHead{}, landscape.Query{Prefix: []any{"r"}, After: []any{"s", int64(1), int64(0), "n"}, Limit: 50}},
		{landscape.EffectEvent{}, landscape.Query{Prefix: []any{"r"}, After: []any{"sink", "s", int64(7)}}},
		{publication{}, landscape.Query{After: []any{int64(1)}}},
		{landscape.RowError{}, landscape.Query{Prefix: []any{"r", "s"}, After: []any{int64(1), int64(0), "n"}, Limit: 50}},
		{landscape.Effect{}, landscape.Query{Prefix: []any{"r"}, After: []any{"sink", "s", int64(7)}, Limit: 50}},
		{landscape.RunHead{}, landscape.Query{After: []any{"r"}}},
		{landscape.WayRecord{}, landscape.Query{Prefix: []any{"r"}, After: []any{"w"}, Descending: true, Limit: 1}},
	} {
		rows, err := store.read.Query("explain query plan "+selectSQL(landscape.TableOf(c.kind), c.q), arguments(c.q)...)
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
		require.Len(t, steps, 1, "nothing is sorted: %v", steps)
		require.True(t, strings.HasPrefix(steps[0], "SEARCH "), "%T: %s", c.kind, steps[0])
	}
}
