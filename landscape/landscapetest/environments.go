package landscapetest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
)

// environments holds what a log says of the values of environments.
func environments(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	var ticks atomic.Int64 // many ask at once
	log := landscape.New(d, func() time.Time { return time.Unix(1000+ticks.Add(1), 0) })
	by := landscape.Environment{Name: "prod", Actor: "ann", Why: "moved"}
	none, err := log.LastEnvironment(ctx, "prod")
	require.NoError(t, err)
	require.Equal(t, landscape.Environment{Name: "prod"}, none)

	set := func(values map[string]string, unset ...string) (string, bool) {
		t.Helper()
		is, changed, err := log.SetEnvironment(ctx, by, values, unset)
		require.NoError(t, err)
		return is.String() + " " + is.Vars, changed
	}
	holds := func(want string, change bool, values map[string]string, unset ...string) {
		t.Helper()
		is, changed := set(values, unset...)
		require.Equal(t, want, is)
		require.Equal(t, change, changed)
	}
	holds(`prod#1 {"REGION":"eu","SIZE":"1"}`, true, map[string]string{"REGION": "eu", "SIZE": "1"})
	holds(`prod#1 {"REGION":"eu","SIZE":"1"}`, false, map[string]string{"REGION": "eu"})
	holds(`prod#2 {"REGION":"us","SIZE":"1"}`, true, map[string]string{"REGION": "us"})
	holds(`prod#3 {"REGION":"us"}`, true, nil, "SIZE")
	holds(`prod#3 {"REGION":"us"}`, false, nil, "SIZE")
	holds(`prod#4 {}`, true, nil, "REGION")
	first, err := log.Environment(ctx, "prod", 1)
	require.NoError(t, err)
	require.Equal(t, landscape.Environment{Name: "prod", Seq: 1, Vars: `{"REGION":"eu","SIZE":"1"}`, Actor: "ann", Why: "moved", At: landscape.MicrosOf(time.Unix(1001, 0))}, first)
	_, err = log.Environment(ctx, "prod", 5)
	require.ErrorIs(t, err, landscape.ErrNotFound)
	_, err = log.Environment(ctx, "prod", 0)
	require.NoError(t, err)
	changes, err := log.EnvironmentChanges(ctx, "prod")
	require.NoError(t, err)
	require.Len(t, changes, 4)

	bundle, version := VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err = log.Deploy(ctx, "test", bundle, version)
	require.NoError(t, err)
	list, err := log.Environments(ctx)
	require.NoError(t, err)
	require.Equal(t, []landscape.Environment{changes[3], {Name: "test"}}, list)
	valuesAtOnce(t, log)
	runWithValues(t, log)
}

// valuesAtOnce sets values from many processes: none is lost.
func valuesAtOnce(t *testing.T, log *landscape.Log) {
	const processes = 5
	var all sync.WaitGroup
	failed := make([]error, processes)
	for i := range processes {
		all.Go(func() {
			by := landscape.Environment{Name: "busy", Actor: "ann", Why: "moved"}
			_, _, failed[i] = log.SetEnvironment(context.WithoutCancel(t.Context()), by, map[string]string{fmt.Sprint("V", i): "1"}, nil)
		})
	}
	all.Wait()
	for _, err := range failed {
		require.NoError(t, err)
	}
	last, err := log.LastEnvironment(t.Context(), "busy")
	require.NoError(t, err)
	values, err := last.Values()
	require.NoError(t, err)
	require.Len(t, values, processes)
	require.EqualValues(t, processes, last.Seq)
}

// runWithValues begins a run that says which values it has.
func runWithValues(t *testing.T, log *landscape.Log) {
	run, graph := Scene{Run: "valued"}.Graph()
	run.Environment, run.EnvironmentSeq = "prod", 2
	require.NoError(t, log.BeginRun(t.Context(), run, graph))
	begun, err := log.Run(t.Context(), "valued")
	require.NoError(t, err)
	require.Equal(t, []any{"prod", int64(2)}, []any{begun.Environment, begun.EnvironmentSeq})
}
