package tests

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/payload"
	"waymark/tests/system"
	"waymark/workflows"
)

// unfinished is a landscape that never finishes to record a chunk that went through the steps, unless it is told to
// stop.
type unfinished struct {
	landscape.Driver
	began chan struct{}
	ended chan error
}

func (u *unfinished) storage(t testing.TB, s *system.System) (landscape.Driver, payload.Backend) {
	t.Helper()
	driver, objects := system.OnDisk(t, s)
	u.Driver = driver
	return u, objects
}

func (u *unfinished) Commit(ctx context.Context, tx landscape.Tx) error {
	for _, record := range tx.Insert {
		if _, ok := record.(landscape.PassageRecord); ok {
			select {
			case u.began <- struct{}{}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			<-ctx.Done()
			u.ended <- context.Cause(ctx)
			return context.Cause(ctx)
		}
	}
	return u.Driver.Commit(ctx, tx)
}

// Work ends with its run, whoever ends that: it does not go on as work does whose attempt Temporal gave up.
func TestWorkEndsWithItsRun(t *testing.T) {
	u := &unfinished{began: make(chan struct{}), ended: make(chan error)}
	s := system.StartWith(t, system.Options{Storage: u.storage})
	s.Write(t, map[string]string{"in.csv": "id,amount,note\n1,2,some\n"})
	order := workflows.Command{Actor: "ann", Why: "enough"}
	ends := []func(id string) error{ // a run that is terminated keeps its place: it comes last
		func(id string) error { return system.Give(t, s.Temporal, id, workflows.CancelUpdate, order) },
		func(id string) error { return s.Temporal.TerminateWorkflow(t.Context(), id, "", "enough") },
	}
	for i, end := range ends {
		name := fmt.Sprint("run", i)
		run := s.Begin(t, name, frozenDocument)
		<-u.began
		require.NoError(t, end(workflows.WorkflowID(name)))
		require.NotContains(t, (<-u.ended).Error(), "no attempt waits")
		require.NoError(t, run.Close())
	}
}
