package sqlitestore

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// later is what a later release might do: a table is made anew with one more column, and a view uses it.
const later = `
	-- A migration of the future.
	create table heals_next (
		digest text not null, at_us integer not null, reason text not null, set_aside text not null,
		host   text not null default '',
		primary key (digest, at_us)
	) strict, without rowid;
	insert into heals_next (digest, at_us, reason, set_aside) select digest, at_us, reason, set_aside from heals;
	drop table heals;
	alter table heals_next rename to heals;
	create view healed as select digest, host from heals;`

// TestALaterVersion brings a landscape with a run in it to a version that a later program makes.
func TestALaterVersion(t *testing.T) {
	ctx, path, newer := t.Context(), filepath.Join(t.TempDir(), "landscape.db"), known.With(later)
	store, err := openAs(ctx, path, Options{Create: true}, known)
	require.NoError(t, err)
	scene := landscapetest.Scene{Run: "before", Chunks: 2, ChunkRows: 30}
	require.NoError(t, scene.Play(ctx, landscape.New(store, nil)))
	require.NoError(t, store.Close())

	_, err = openAs(ctx, path, Options{Keep: true}, newer)
	require.ErrorContains(t, err,
		path+": its schema has version 1, this program makes version 2: bring it up to date with")
	store, err = openAs(ctx, path, Options{}, newer)
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
	require.Empty(t, differences, why)
	scene.Run = "after"
	require.NoError(t, scene.Play(ctx, log))
	require.NoError(t, store.Close())

	digests, err := recorded(ctx, path)
	require.NoError(t, err)
	require.Equal(t, newer[0].Digest+" "+newer[1].Digest, digests)
	for _, keep := range []bool{false, true} {
		_, err = Open(ctx, path, Options{Keep: keep})
		require.ErrorContains(t, err,
			path+": its schema has version 2, this program knows versions up to 1: use a newer")
	}
}

// TestMadeByOthers refuses what other migrations made, or what does not say which did, with what was found, and leaves it as it is.
func TestMadeByOthers(t *testing.T) {
	sample := filepath.Join(t.TempDir(), "landscape.db")
	store, err := Open(t.Context(), sample, Options{Create: true})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	made, err := os.ReadFile(sample)
	require.NoError(t, err)
	const unmarked, other = "is missing, or does not say which migrations made the schema", "has other migrations than this program"
	for name, c := range map[string]struct{ change, found string }{
		"no digest":         {`drop table schema_versions`, unmarked},
		"no migration":      {`drop trigger schema_versions_stay; delete from schema_versions`, unmarked},
		"another number":    {`drop trigger schema_versions_keep; update schema_versions set version = 5`, unmarked},
		"another migration": {`drop trigger schema_versions_keep; update schema_versions set sha256 = replace(sha256, 'a', 'b')`, other},
		"older migrations":  {`drop table schema_versions; insert into goose_db_version (version_id, is_applied) values (51, 1)`, unmarked},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "landscape.db")
			require.NoError(t, os.WriteFile(path, made, 0o600))
			db, err := connect(path, "rw", busyTimeout)
			require.NoError(t, err)
			_, err = db.Exec(c.change)
			require.NoError(t, err)
			require.NoError(t, db.Close())
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, opts := range []Options{{}, {Create: true}, {Keep: true}} {
				_, err := Open(t.Context(), path, opts)
				require.EqualError(t, err, "landscape "+path+": its table schema_versions "+c.found+": put a backup in its place, "+
					"or use the program that made it; or start with a new folder, or with a new file if --landscape names this one")
			}
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, before, after)
		})
	}
}
