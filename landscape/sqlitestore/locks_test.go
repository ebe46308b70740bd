package sqlitestore_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape/sqlitestore"
)

// TestOthersReadWhatIsOpenTwice lets a process open a landscape a second time, as a server does, and another process read it with a connection that could also write, as
// people do. That process is not the last one that has it open, so it leaves the write-ahead log alone, and what is committed afterwards is in the landscape.
func TestOthersReadWhatIsOpenTwice(t *testing.T) {
	shell := sqliteShell(t)
	path := filepath.Join(t.TempDir(), "landscape.db")
	healed := func() string {
		out, err := exec.CommandContext(t.Context(), shell, path, "select count(*) from heals").CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	require.NoError(t, openNew(t, path).Close()) // or else the file is empty, and all is in the write-ahead log
	first := openNew(t, path)
	require.NoError(t, first.Commit(t.Context(), heals(1, 1, 1)))
	second, err := sqlitestore.Open(t.Context(), path, sqlitestore.Options{})
	require.NoError(t, err)
	require.Equal(t, "1", healed())
	require.NoError(t, second.Close())
	require.Equal(t, "1", healed())
	require.FileExists(t, path+"-wal")

	require.NoError(t, first.Commit(t.Context(), heals(1, 2, 1)))
	require.Equal(t, "2", healed())
}
