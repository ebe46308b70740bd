package embedded

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHolder: the process that has the lock is named with its server's address, for as long as it has it, and to ask makes no
// file. Nobody takes the address of an earlier process for that of the present one.
func TestHolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "temporal.db")
	requireHolder := func(process Process, held bool) {
		t.Helper()
		gotProcess, gotHeld, err := Holder(path)
		require.NoError(t, err)
		require.Equal(t, process, gotProcess)
		require.Equal(t, held, gotHeld)
	}
	requireHolder(Process{}, false)
	require.NoFileExists(t, path+".lock")
	for address, queue := range map[string]string{"127.0.0.1:65535": "", "127.0.0.1:7": "waymark"} {
		l, err := acquire(path)
		require.NoError(t, err)
		requireHolder(Process{PID: os.Getpid()}, true)
		require.NoError(t, l.publish(address, queue))
		requireHolder(Process{os.Getpid(), address, queue}, true)
		_, err = acquire(path)
		inUse, ok := errors.AsType[*InUseError](err)
		require.True(t, ok)
		require.Equal(t, InUseError{path, Process{os.Getpid(), address, queue}}, *inUse)
		require.NoError(t, l.release())
		requireHolder(Process{}, false)
	}
}

// TestHalfAnAddress: an address that is being written counts as none.
func TestHalfAnAddress(t *testing.T) {
	for text, want := range map[string]Process{
		"": {}, "12": {PID: 12}, "12\n": {PID: 12}, "12\n127.0.0.1:1": {PID: 12}, "12\n127.0.0.1:17\n": {12, "127.0.0.1:17", ""},
		"x\ny\nz\n": {0, "y", "z"},
	} {
		file, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		defer file.Close()
		_, err = file.WriteString(text)
		require.NoError(t, err)
		_, err = file.Seek(0, io.SeekStart)
		require.NoError(t, err)
		require.Equal(t, want, signature(file), "%q", text)
	}
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
