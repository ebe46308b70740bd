package storage_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/worker/storage"
)

func TestURLs(t *testing.T) {
	for url, want := range map[string]string{
		"mysql://user:hunter2@db/x":    `landscape: unknown scheme "mysql"; supported: sqlite:PATH, postgres://USER@HOST/DATABASE`,
		"some/file.db":                 "landscape has no scheme; supported: sqlite:PATH, postgres://USER@HOST/DATABASE",
		"sqlite:":                      "landscape names nothing; supported: sqlite:PATH, postgres://USER@HOST/DATABASE",
		"postgres://":                  "landscape names nothing; supported: sqlite:PATH, postgres://USER@HOST/DATABASE",
		"file:records":                 `landscape: unknown scheme "file"; supported: sqlite:PATH, postgres://USER@HOST/DATABASE`,
		"postgres://user:hunter2@db/x": "landscape names no file of this machine, but postgres://db/x",
		"postgresql://u:hunter2@db/x":  "landscape names no file of this machine, but postgres://db/x",
		"postgres://u:hunter2@[db/x":   "landscape names no file of this machine, but postgres://…",
	} {
		_, err := storage.LandscapePath(url)
		require.EqualError(t, err, want)
	}
	path, err := storage.LandscapePath("sqlite:some/a:b.db")
	require.NoError(t, err)
	require.Equal(t, "some/a:b.db", path)

	_, err = storage.PayloadsPath("s3://bucket/prefix?endpoint=http://127.0.0.1:7070")
	require.EqualError(t, err, "payloads names no file of this machine, but s3://bucket/prefix")
	path, err = storage.PayloadsPath("file:/")
	require.NoError(t, err)
	require.Equal(t, "/", path)
}

func TestCheckFindsWhatIsWrongWithURLs(t *testing.T) {
	good := storage.Options{Landscape: "postgres://me@db/record", Payloads: "s3://bucket/prefix"}
	require.NoError(t, good.Check())
	for _, o := range []storage.Options{
		{Landscape: "mysql://db", Payloads: good.Payloads}, {Landscape: "postgres://u:hunter2@[db/x", Payloads: good.Payloads},
		{Landscape: good.Landscape, Payloads: "s3://"}, {Landscape: good.Landscape, Payloads: "s3://bucket?nosuch=1"}, {},
	} {
		_, ok := errors.AsType[*storage.URLError](o.Check())
		require.True(t, ok, "%+v", o)
	}
}
