package fsstore_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
	"waymark/payload/payloadtest"
)

// create returns a new Store in a new folder, and the folder.
func create(t *testing.T) (*fsstore.Store, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "payloads")
	s, err := fsstore.Create(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s, dir
}

func TestBackend(t *testing.T) {
	payloadtest.Run(t, func(t *testing.T) payloadtest.Subject {
		s, dir := create(t)
		t.Cleanup(func() { requireNoTemps(t, dir) })
		return payloadtest.Subject{Backend: s, Rot: func(t *testing.T, key string, data []byte) {
			rewrite(t, objectPath(dir, payload.Digest(key)), data)
		}}
	})
}

// rewrite changes the bytes of an object, which is read-only, and nothing else of it: not even its times.
func rewrite(t *testing.T, path string, data []byte) {
	t.Helper()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(path, 0o600))
	require.NoError(t, os.WriteFile(path, data, 0o600))
	require.NoError(t, os.Chmod(path, info.Mode()))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func requireNoTemps(t *testing.T, dir string) {
	t.Helper()
	require.Empty(t, glob(t, filepath.Join(dir, "objects", "*", "tmp-*")))
}

func objectPath(dir string, d payload.Digest) string {
	return filepath.Join(dir, "objects", string(d[:2]), string(d))
}

func TestOpenRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(t *testing.T, dir string)
		message string
	}{
		"missing":        {func(t *testing.T, dir string) {}, "no such file"},
		"a file":         {func(t *testing.T, dir string) { require.NoError(t, os.WriteFile(dir, nil, 0o600)) }, "is not a folder"},
		"a link":         {func(t *testing.T, dir string) { require.NoError(t, os.Symlink(t.TempDir(), dir)) }, "is a symbolic link"},
		"group-writable": {func(t *testing.T, dir string) { mkdir(t, dir, 0o770) }, "run: chmod go-w"},
		"world-writable": {func(t *testing.T, dir string) { mkdir(t, dir, 0o702) }, "run: chmod go-w"},
		"objects is a link": {func(t *testing.T, dir string) {
			mkdir(t, dir, 0o700)
			require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "objects")))
		}, "is a symbolic link"},
		"quarantine is world-writable": {func(t *testing.T, dir string) {
			mkdir(t, dir, 0o700)
			mkdir(t, filepath.Join(dir, "quarantine"), 0o777)
		}, "run: chmod go-w"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "payloads")
			test.prepare(t, dir)
			_, err := fsstore.Open(dir)
			require.ErrorContains(t, err, test.message)
			require.ErrorContains(t, err, dir)
		})
	}
}

func mkdir(t *testing.T, dir string, mode os.FileMode) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.Chmod(dir, mode))
}

func TestOpenDoesNotCreate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "payloads")
	_, err := fsstore.Open(dir)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoDirExists(t, dir)
}

func TestObjectsSurviveReopening(t *testing.T) {
	s, dir := create(t)
	d, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("hello"))
	require.NoError(t, err)
	again, err := fsstore.Create(dir)
	require.NoError(t, err)
	defer again.Close()
	got, err := payload.New(again, payload.Options{}).Get(t.Context(), d)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
}

func TestObjectsAreReadOnlyFilesNamedByTheirHash(t *testing.T) {
	s, dir := create(t)
	d, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("hello"))
	require.NoError(t, err)
	require.EqualValues(t, "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", d)
	info, err := os.Lstat(objectPath(dir, d))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o400), info.Mode())
}
