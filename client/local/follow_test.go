package local_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
)

// folderVariable and fileVariable tell another process of this test where to run what.
const (
	folderVariable = "WAYMARK_TEST_STATE"
	fileVariable   = "WAYMARK_TEST_FILE"
)

// TestAnotherProcess is the process that TestFollowKilled kills.
func TestAnotherProcess(t *testing.T) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		t.Skip("only the other process does it")
	}
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(folder)})
	require.NoError(t, err)
	execution, err := home.Start(t.Context(), client.StartRequest{Run: "killed", File: os.Getenv(fileVariable)})
	require.NoError(t, err)
	_, err = execution.Wait(t.Context())
	require.NoError(t, err)
}

// TestFollowKilled: a follower learns that the process that executed the run was killed, and that the run can be resumed.
func TestFollowKilled(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	other := exec.Command(os.Args[0], "-test.run=^TestAnotherProcess$")
	other.Env = append(os.Environ(), folderVariable+"="+folder, fileVariable+"="+document(t, 20_000))
	require.NoError(t, other.Start())
	t.Cleanup(func() { _ = other.Process.Kill() })
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(folder)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	var execution *client.Execution
	require.Eventually(t, func() bool {
		execution, err = home.Follow(t.Context(), "killed")
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	t.Cleanup(func() { require.NoError(t, execution.Close()) })
	var end *client.Ending
	for event, err := range execution.Follow(t.Context()) {
		require.NoError(t, err)
		if event.Kind == client.ProgressEvent && event.Progress.Rows > 0 && other.ProcessState == nil {
			require.NoError(t, other.Process.Kill())
			require.Error(t, other.Wait())
		}
		require.NotEqual(t, client.StalledEvent, event.Kind)
		end = event.Ending
	}
	outcome, err := execution.Outcome(t.Context(), end)
	require.NoError(t, err)
	failed, ok := errors.AsType[*client.Error](outcome.Err)
	require.True(t, ok)
	require.Equal(t, client.ExecutorGone, failed.Code)
	require.Equal(t, client.Resume, failed.Cure)
	require.EqualError(t, failed, "the process that worked for run killed ended")
	require.Equal(t, "interrupted", string(execution.Result(end, outcome).Status))
}
