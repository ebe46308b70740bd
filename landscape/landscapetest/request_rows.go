package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// requestRows holds what a log says of rows that came with requests: whose run can be resumed, nobody may purge; those of which no run came are found.
func requestRows(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	log := landscape.New(d, nil)
	asked := func(run string) landscape.Start {
		rows := []plugin.RequestRows{{Source: "orders", Payload: digest("rows of "+run, 0), SHA256: digest(run, 0), Rows: 2, Bytes: 7}}
		return landscape.Start{Run: run, Pipeline: "orders", Params: `{}`, Actor: "shop", Trigger: "api", Workflow: "run-" + run, Rows: landscape.RowsText(rows)}
	}
	purgeable := func(run string) (payloads []string) {
		require.NoError(t, log.PayloadsOf(ctx, run, landscape.SourceClass, func(payload string) bool { payloads = append(payloads, payload); return true }))
		return payloads
	}
	unbegun := func() (runs []string) {
		require.NoError(t, log.EachUnbegun(ctx, func(s landscape.Start) bool { runs = append(runs, s.Run); return true }))
		return runs
	}
	require.NoError(t, log.Accept(ctx, asked("failed")))
	require.Empty(t, unbegun(), "a run may come of it")
	require.NoError(t, Scene{Run: "failed"}.Begin(ctx, log))
	require.NoError(t, log.StopRun(ctx, "failed", pipeline.Failed, "broken"))
	require.NotContains(t, purgeable("failed"), digest("rows of failed", 0), "it can be resumed")
	start, err := log.StartOfRun(ctx, "failed")
	require.NoError(t, err)
	rows, err := start.RequestRows()
	require.NoError(t, err)
	require.Equal(t, asked("failed").Rows, landscape.RowsText(rows))

	require.NoError(t, log.Accept(ctx, asked("complete")))
	require.NoError(t, (Scene{Run: "complete", Chunks: 1, ChunkRows: 5}).Play(ctx, log))
	require.Contains(t, purgeable("complete"), digest("rows of complete", 0))

	require.NoError(t, log.Accept(ctx, asked("nobody")))
	require.NoError(t, log.Refuse(ctx, refused(asked("nobody"), "no such day")))
	require.Equal(t, []string{"nobody"}, unbegun())
}
