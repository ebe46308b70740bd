package local_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
)

// TestClosedHomesLeaveNothing: a process that opens a Home, runs something and closes it, again and again, has no more goroutines for it.
func TestClosedHomesLeaveNothing(t *testing.T) {
	folder := local.Folder(t.TempDir())
	cycle := func() {
		home, err := local.Open(t.Context(), local.Options{State: folder})
		require.NoError(t, err)
		execution, err := home.Start(t.Context(), client.StartRequest{File: document(t, 1)})
		require.NoError(t, err)
		_, err = execution.Wait(t.Context())
		require.NoError(t, err)
		require.NoError(t, execution.Close())
		require.NoError(t, home.Close())
	}
	cycle() // what stays for the whole process comes with the first
	before := runtime.NumGoroutine()
	for range 3 {
		cycle()
	}
	end := time.Now().Add(2 * time.Minute)
	for runtime.NumGoroutine() > before && time.Now().Before(end) { // require.Eventually has one of its own
		time.Sleep(50 * time.Millisecond)
	}
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
}
