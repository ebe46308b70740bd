package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// snapshots holds that a snapshot shows one moment, whatever is committed meanwhile, and who reads beside it the rest.
func snapshots(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := begun(t, d, Scene{Run: "before"})
	ids := func(r *landscape.Reader) (ids []string) {
		require.NoError(t, r.RunIDs(ctx, func(id string) bool { ids = append(ids, id); return true }))
		return ids
	}
	broken := landscape.ErrNotFound
	err := log.Snapshot(ctx, func(at *landscape.Reader) error {
		require.Equal(t, []string{"before"}, ids(at))
		begun(t, d, Scene{Run: "meanwhile"})
		require.Equal(t, []string{"before"}, ids(at))
		_, err := at.Run(ctx, "meanwhile")
		require.ErrorIs(t, err, landscape.ErrNotFound)
		require.Len(t, ids(log.Reader), 2)
		return broken
	})
	require.Equal(t, broken, err)
	require.NoError(t, log.Snapshot(ctx, func(at *landscape.Reader) error {
		require.Len(t, ids(at), 2)
		return nil
	}))
}
