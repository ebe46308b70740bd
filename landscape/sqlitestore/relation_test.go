package sqlitestore_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
	"waymark/tests/sample"
)

// TestRelationsAreTheViews holds that what is read of a view is what the database itself says, in order: also of runs that are not complete, of chunks
// with several slices and many ways, and of records that somebody damaged.
func TestRelationsAreTheViews(t *testing.T) {
	held := func(t *testing.T, g graph) []error {
		return []error{g.begin(t.Context()), g.read(t.Context()), g.items(t.Context())}
	}
	for name, play := range map[string]func(*testing.T, landscape.Driver){
		"documented": document,
		"read":       played(func(t *testing.T, g graph) []error { return []error{g.begin(t.Context()), g.read(t.Context())} }),
		"held":       played(held),
		"slices": func(t *testing.T, d landscape.Driver) {
			require.NoError(t, sliced().PlayToEnd(t.Context(), landscape.New(d, nil)))
		},
		"branches in one part": played(func(t *testing.T, g graph) []error { return branchesInOnePart(t, g) }),
		"many ways":            manyWays,
	} {
		t.Run(name, func(t *testing.T) {
			store, path := create(t)
			defer store.Close()
			play(t, store)
			landscapetest.RequireViews(t, store, stranger(t, path, ""), "")
		})
	}
}

// sliced has two slices in a chunk: by day in one chunk, of 1,030 rows.
func sliced() landscapetest.GraphScene {
	if sample.All() {
		return landscapetest.GraphScene{Run: "r", Chunks: 2, ChunkRows: 1_100}
	}
	return landscapetest.GraphScene{Run: "r", Chunks: 1, ChunkRows: 1_030}
}

func played(steps func(*testing.T, graph) []error) func(*testing.T, landscape.Driver) {
	return func(t *testing.T, d landscape.Driver) {
		for _, err := range steps(t, graph{run: "r", log: landscape.New(d, func() time.Time { return time.UnixMicro(int64(noon)) })}) {
			require.NoError(t, err)
		}
	}
}

// manyWays records a chunk whose tokens have more ways than one byte can number.
func manyWays(t *testing.T, d landscape.Driver) {
	log, scene := landscape.New(d, nil), landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 600, Way: func(int64) int { return 0 }}
	require.NoError(t, scene.Begin(t.Context(), log))
	require.NoError(t, scene.Read(t.Context(), log))
	p := scene.Passage(0)
	routes := &p.Lanes[0]
	only := routes.Ways[0]
	routes.Ways = nil
	for i := range routes.Codes {
		if i < 300 {
			way := only
			way.Steps = slices.Clone(only.Steps)
			way.Steps[len(way.Steps)-1].Label = fmt.Sprint("label ", i)
			routes.Ways = append(routes.Ways, way)
		}
		routes.Codes[i] = uint16(i % 300)
	}
	require.NoError(t, log.RecordPassage(t.Context(), p))
	require.NoError(t, scene.Write(t.Context(), log, 0))
}

// TestViewsOfDamagedRecords does the same with records that are missing. A graph that is not whole is an error.
func TestViewsOfDamagedRecords(t *testing.T) {
	for _, damage := range sample.Of(7, []string{
		`delete from chunk_rows where slice = 0`,
		`delete from hashes where slice = 1`,
		`delete from way_steps where seq = 1`,
		`delete from chunk_ways where code = 0`,
		`delete from passages where chunk = 1`,
		`delete from members where chunk = 0`,
		`delete from batches where batch = 2`,
		`delete from merges`,
		`delete from edges`,
		`delete from effects where kind = 'write'`,
		`delete from errors`,
		`update passages set way_codes = substr(way_codes, 1, 5)`,
		`update members set batches = substr(batches, 1, 10)`,
	}) {
		damaged(t, damage, func(store *sqlitestore.Store, db *sql.DB) { landscapetest.RequireViews(t, store, db, "") })
	}
	for _, damage := range []string{`delete from ways`, `delete from nodes`} {
		damaged(t, damage, func(store *sqlitestore.Store, _ *sql.DB) {
			require.ErrorIs(t, readAll(t, store), landscape.ErrIncomplete, damage)
		})
	}
	for _, column := range sample.Of(3, []string{"chunk_rows set offsets", "chunk_rows set lines", "chunk_rows set lengths", "chunk_rows set raw_hashes", "hashes set hashes", "hashes set slots"}) {
		damaged(t, "update "+column+" = x'00'", func(store *sqlitestore.Store, _ *sql.DB) {
			require.NoError(t, readAll(t, store), "what is missing of a column has no value")
		})
	}
}

func readAll(t *testing.T, store *sqlitestore.Store) (err error) {
	t.Helper()
	for _, r := range landscape.Relations() {
		err = errors.Join(err, store.ReadRelation(t.Context(), r, "", func([]any) bool { return true }))
	}
	return err
}

// damaged changes a record as only its owner can.
func damaged(t *testing.T, damage string, look func(*sqlitestore.Store, *sql.DB)) {
	t.Helper()
	path := unguarded(t, "slices", func(t *testing.T, store *sqlitestore.Store) {
		require.NoError(t, sliced().PlayToEnd(t.Context(), landscape.New(store, nil)))
	})
	store, db := reopened(t, path), stranger(t, path, "?_pragma=ignore_check_constraints(1)")
	_, err := db.Exec(damage)
	require.NoError(t, err, damage)
	look(store, db)
}
