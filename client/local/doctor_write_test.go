package local

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/landscape/sqlitestore"
)

// TestUnwritable: each of the three that a run writes to is tried, and nothing is left behind.
func TestUnwritable(t *testing.T) {
	for _, name := range []string{"landscape.db", "temporal.db", "payloads", ""} {
		t.Run("without "+name, func(t *testing.T) {
			o := Options{State: Folder(t.TempDir())}.filled()
			store, err := sqlitestore.Open(t.Context(), o.State.File("landscape.db"), sqlitestore.Options{Create: true})
			require.NoError(t, err)
			require.NoError(t, store.Close())
			require.NoError(t, os.Mkdir(o.State.File("payloads"), 0o700))
			want := ""
			if name != "" {
				want = o.State.File(name)
				require.NoError(t, os.RemoveAll(want))
				obstruct(t, want)
			}
			before := names(t, string(o.State))
			path, err := doctor{Options: &o}.unwritable(t.Context())
			require.Equal(t, want, path)
			require.Equal(t, name == "", err == nil, "%v", err)
			require.Equal(t, before, names(t, string(o.State)))
		})
	}
}

// obstruct puts a folder where a database belongs, and a file where a folder belongs.
func obstruct(t *testing.T, path string) {
	t.Helper()
	if filepath.Ext(path) == ".db" {
		require.NoError(t, os.Mkdir(path, 0o700))
		return
	}
	require.NoError(t, os.WriteFile(path, nil, 0o600))
}

func names(t *testing.T, folder string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		names = append(names, path)
		return err
	}))
	return names
}

// TestReadOnlyRecord: a database that its file system or its mode keeps from changing is called read-only.
func TestReadOnlyRecord(t *testing.T) {
	require.Equal(t, "is read-only", whyUnwritable(&fs.PathError{Err: syscall.EROFS}))
	require.Equal(t, "is read-only", whyUnwritable(&fs.PathError{Err: syscall.EACCES}))
	require.Equal(t, "cannot be written", whyUnwritable(&fs.PathError{Err: syscall.ENOTDIR}))
	if os.Getuid() == 0 {
		t.Skip("nothing is read-only for root")
	}
	o := Options{State: Folder(t.TempDir())}.filled()
	path := o.State.File("landscape.db")
	store, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{Create: true})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, os.Chmod(path, 0o400))
	got := doctor{Options: &o}.state(t.Context())
	require.Equal(t, client.Unhealthy, got.State)
	require.Contains(t, got.Detail, path+" is read-only: ")
}
