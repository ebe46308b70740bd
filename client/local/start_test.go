package local_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/client/local"
	"waymark/landscape"
	"waymark/landscape/sqlitestore"
	"waymark/pipeline"
	"waymark/tests/sample"
	"waymark/workflows"
)

// TestStartOnce: of those who start a run at once one executes it, and the others learn that somebody does. So it is when it is resumed.
func TestStartOnce(t *testing.T) {
	t.Parallel()
	home := open(t)
	cancelAbandoned(t, home, "run-0")
	for i := range 6 {
		run := fmt.Sprintf("run-%d", i)
		file := document(t, 30)
		one := requireOne(t, func(ctx context.Context) (*client.Execution, error) {
			return home.Start(ctx, client.StartRequest{Run: run, File: file})
		})
		status, err := one.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, pipeline.Completed, status.Status)
		require.Equal(t, int64(30), status.Rows)
		require.NoError(t, one.Close())
		_, err = home.Start(t.Context(), client.StartRequest{Run: run, File: file})
		requireKind(t, err, client.Conflict)
	}
	for range 2 / sample.Step(2) { // each waits seconds for Temporal to give the run to another worker
		stopped, err := home.Find(t.Context(), startAndStop(t, home, document(t, 30)))
		require.NoError(t, err)
		one := requireOne(t, func(ctx context.Context) (*client.Execution, error) {
			resumed, err := home.Resume(ctx, stopped, client.ResumeRequest{})
			if err != nil {
				return nil, err
			}
			return resumed.Execution, nil
		})
		status, err := one.Wait(t.Context())
		require.NoError(t, err)
		require.Equal(t, pipeline.Completed, status.Status)
		require.Equal(t, int64(1), status.Epoch)
		require.NoError(t, one.Close())
	}
}

// cancelAbandoned cancels a run whose process died before it began: nobody begins it, and every door says so.
func cancelAbandoned(t *testing.T, home *local.Home, run string) {
	t.Helper()
	store, err := sqlitestore.Open(t.Context(), home.Place(), sqlitestore.Options{})
	require.NoError(t, err)
	require.NoError(t, landscape.New(store, time.Now).Accept(t.Context(), landscape.Start{
		Run: run, Pipeline: "p", Params: "{}", Actor: "ann", Trigger: "cli", Workflow: workflows.WorkflowID(run),
	}))
	require.NoError(t, store.Close())
	_, found := home.Find(t.Context(), run)
	_, started := home.Start(t.Context(), client.StartRequest{Run: run, File: document(t, 1)})
	for _, err := range []error{found, started} {
		failed, ok := errors.AsType[*client.Error](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, client.CancelAndRun, failed.Cure)
	}
	cancelled, err := home.CancelWaiting(t.Context(), run, client.By{Why: "nobody begins it"})
	require.NoError(t, err)
	require.True(t, cancelled)
}

// TestAStartOfAnotherPlace: where others may use the record, a run that was asked for and has not begun is neither unknown
// nor called abandoned.
func TestAStartOfAnotherPlace(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	home, err := local.Open(t.Context(), local.Options{State: local.Folder(t.TempDir()), Landscape: "sqlite:" + folder + "/landscape.db"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, home.Close()) })
	store, err := sqlitestore.Open(t.Context(), home.Place(), sqlitestore.Options{})
	require.NoError(t, err)
	require.NoError(t, landscape.New(store, time.Now).Accept(t.Context(), landscape.Start{
		Run: "one", Pipeline: "p", Params: "{}", Actor: "ann", Trigger: "cli", Workflow: workflows.WorkflowID("one"),
	}))
	require.NoError(t, store.Close())
	_, err = home.Find(t.Context(), "one")
	failed, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Equal(t, client.RunWaiting, failed.Code)
	require.Contains(t, failed.Message, "has not begun; whether its process is still there cannot be seen from here")
}

// requireOne begins the same execution thrice at once, and returns the only one that there is.
func requireOne(t *testing.T, begin func(context.Context) (*client.Execution, error)) *client.Execution {
	t.Helper()
	type begun struct {
		execution *client.Execution
		err       error
	}
	const times = 3
	all, now := make(chan begun, times), make(chan struct{})
	for range times {
		go func() {
			<-now
			e, err := begin(t.Context())
			all <- begun{e, err}
		}()
	}
	close(now)
	var one *client.Execution
	var refused error
	for range times {
		b := <-all
		if b.err != nil {
			requireKind(t, b.err, client.Busy, client.Conflict)
			refused = errors.Join(refused, b.err)
			continue
		}
		require.Nil(t, one, "two execute it")
		one = b.execution
	}
	require.NotNil(t, one, "nobody executes it: %v", refused)
	return one
}

func requireKind(t *testing.T, err error, kinds ...client.Kind) {
	t.Helper()
	failed, ok := errors.AsType[*client.Error](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, kinds, failed.Kind)
}
