package triggers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/blank"
)

// TestOutputsOfCompleteRuns are what is published for a trigger: not those of runs that failed, or that were complete before it was there; and each once.
func TestOutputsOfCompleteRuns(t *testing.T) {
	ctx := t.Context()
	now := time.Unix(1_700_000_000, 0)
	log := landscape.New(blank.New(t), func() time.Time { now = now.Add(time.Second); return now })
	require.NoError(t, landscapetest.Published(ctx, log, "early"))
	begun := landscapetest.Scene{Run: "late", Chunks: 1, ChunkRows: 10}
	require.NoError(t, begun.PlayToEnd(ctx, log))
	of, err := log.Run(ctx, "early")
	require.NoError(t, err)
	w := &watched{Watcher: &Watcher{Log: log}, row: landscape.Trigger{ID: "default/after/t", At: landscape.MicrosOf(now)}}
	w.declared.After = &pipeline.Upstream{Pipeline: of.Pipeline, Sink: "review"}

	require.NoError(t, landscapetest.Published(ctx, log, "done"))
	failed := landscapetest.Scene{Run: "failed", Chunks: 1, ChunkRows: 10}
	require.NoError(t, failed.PlayToEnd(ctx, log))
	require.NoError(t, log.StopRun(ctx, "failed", pipeline.Failed, "no more room"))
	look := func() (runs []string) {
		_, err := log.Sequence(ctx)
		require.NoError(t, err)
		found, position, err := w.published(ctx)
		require.NoError(t, err)
		head, err := log.OutboxHead(ctx)
		require.NoError(t, err)
		require.Equal(t, head.Size, position)
		for _, artifact := range found {
			require.Equal(t, "review", artifact.Sink)
			runs = append(runs, artifact.Run)
		}
		w.at.Position = position
		return runs
	}
	require.Equal(t, []string{"done"}, look())
	require.Nil(t, look())
	require.NoError(t, log.FinishRun(ctx, "late", pipeline.CompletedWithFailures, ""))
	require.Equal(t, []string{"late"}, look(), "it began first, and is complete last")
	w.declared.After.Sink = "nowhere"
	w.at.Position = 0
	require.Nil(t, look())
}

// TestCircle: two pipelines that were deployed at the same moment follow each other, and neither begins a run. Others do.
func TestCircle(t *testing.T) {
	ctx := t.Context()
	log := landscape.New(blank.New(t), time.Now)
	after := func(name, other string) *watched {
		bundle, version := landscapetest.VersionOf(name, "1", strings.Repeat("d", 64))
		_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
		require.NoError(t, err)
		w := &watched{Watcher: &Watcher{Log: log}, row: landscape.Trigger{Environment: landscape.DefaultEnvironment, Pipeline: name, Name: "t"}}
		w.declared = pipeline.ArrivalTrigger{Source: "in", After: &pipeline.Upstream{Pipeline: other, Sink: "out"}}
		spec, err := json.Marshal(w.declared)
		require.NoError(t, err)
		require.NoError(t, log.ChangeTrigger(ctx, landscape.ScheduleID(landscape.DefaultEnvironment, name, "t"), func(*landscape.Trigger) (*landscape.Trigger, error) {
			row := w.row
			row.Action, row.Spec, row.Version, row.Actor, row.Why = landscape.SetTrigger, string(spec), 1, "ann", "first"
			return &row, nil
		}))
		return w
	}
	a, b, c := after("a", "b"), after("b", "a"), after("c", "a")
	require.EqualError(t, a.straight(ctx), "what a publishes would come back to it: a after b after a; deploy one of them without the trigger on this way")
	require.Error(t, b.straight(ctx))
	require.NoError(t, c.straight(ctx))
}

// TestLost tries why an output that waits for a run cannot be read any more.
func TestLost(t *testing.T) {
	file := plugin.FileInfo{Path: "out/a.jsonl", Bytes: 7, Version: "inode:1"}
	again := file
	again.Version, again.ModifiedMicros = "inode:2", 1
	longer := file
	longer.Bytes = 8
	output := &landscape.ArrivedOutput{Run: "r1", Sink: "out", Path: file.Path, Files: []landscape.OutputFile{{FileInfo: file}}}
	for name, c := range map[string]struct {
		output *landscape.ArrivedOutput
		last   map[string]string
		there  []plugin.FileInfo
		want   string
	}{
		"as it was":        {output: output, there: []plugin.FileInfo{file}},
		"written again":    {output: output, there: []plugin.FileInfo{again}},
		"a file":           {},
		"removed":          {output: output, want: "out/a.jsonl was removed before a run took it"},
		"changed":          {output: output, there: []plugin.FileInfo{longer}, want: "out/a.jsonl changed before a run took it"},
		"another's by now": {output: output, last: map[string]string{file.Path: "r2"}, there: []plugin.FileInfo{file}, want: "run r2 has published another output in its place"},
	} {
		t.Run(name, func(t *testing.T) {
			there := map[string]plugin.FileInfo{}
			for _, file := range c.there {
				there[file.Path] = file
			}
			require.Equal(t, c.want, lost(c.output, c.last, there))
		})
	}
}

// TestPositionsComeLast: of many arrivals that are recorded some at a time, the position comes with the last ones.
func TestPositionsComeLast(t *testing.T) {
	ctx := t.Context()
	log := landscape.New(blank.New(t), time.Now)
	const id = "default/orders/after"
	bundle, version := landscapetest.VersionOf("orders", "1", strings.Repeat("d", 64))
	_, err := log.Deploy(ctx, landscape.DefaultEnvironment, bundle, version)
	require.NoError(t, err)
	require.NoError(t, landscapetest.SetTrigger(ctx, log, "orders", "after"))
	at, err := log.Watch(ctx, id)
	require.NoError(t, err)
	var positions []int64
	w := &watched{Watcher: &Watcher{Log: log, Logger: told(func() {
		now, err := log.Watch(ctx, id)
		require.NoError(t, err)
		positions = append(positions, now.Position)
	})}, at: at}
	changes := make([]landscape.ArrivalChange, mostAtOnce+1)
	for i := range changes {
		changes[i].To = landscape.NewOutputArrival(id, landscape.ArrivedOutput{Run: fmt.Sprint("r", i), Sink: "out"})
	}
	next := at
	next.Position = 7
	require.NoError(t, w.record(ctx, next, changes))
	require.Len(t, positions, len(changes))
	require.EqualValues(t, []int64{0, 0, 7}, []int64{positions[0], positions[mostAtOnce-1], positions[mostAtOnce]})
}

// told is a logger that calls a function for each line.
type told func()

func (f told) Debug(string, ...any) { f() }
func (f told) Info(string, ...any)  { f() }
func (f told) Warn(string, ...any)  { f() }
func (f told) Error(string, ...any) { f() }
