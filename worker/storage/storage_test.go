package storage_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/payload"
	"waymark/tests/blank"
	"waymark/worker/storage"
)

// database is a landscape in memory that says what was asked of it.
type database struct {
	*blank.Driver
	path    string
	created bool
	closed  int
}

func (d *database) Close() error {
	d.closed++
	return nil
}

// open is the SQLite of these tests.
func (d *database) open(_ context.Context, path string, create bool) (landscape.Driver, error) {
	d.path, d.created = path, create
	return d, nil
}

func options(t *testing.T, d *database) storage.Options {
	t.Helper()
	folder := t.TempDir()
	return storage.Options{
		Landscape: "sqlite:" + filepath.Join(folder, "state", "landscape.db"), Payloads: "file:" + filepath.Join(folder, "state", "payloads"),
		Create: true, SQLite: d.open,
	}
}

func TestFilesAreMadeOnlyOnRequest(t *testing.T) {
	d := &database{Driver: blank.New(t)}
	o := options(t, d)
	o.Create = false
	_, err := storage.Open(t.Context(), o)
	require.ErrorIs(t, err, storage.ErrNoPayloads)
	require.False(t, d.created)
	require.Equal(t, 1, d.closed, "what was opened is closed")
	require.NoDirExists(t, filepath.Dir(d.path))

	o.Create = true
	opened, err := storage.Open(t.Context(), o)
	require.NoError(t, err)
	require.True(t, d.created)
	require.Equal(t, d.path, opened.Place)
	digest, err := opened.Payloads.Put(t.Context(), []byte("record"))
	require.NoError(t, err)
	require.NoError(t, opened.Close())
	require.Equal(t, 2, d.closed)

	o.Create = false
	opened, err = storage.Open(t.Context(), o)
	require.NoError(t, err)
	data, err := opened.Payloads.Get(t.Context(), digest)
	require.NoError(t, err)
	require.Equal(t, "record", string(data))
	require.NoError(t, opened.Close())
}

func TestALandscapeCanBeAskedWithoutItsPayloads(t *testing.T) {
	o := options(t, &database{Driver: blank.New(t)})
	o.Create = false
	opened, err := storage.OpenLandscape(t.Context(), o)
	require.NoError(t, err)
	require.Nil(t, opened.Payloads)
	runs, err := opened.Log.RecentRuns(t.Context(), nil, 0)
	require.NoError(t, err)
	require.Empty(t, runs)
	require.NoError(t, opened.Close())
}

func TestNoLandscapeIsSaid(t *testing.T) {
	o := options(t, nil)
	o.SQLite = func(context.Context, string, bool) (landscape.Driver, error) { return nil, landscape.ErrNotFound }
	_, err := storage.Open(t.Context(), o)
	require.ErrorIs(t, err, storage.ErrNoLandscape)
}

func TestAProgramWithoutSQLiteSaysSo(t *testing.T) {
	o := options(t, nil)
	o.SQLite = nil
	_, err := storage.Open(t.Context(), o)
	wrong, ok := errors.AsType[*storage.URLError](err)
	require.True(t, ok)
	require.Contains(t, wrong.Problem, "waymark worker")
}

func TestAWrongPayloadURLMakesNothing(t *testing.T) {
	d := &database{Driver: blank.New(t)}
	o := options(t, d)
	o.Payloads = "gs://bucket"
	_, err := storage.Open(t.Context(), o)
	require.ErrorContains(t, err, `payloads: unknown scheme "gs"`)
	require.Empty(t, d.path, "the landscape is not opened")
}

func TestAReplacedPayloadIsOnRecord(t *testing.T) {
	d := &database{Driver: blank.New(t)}
	o := options(t, d)
	opened, err := storage.Open(t.Context(), o)
	require.NoError(t, err)
	digest := payload.Of([]byte("record"))
	shard := filepath.Join(filepath.Dir(d.path), "payloads", "objects", string(digest[:2]))
	require.NoError(t, os.Mkdir(shard, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(shard, string(digest)), []byte("poison"), 0o600))

	_, err = opened.Payloads.Put(t.Context(), []byte("record"))
	require.NoError(t, err)
	var heals []landscape.Heal
	require.NoError(t, d.Read(t.Context(), landscape.Heal{}, landscape.Query{}, func(r landscape.Record) bool {
		heal, ok := r.(landscape.Heal)
		require.True(t, ok)
		heals = append(heals, heal)
		return true
	}))
	require.Len(t, heals, 1)
	require.Equal(t, string(digest), heals[0].Digest)
	require.NoError(t, opened.Close())
}
