package storage_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/pgstore"
	"waymark/tests/services"
	"waymark/tests/services/buckets"
	"waymark/tests/services/pg"
	"waymark/worker/storage"
)

func TestMain(m *testing.M) { os.Exit(services.Main(m)) }

func TestPostgresAndS3(t *testing.T) {
	database, bucket := pg.New(t), buckets.New(t)
	bucket.Setenv(t)
	o := storage.Options{Landscape: database.DSN(), Payloads: bucket.URL("records"), Create: true}

	_, err := storage.Open(t.Context(), o)
	missing, ok := errors.AsType[*storage.ServiceError](err)
	require.True(t, ok, "%v", err)
	require.ErrorIs(t, missing, landscape.ErrNotFound, "no schema is ever made here")
	require.ErrorContains(t, err, "waymark landscape migrate")

	other := o
	other.Landscape += "&schema=information_schema"
	_, err = storage.Open(t.Context(), other)
	require.ErrorAs(t, err, new(*landscape.UnfitError))
	_, ok = errors.AsType[*storage.ServiceError](err)
	require.False(t, ok, "no waiting cures it: %v", err)

	_, _, err = pgstore.Migrate(t.Context(), database.DSN())
	require.NoError(t, err)
	opened, err := storage.Open(t.Context(), o)
	require.NoError(t, err)
	require.NotContains(t, opened.Place, database.Password())
	require.Contains(t, opened.Place, database.Address())
	digest, err := opened.Payloads.Put(t.Context(), []byte("record"))
	require.NoError(t, err)
	runs, err := opened.Log.RecentRuns(t.Context(), nil, 0)
	require.NoError(t, err)
	require.Empty(t, runs)
	require.NoError(t, opened.Close())

	o.Create = false
	opened, err = storage.Open(t.Context(), o)
	require.NoError(t, err)
	data, err := opened.Payloads.Get(t.Context(), digest)
	require.NoError(t, err)
	require.Equal(t, "record", string(data))
	require.NoError(t, opened.Close())
}

func TestImpossibleURLFailsAtOnce(t *testing.T) {
	const canary = "hunter2canary"
	database := pg.New(t)
	_, _, err := pgstore.Migrate(t.Context(), database.DSN())
	require.NoError(t, err)
	for name, o := range map[string]storage.Options{
		"postgres":  {Landscape: "postgres://ada:" + canary + "@db:port/x", Payloads: "s3://bucket"},
		"parameter": {Landscape: "postgres://ada:" + canary + "@db/x?pool_max_conns=many", Payloads: "s3://bucket"},
		"s3":        {Landscape: database.DSN(), Payloads: "s3://bucket?pathstyle=true&secret=" + canary},
		"bucket":    {Landscape: database.DSN(), Payloads: "s3://ada:" + canary + "@bucket"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := storage.Open(t.Context(), o)
			_, ok := errors.AsType[*storage.URLError](err)
			require.True(t, ok, "%v", err)
			require.NotContains(t, err.Error(), canary)
		})
	}
}

func TestMissingServicesHideSecrets(t *testing.T) {
	const canary = "hunter2canary"
	database, bucket := pg.New(t), buckets.New(t)
	bucket.Setenv(t)
	_, _, err := pgstore.Migrate(t.Context(), database.DSN())
	require.NoError(t, err)
	for name, o := range map[string]storage.Options{
		"landscape": {Landscape: database.Through("127.0.0.1:1"), Payloads: bucket.URL("")},
		"password":  {Landscape: strings.Replace(database.DSN(), database.Password(), canary, 1), Payloads: bucket.URL("")},
		"payloads":  {Landscape: database.DSN(), Payloads: bucket.URLAt("http://127.0.0.1:1", "")},
		"bucket":    {Landscape: database.DSN(), Payloads: strings.Replace(bucket.URL(""), bucket.Name, "nosuch", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := storage.Open(t.Context(), o)
			service, ok := errors.AsType[*storage.ServiceError](err)
			require.True(t, ok, "%v", err)
			for _, text := range []string{err.Error(), service.Place} {
				require.NotContains(t, text, canary)
				require.NotContains(t, text, database.Password())
			}
		})
	}
}
