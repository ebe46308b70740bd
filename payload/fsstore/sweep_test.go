package fsstore_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/payload"
	"waymark/payload/fsstore"
)

// plantTemp makes a temp file of the given age in the shard of d.
func plantTemp(t *testing.T, dir string, d payload.Digest, name string, age time.Duration) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(objectPath(dir, d)), name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("half"), 0o400))
	then := time.Now().Add(-age)
	require.NoError(t, os.Chtimes(path, then, then))
	return path
}

func TestSweep(t *testing.T) {
	s, dir := create(t)
	kept := payload.Of([]byte("kept"))
	_, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("kept"))
	require.NoError(t, err)
	abandoned := plantTemp(t, dir, kept, "tmp-abandoned", 2*time.Hour)
	alone := plantTemp(t, dir, payload.Of(nil), "tmp-alone", 2*time.Hour)
	young := plantTemp(t, dir, kept, "tmp-young", time.Minute)
	living := plantTemp(t, dir, kept, "tmp-living", 2*time.Hour)
	writer, err := os.Open(living)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(writer.Fd()), syscall.LOCK_EX))

	removed, err := s.Sweep(t.Context(), fsstore.DefaultGrace)
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	require.NoFileExists(t, abandoned)
	require.NoDirExists(t, filepath.Dir(alone), "the shard is empty now")
	require.FileExists(t, young)
	require.FileExists(t, living)
	require.FileExists(t, objectPath(dir, kept))

	require.NoError(t, writer.Close())
	removed, err = s.Sweep(t.Context(), fsstore.DefaultGrace)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.NoFileExists(t, living)
}

// TestSweepLeavesStrangersAlone: only regular files are temp files, however they are called.
func TestSweepLeavesStrangersAlone(t *testing.T) {
	s, dir := create(t)
	d, err := payload.New(s, payload.Options{}).Put(t.Context(), []byte("x"))
	require.NoError(t, err)
	shard := filepath.Dir(objectPath(dir, d))
	require.NoError(t, os.Mkdir(filepath.Join(shard, "tmp-folder"), 0o700))
	require.NoError(t, syscall.Mkfifo(filepath.Join(shard, "tmp-fifo"), 0o600))
	require.NoError(t, os.Symlink(string(d), filepath.Join(shard, "tmp-link")))
	removed, err := s.Sweep(t.Context(), -time.Hour)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.FileExists(t, objectPath(dir, d))
}
