package tests

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
	"waymark/tests/system"
)

// idlePlanner makes plans whose sources do not end before they may: they are read, and then nothing comes for a while.
type idlePlanner struct {
	recompute.Planner
	mayEnd chan struct{}
}

func (p idlePlanner) Plan(request plan.Request) (*plan.Plan, error) {
	compiled, err := p.Planner.Plan(request)
	if err != nil {
		return nil, err
	}
	for _, i := range compiled.Sources() {
		compiled.Nodes[i].Source = idleSource{compiled.Nodes[i].Source, p.mayEnd}
	}
	return compiled, nil
}

type idleSource struct {
	plugin.Source
	mayEnd chan struct{}
}

func (s idleSource) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	reader, err := s.Source.Open(ctx, at, pin)
	return idleReader{reader, s.mayEnd}, err
}

type idleReader struct {
	plugin.Reader
	mayEnd chan struct{}
}

func (r idleReader) Next(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	err := r.Reader.Next(ctx, limits, c)
	if err == nil {
		return nil
	}
	select {
	case <-r.mayEnd:
	case <-ctx.Done():
	}
	return err
}

// waiting reads all rows at once: the branches of the first three meet long before the timeout, on a busy machine too.
const waiting = `
name: waiting
sources: {in: {csv: {path: in.csv}, schema: {fields: {id: int, n: int}}}}
steps:
  - {name: both, fork: [slow, quick]}
  - {name: gather, from: slow, sort: {by: {n: desc}}, trigger: {rows: 3}}
  - {name: meet, coalesce: {slow: gather, quick: quick}, policy: best_effort, timeout: 1s}
  - {name: sums, from: meet, aggregate: {compute: {rows: count(), total: sum(row.n)}}, trigger: {after: 7s}}
sinks:
  out: {jsonl: {path: out/sums.jsonl}}
`

// TestDeadlinesOfAnIdleSource has a coalesce that waits for branches which a sort holds back, and an aggregate that waits for
// more. Nothing comes for as long as it takes both to give up waiting.
func TestDeadlinesOfAnIdleSource(t *testing.T) {
	t.Parallel()
	mayEnd := make(chan struct{})
	s := system.StartWith(t, system.Options{Planner: func(p recompute.Planner) recompute.Planner { return idlePlanner{p, mayEnd} }})
	s.Write(t, map[string]string{"in.csv": "id,n\n1,10\n2,20\n3,30\n4,40\n5,50\n"})
	run := s.Begin(t, "waits", waiting)
	var sums []landscape.BatchRecord
	require.Eventually(t, func() bool {
		var err error
		sums, err = landscape.Select[landscape.BatchRecord](t.Context(), s.Log, "waits", "sums")
		return err == nil && len(sums) == 1
	}, patience, 20*time.Millisecond)
	ends, err := s.Log.SourceEnds(t.Context(), "waits")
	require.NoError(t, err)
	require.Empty(t, ends, "the source is still idle")
	close(mayEnd)
	_, err = system.End(t, run)
	require.NoError(t, err)

	require.Equal(t, "after", sums[0].Trigger)
	require.EqualValues(t, 7_000_000, sums[0].Fired-sums[0].Opened)
	require.EqualValues(t, 5, sums[0].Rows, "rows 1 to 3 with both branches, 4 and 5 without the one that was held back")
	require.GreaterOrEqual(t, noticed(t, s, "sums", sums[0].Fold), sums[0].Fired)

	merges, err := landscape.Select[landscape.BatchRecord](t.Context(), s.Log, "waits", "meet")
	require.NoError(t, err)
	fired := map[string]int{}
	for _, merge := range merges {
		fired[merge.Trigger]++
	}
	require.Equal(t, map[string]int{"all": 3, "timeout": 2, "arrival": 2}, fired, "what was held back came too late at the end, and was not needed")
	require.Equal(t, `{"rows":5,"total":150}`+"\n", s.Read(t, "out/sums.jsonl"))
	s.Verify(t, "waits")
}

// noticed returns the moment of a fold.
func noticed(t *testing.T, s *system.System, barrier string, fold int64) landscape.Micros {
	t.Helper()
	folds, err := s.Log.Folds(t.Context(), "waits", barrier)
	require.NoError(t, err)
	return folds[fold].At
}
