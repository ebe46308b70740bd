package keys_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/evidence/keys"
)

// TestNext: the key that is to follow another is made once, counts as the folder's for who knows its public key, and takes its place; the one before is kept.
func TestNext(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "keys")
	const name = "waymark.example/prod"
	first, err := keys.Generate(folder, keys.Log, name)
	require.NoError(t, err)
	_, err = keys.LoadAs(folder, keys.Log, "x")
	require.ErrorIs(t, err, keys.ErrNone)
	next, err := keys.Next(folder, keys.Log, name, "", "")
	require.NoError(t, err)
	again, err := keys.Next(folder, keys.Log, name, "", "")
	require.NoError(t, err)
	require.Equal(t, next.VKey, again.VKey)
	require.True(t, next.IsNext())
	require.False(t, first.IsNext())
	_, err = keys.Next(folder, keys.Log, name, "exec:/bin/sign", "none.pem")
	require.ErrorContains(t, err, filepath.Join(folder, "log.next.key")+" was made to take the place of the key, and is of another name or signer: remove it")
	for _, key := range []keys.Key{first, next} {
		loaded, err := keys.LoadAs(folder, keys.Log, key.VKey)
		require.NoError(t, err)
		require.Equal(t, key.Place, loaded.Place)
	}
	_, err = keys.LoadAs(folder, keys.Log, "x")
	require.ErrorIs(t, err, keys.ErrNone)

	require.NoError(t, os.Link(first.Place, keys.Kept(folder, keys.Log, first.KeyHash()))) // as a kill leaves it
	placed, old, err := next.Replace(folder)
	require.NoError(t, err)
	require.Equal(t, []string{next.VKey, first.Place}, []string{placed.VKey, placed.Place})
	require.Equal(t, keys.Kept(folder, keys.Log, first.KeyHash()), old)
	require.FileExists(t, old)
	require.NoFileExists(t, next.Place)
	info, err := os.Stat(old)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())

	third, err := keys.Next(folder, keys.Log, name, "", "")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(third.Place, 0o640))
	_, err = keys.Next(folder, keys.Log, name, "", "")
	require.ErrorAs(t, err, new(*keys.UnusableError))
	_, err = keys.LoadAs(folder, keys.Log, third.VKey)
	require.ErrorContains(t, err, "chmod 600 "+third.Place)
}
