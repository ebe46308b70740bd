package sqlitestore

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
)

// TestFolderThatCannotBeWritten: SQLite cannot even read there, and the error says what helps.
func TestFolderThatCannotBeWritten(t *testing.T) {
	folder, err := os.MkdirTemp("/tmp", "waymark-*") // which everybody may enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(os.Chmod(folder, 0o700), os.RemoveAll(folder))) })
	path := filepath.Join(folder, "landscape.db")
	store, err := Open(t.Context(), path, Options{Create: true})
	require.NoError(t, err)
	require.NoError(t, store.Close())
	require.NoError(t, os.Chmod(folder, 0o555))
	if os.Getuid() == 0 { // who may write everywhere
		require.NoError(t, os.Chmod(path, 0o644))
		const nobody = 65534
		require.NoError(t, syscall.Setresuid(-1, nobody, -1))
		defer func() { require.NoError(t, syscall.Setresuid(-1, 0, -1)) }()
	}
	_, err = Open(t.Context(), path, Options{Keep: true})
	require.ErrorIs(t, err, landscape.ErrReadOnly)
	require.ErrorContains(t, err, "copy the whole state folder and read the copy (--state)")
}

// TestReadOnly holds that every write says by name that it cannot be done.
func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := Open(t.Context(), path, Options{Create: true})
	require.NoError(t, err)
	scene := landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 10}
	require.NoError(t, scene.Begin(t.Context(), landscape.New(store, nil)))
	require.NoError(t, store.write.Close())
	store.write, err = connect(path, "ro", busyTimeout, integrity)
	store.writes, store.inserts = statements{}, inserts{}
	require.NoError(t, err)
	defer store.Close()
	log := landscape.New(store, nil)
	for name, err := range map[string]error{
		"insert": log.RecordEvent(t.Context(), "r", "seen", ""),
		"move":   log.StopRun(t.Context(), "r", "failed", "x"),
	} {
		require.ErrorIs(t, err, landscape.ErrReadOnly, name)
		require.ErrorContains(t, err, path+": the record cannot be written: "+
			"make the file, those of its name with -wal and -shm, and its folder writable", name)
	}
	_, err = log.Summary(t.Context(), "r")
	require.NoError(t, err, "reading continues")
}

// TestOpenDamaged holds that a damaged file is refused with a cure, and left as it is.
func TestOpenDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := Open(t.Context(), path, Options{Create: true})
	require.NoError(t, err)
	require.NoError(t, landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 2_000}.Play(t.Context(), landscape.New(store, nil)))
	require.NoError(t, store.Close())
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	noise := bytes.Repeat([]byte("noise"), 400)
	for name, c := range map[string]struct {
		at   int
		want string
	}{
		"its first bytes": {0, "not a SQLite file, or a damaged one: restore it"},
		"its schema":      {100, "the file is damaged: restore it from a copy, or start with another --state"},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := bytes.Clone(whole)
			copy(damaged[c.at:], noise)
			require.NoError(t, os.WriteFile(path, damaged, 0o600))
			_, err := Open(t.Context(), path, Options{Create: true})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, bytes.Equal(damaged, after))
		})
	}
}

// TestReadDamaged holds that a file that is damaged while it is open says so, too.
func TestReadDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := Open(t.Context(), path, Options{Create: true})
	require.NoError(t, err)
	require.NoError(t, landscapetest.Scene{Run: "r", Chunks: 1, ChunkRows: 2_000}.Play(t.Context(), landscape.New(store, nil)))
	require.NoError(t, store.Close())
	var root int64
	store, err = Open(t.Context(), path, Options{})
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, store.read.QueryRow(`select rootpage from sqlite_schema where name = 'errors'`).Scan(&root))
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = file.WriteAt(bytes.Repeat([]byte("noise"), 400), (root-1)*pageBytes)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	_, err = landscape.Select[landscape.RowError](t.Context(), store, "r")
	require.ErrorContains(t, err, "the file is damaged: restore it from a copy")
	require.ErrorContains(t, err, path)
}

// TestAnotherWriter says of a file that another process keeps locked for too long that the same may work later.
func TestAnotherWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "landscape.db")
	store, err := Open(t.Context(), path, Options{Create: true})
	require.NoError(t, err)
	defer store.Close()
	tx, err := store.begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback()) }()
	other, err := connect(path, "rw", 0, integrity)
	require.NoError(t, err)
	defer other.Close()
	_, err = other.BeginTx(t.Context(), nil)
	require.True(t, isBusy(err), err)
	require.ErrorIs(t, explain(path, err), landscape.ErrAway)
	require.True(t, isBusy(explain(path, err)), "it is tried again all the same")
}
