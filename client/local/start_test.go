package local_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/client"
	"waymark/pipeline"
	"waymark/tests/sample"
)

// TestStartOnce: of those who start a run at once one executes it, and the others learn that somebody does. So it is when it is resumed.
func TestStartOnce(t *testing.T) {
	t.Parallel()
	home := open(t)
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
