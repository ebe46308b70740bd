package retain_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit/retain"
	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/payload"
	"waymark/payload/memstore"
	"waymark/pipeline"
	"waymark/plugin"
	"waymark/tests/blank"
)

// TestForgettingTheSameRecords: while an order is still to delete rows in a target, no other one overwrites the records
// that these were made of. Nothing else says which rows of the target they are.
func TestForgettingTheSameRecords(t *testing.T) {
	ctx := t.Context()
	driver := blank.New(t)
	require.NoError(t, landscapetest.Logged(ctx, landscape.New(driver, nil)))
	log := landscape.New(driver, nil).SealedBy(landscapetest.Sealer{})
	rowsOf := func(run string) []landscape.RowKey {
		return []landscape.RowKey{{Run: run, Source: landscapetest.Source, Row: 3}}
	}
	for _, run := range []string{"first", "second"} { // they read the same payloads
		require.NoError(t, landscapetest.Scene{Run: run, Chunks: 1, ChunkRows: 10}.PlayToEnd(ctx, log))
		require.NoError(t, log.FinishRun(ctx, run, pipeline.CompletedWithFailures, ""))
	}
	order := landscape.Purge{Actor: "ann", Why: "request 88"}
	inTarget := landscape.Erasure{Run: "first", Sink: "review", Line: 1}
	waits, err := log.BeginForgetting(ctx, order, []string{"first"}, rowsOf("first"), inTarget)
	require.NoError(t, err)
	other, err := log.BeginForgetting(ctx, order, []string{"second"}, rowsOf("second"))
	require.NoError(t, err)

	target := &oneTarget{err: errors.New("it is away")}
	purger := &retain.Purger{Log: log, Payloads: payload.New(&memstore.Store{}, payload.Options{})}
	forgetter := retain.Forgetter{Purger: purger, Follow: alone{}, Targets: target}
	done, err := forgetter.Finish(ctx)
	require.ErrorContains(t, err, "nothing was overwritten yet: it is away")
	require.ErrorContains(t, err, "order 1 is still to delete them, and needs the same records")
	require.Empty(t, done)

	target.err = nil
	done, err = forgetter.Finish(ctx)
	require.NoError(t, err)
	require.Equal(t, []int64{waits.ID, other.ID}, []int64{done[0].Order, done[1].Order})
	require.Equal(t, map[plugin.ErasureOutcome]int64{plugin.RowDeleted: 1}, done[0].Erased[0].Outcomes)
}

// oneTarget deletes rows, unless it has an error.
type oneTarget struct{ err error }

func (o *oneTarget) Erasable(context.Context, string, string) error { return o.err }

func (o *oneTarget) TryErase(ctx context.Context, run, sink string, lines []int64) ([]plugin.ErasureOutcome, error) {
	return o.Erase(ctx, run, sink, lines)
}

func (o *oneTarget) Erase(_ context.Context, _, _ string, lines []int64) ([]plugin.ErasureOutcome, error) {
	return slices.Repeat([]plugin.ErasureOutcome{plugin.RowDeleted}, len(lines)), o.err
}

// alone follows rows that came to no barrier, and are in no other row.
type alone struct{}

func (alone) Descend(context.Context, string, []landscape.RowKey) (landscape.Descent, error) {
	return landscape.Descent{}, nil
}
