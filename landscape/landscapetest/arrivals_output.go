package landscapetest

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// arrivedOutputs holds what a log says of triggers after other pipelines: how far they looked at the outbox, and who read what.
func arrivedOutputs(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, func() time.Time { return time.Unix(1000, 0) })
	for _, name := range []string{"a", "b", "c"} {
		bundle, version := VersionOf(name, "1", strings.Repeat("d", 64))
		_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
		require.NoError(t, err)
	}
	const id = "default/b/after"
	require.NoError(t, followed(t, log, "b", "after", `{"Source":"in","After":{"Pipeline":"a","Sink":"review"}}`))
	require.NoError(t, Published(ctx, log, "r1"))
	_, err := log.Sequence(ctx)
	require.NoError(t, err)
	head, err := log.OutboxHead(ctx)
	require.NoError(t, err)
	upTo, err := log.DroppableEvents(ctx)
	require.NoError(t, err)
	require.Zero(t, upTo, "the trigger has looked at none")

	artifact, err := log.ArtifactOf(ctx, "r1", "review")
	require.NoError(t, err)
	none, err := log.ArtifactOf(ctx, "r1", "nowhere")
	require.NoError(t, err)
	require.Nil(t, none)
	output := landscape.ArrivedOutput{
		Run: "r1", Sink: "review", Path: artifact.Path, SHA256: artifact.SHA256, Rows: artifact.Rows,
		Files: []landscape.OutputFile{{FileInfo: plugin.FileInfo{Path: artifact.Path, Bytes: artifact.Bytes, Version: "inode:1"}, SHA256: artifact.SHA256}},
	}
	watch, err := log.Watch(ctx, id)
	require.NoError(t, err)
	next := watch
	next.Position = head.Size
	watch, err = log.ChangeArrivals(ctx, watch, next, []landscape.ArrivalChange{{To: landscape.NewOutputArrival(id, output)}})
	require.NoError(t, err)
	found, err := log.Watch(ctx, id)
	require.NoError(t, err)
	require.Equal(t, head.Size, found.Position)
	upTo, err = log.DroppableEvents(ctx)
	require.NoError(t, err)
	require.Equal(t, head.Size, upTo)

	ready := inState(t, log, id, landscape.ArrivalReady)
	require.Equal(t, []string{"r1/review/0"}, named(ready))
	arrived, err := ready[0].Output()
	require.NoError(t, err)
	require.Equal(t, &output, arrived)
	_, err = log.Take(ctx, watch, landscape.Start{Run: "r2", Pipeline: "b", Params: "{}", Trigger: "arrival"}, ready)
	require.NoError(t, err)
	readers, err := log.ReadersOf(ctx, "r1", "review")
	require.NoError(t, err)
	require.Equal(t, []landscape.OutputReader{{Run: "r2", Trigger: id}}, readers)
	readers, err = log.ReadersOf(ctx, "r1", "all")
	require.NoError(t, err)
	require.Nil(t, readers)

	back := pipeline.Map[pipeline.ArrivalTrigger]{{Name: "back", Value: pipeline.ArrivalTrigger{Source: "in", After: &pipeline.Upstream{Pipeline: "c", Sink: "all"}}}}
	cycle, err := log.UpstreamCycle(ctx, landscape.DefaultEnvironment, "a", back)
	require.NoError(t, err)
	require.Nil(t, cycle)
	require.NoError(t, followed(t, log, "c", "after", `{"Source":"in","After":{"Pipeline":"b","Sink":"all"}}`))
	cycle, err = log.UpstreamCycle(ctx, landscape.DefaultEnvironment, "a", back)
	require.NoError(t, err)
	require.Equal(t, []string{"a", "c", "b", "a"}, cycle)
	cycle, err = log.UpstreamCycle(ctx, "test", "a", back)
	require.NoError(t, err)
	require.Nil(t, cycle, "triggers of other environments lead nowhere")
}

// followed sets a trigger of version 1 of a pipeline.
func followed(t *testing.T, log *landscape.Log, of, name, spec string) error {
	t.Helper()
	return log.ChangeTrigger(t.Context(), landscape.ScheduleID(landscape.DefaultEnvironment, of, name), func(*landscape.Trigger) (*landscape.Trigger, error) {
		return &landscape.Trigger{
			Environment: landscape.DefaultEnvironment, Pipeline: of, Name: name, Action: landscape.SetTrigger, Spec: spec, Version: 1, Actor: "ann", Why: "first",
		}, nil
	})
}
