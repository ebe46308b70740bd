package embedded

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHolder: the process that has the lock is named, for as long as it has it, and to ask makes no file.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	requireHolder := func(pid int, held bool) {
		t.Helper()
		gotPID, gotHeld, err := Holder(path)
		require.NoError(t, err)
		require.Equal(t, pid, gotPID)
		require.Equal(t, held, gotHeld)
	}
	requireHolder(0, false)
	require.NoFileExists(t, path+".lock")
	l, err := acquire(path)
	require.NoError(t, err)
	requireHolder(os.Getpid(), true)
	require.NoError(t, l.release())
	requireHolder(0, false)
}

// TestHolderIsNotInTheWay: a lock can be had while others ask for its holder without end.
func TestHolderIsNotInTheWay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	l, err := acquire(path)
	require.NoError(t, err)
	require.NoError(t, l.release())
	done, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-done:
				ended <- nil
				return
			default:
				if _, _, err := Holder(path); err != nil {
					ended <- err
					return
				}
				time.Sleep(100 * time.Microsecond)
			}
		}
	}()
	for range 300 {
		l, err := acquire(path)
		require.NoError(t, err)
		require.NoError(t, l.release())
	}
	close(done)
	require.NoError(t, <-ended)
}
