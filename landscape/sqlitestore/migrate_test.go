package sqlitestore_test

import (
	"compress/gzip"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// old returns the path of a copy of a landscape with a schema that was once in use. It holds two runs over the graph of
// landscapetest: done is complete; going has read 3 chunks of 20 rows, of which 2 passed and 1 was written. From schema 7 on, going has
// failed, and a third run, graph, forks, joins and gathers, and is complete.
func old(t *testing.T, schema int) string {
	t.Helper()
	packed, err := os.Open(fmt.Sprintf("testdata/schema%d.db.gz", schema))
	require.NoError(t, err)
	defer packed.Close()
	reader, err := gzip.NewReader(packed)
	require.NoError(t, err)
	data, err := io.ReadAll(reader)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "landscape.db")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

// answers asks every view that was there in schema 3 for the columns that it had.
//
// The hash with which a refused row came to a sink is left out: schema 3 cut it from the wrong place.
func answers(t *testing.T, db *sql.DB, columns map[string]string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for view, list := range columns {
		where := ""
		if view == "node_states" {
			where = ` where not (kind = 'sink' and node = 'rejects')`
		}
		var all string
		query := `select coalesce(group_concat(record, x'0a'), '') from (select ` + list + ` as record from ` + view + where + ` order by 1)`
		require.NoError(t, db.QueryRow(query).Scan(&all), view)
		found[view] = all
	}
	return found
}

// viewColumns returns the columns of every view, and of tables that were rebuilt or grew, as one expression.
func viewColumns(t *testing.T, db *sql.DB) map[string]string {
	t.Helper()
	rows, err := db.Query(`
		select v.name, group_concat('quote(' || c.name || ')', ' || ''|'' || ')
		from sqlite_schema v join pragma_table_info(v.name) c where v.type = 'view' or v.name in ('runs', 'effects', 'effect_events', 'folds', 'actions') group by v.name`)
	require.NoError(t, err)
	defer rows.Close()
	columns := map[string]string{}
	for rows.Next() {
		var view, list string
		require.NoError(t, rows.Scan(&view, &list))
		columns[view] = list
	}
	require.NoError(t, rows.Err())
	return columns
}

// oldest is the number of the schema from which most is to be brought up to date; by day the later ones are left out.
const oldest = 3

// TestOldLandscape asks a landscape every old question before and after it was brought up to date.
func TestOldLandscape(t *testing.T) {
	for schema, views := range map[int]int{oldest: 11 + 4, 7: 17 + 5, 11: 19 + 5} {
		t.Run(fmt.Sprint("schema ", schema), func(t *testing.T) {
			if schema > oldest {
				sample.Rarely(t)
			}
			oldLandscape(t, old(t, schema), views)
		})
	}
}

func oldLandscape(t *testing.T, path string, views int) {
	db := stranger(t, path, "")
	columns := viewColumns(t, db)
	require.Len(t, columns, views)
	before := answers(t, db, columns)
	require.NoError(t, db.Close())

	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	db = stranger(t, path, "")
	after := answers(t, db, columns)
	for view, want := range before {
		require.True(t, want != "" || view == "run_links", "%s says nothing; none of the runs is linked", view)
		require.Equal(t, want, after[view], view)
	}
	var broken int
	require.NoError(t, db.QueryRow(`select count(*) from pragma_foreign_key_check`).Scan(&broken))
	require.Zero(t, broken)
	oldQuestions(t, landscape.New(store, nil))
}

func oldQuestions(t *testing.T, log *landscape.Log) {
	t.Helper()
	findings, err := log.Sweep(t.Context(), "done", true)
	require.NoError(t, err)
	require.Nil(t, findings)
	run, err := log.Run(t.Context(), "done")
	require.NoError(t, err)
	require.Equal(t, landscape.Run{}, landscape.Run{RunHead: landscape.RunHead{Epoch: run.Epoch, Final: run.Final}, File: run.File, Parent: run.Parent, Link: run.Link})
	summary, err := log.Summary(t.Context(), "done")
	require.NoError(t, err)
	require.EqualValues(t, 60, summary.Rows)
	require.EqualValues(t, 30, summary.Failed)
}

// TestOldRunGoesOn holds that what comes over is what would be recorded today: a complete run is recorded again without a
// difference, and one that was going on, or had failed, is recorded to its end.
func TestOldRunGoesOn(t *testing.T) {
	for _, schema := range sample.Of(3, []int{oldest, 7, 11}) {
		t.Run(fmt.Sprint("schema ", schema), func(t *testing.T) { oldRunGoesOn(t, old(t, schema)) })
	}
}

func oldRunGoesOn(t *testing.T, path string) {
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.NoError(t, err)
	defer store.Close()
	log := landscape.New(store, nil)
	require.NoError(t, log.TakeUp(t.Context(), landscape.Resumption{Run: "going", Epoch: 1, Claim: "c"}))
	for run, s := range map[string]interface {
		Play(ctx context.Context, log *landscape.Log) error
	}{
		"done":  landscapetest.Scene{Run: "done", Chunks: 2, ChunkRows: 30},
		"going": landscapetest.Scene{Run: "going", Chunks: 3, ChunkRows: 20},
		"graph": landscapetest.GraphScene{Run: "graph", Chunks: 3, ChunkRows: 6},
	} {
		require.NoError(t, s.Play(t.Context(), log))
		findings, err := log.Sweep(t.Context(), run, true)
		require.NoError(t, err)
		require.Nil(t, findings)
	}
	runs, err := log.RecentRuns(t.Context(), nil, 0)
	require.NoError(t, err)
	for _, run := range runs {
		require.Equal(t, pipeline.CompletedWithFailures, run.Status, run.ID)
	}
}

// TestOldLandscapeWithoutIntegrity holds that records which point nowhere are not carried over in silence.
func TestOldLandscapeWithoutIntegrity(t *testing.T) {
	path := old(t, 3)
	execute(t, path, `insert into actions values ('nobody', 0, 'v', '', '', 1)`)
	_, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.ErrorContains(t, err, "records point to others that are not there")
	var tables string
	require.NoError(t, stranger(t, path, "").QueryRow(`select group_concat(name) from pragma_table_info('passages')`).Scan(&tables))
	require.False(t, strings.Contains(tables, "lane"), "it stays as it was: %s", tables)
}
