package sqlitestore_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/sqlitestore"
)

func TestSmoke(t *testing.T) {
	ctx := t.Context()
	s, err := sqlitestore.Open(ctx, filepath.Join(t.TempDir(), "l.db"), sqlitestore.Options{Create: true})
	require.NoError(t, err)
	defer s.Close()
	log := landscape.New(s, nil)
	scene := landscapetest.Scene{Run: "r1", Chunks: 3, ChunkRows: 100}
	require.NoError(t, scene.Play(ctx, log))
	require.NoError(t, scene.Play(ctx, log))
	f, err := log.Sweep(ctx, "r1", true)
	require.NoError(t, err)
	require.Empty(t, f)
	sum, err := log.Summary(ctx, "r1")
	require.NoError(t, err)
	t.Logf("%+v", sum)
}
