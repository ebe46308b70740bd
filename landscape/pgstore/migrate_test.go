package pgstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/tests/services/pg"
)

// later is what a later release might do: a table gets a column, and a view uses it.
const later = `
	-- A migration of the future.
	alter table heals add column host text collate "C" not null default '';
	create view healed as select digest, host from heals;`

// TestALaterVersion brings a landscape with a run in it to a version that a later program makes.
func TestALaterVersion(t *testing.T) {
	ctx, db := t.Context(), pg.New(t)
	present, err := parse(db.DSN())
	require.NoError(t, err)
	future := present
	future.chain = known.With(later)
	_, _, err = present.migrate(ctx)
	require.NoError(t, err)
	store, err := present.open(ctx)
	require.NoError(t, err)
	scene := landscapetest.Scene{Run: "before", Chunks: 2, ChunkRows: 30}
	require.NoError(t, scene.Play(ctx, landscape.New(store, nil)))
	require.NoError(t, store.Close())

	_, err = future.open(ctx)
	require.ErrorContains(t, err, "its schema has version 1, this program needs version 2: its owner, ")
	require.ErrorContains(t, future.grant(ctx, Roles{}), "run `waymark landscape migrate` first")
	from, to, err := future.migrate(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{1, 2}, []int64{from, to})
	store, err = future.open(ctx)
	require.NoError(t, err)
	log := landscape.New(store, nil)
	found, err := log.Sweep(ctx, "before", true)
	require.NoError(t, err)
	require.Empty(t, found)
	landscapetest.RequireSealed(t, log, "before")
	fits, err := landscapetest.FitsSeal(ctx, log.Reader, "before")
	require.NoError(t, err)
	require.True(t, fits)
	differences, why, err := log.CompareSchema(ctx)
	require.NoError(t, err)
	require.Empty(t, why)
	require.Empty(t, differences)
	scene.Run = "after"
	require.NoError(t, scene.Play(ctx, log))
	require.NoError(t, store.Close())

	const newer = "its schema has version 2, this program knows versions up to 1: use a newer Waymark"
	_, err = present.open(ctx)
	require.ErrorContains(t, err, newer)
	_, _, err = present.migrate(ctx)
	require.ErrorContains(t, err, newer)
	require.ErrorContains(t, present.grant(ctx, Roles{}), newer)
}
