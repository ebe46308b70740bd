package landscapetest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// graphs plays graph scenes, and asks about their tokens, batches and merges.
func graphs(t *testing.T, d landscape.Driver) {
	log := landscape.New(d, nil)
	for _, s := range []GraphScene{
		{Run: "none"}, {Run: "one chunk", Chunks: 1, ChunkRows: 3}, {Run: "even", Chunks: 4, ChunkRows: 7},
		{Run: "slices", Chunks: 1, ChunkRows: landscape.SliceRows + 10},
	} {
		t.Run(s.Run, func(t *testing.T) {
			require.NoError(t, s.Play(t.Context(), log))
			before := snapshot(t, d)
			require.NoError(t, s.Play(t.Context(), log), "a repeat")
			require.Equal(t, before, snapshot(t, d))
			findings, err := log.Sweep(t.Context(), s.Run, true)
			require.NoError(t, err)
			require.Nil(t, findings)
		})
	}
	s := GraphScene{Run: "asked", Chunks: 3, ChunkRows: 6}
	require.NoError(t, s.Play(t.Context(), log))
	t.Run("lanes and ids", func(t *testing.T) { graphLanes(t, log, s) })
	t.Run("ways and hashes", func(t *testing.T) { graphWaysOf(t, log, s) })
	t.Run("what was recorded comes back", func(t *testing.T) { graphBack(t, log, s) })
	t.Run("batches", func(t *testing.T) { graphBatches(t, log, s) })
	t.Run("parents and children", func(t *testing.T) { graphParents(t, log, s) })
	t.Run("merges", func(t *testing.T) { graphMerges(t, log, s) })
	t.Run("sinks", func(t *testing.T) { graphSinks(t, log, s) })
	t.Run("summary", func(t *testing.T) { graphSummary(t, log, s) })
	t.Run("lanes without tokens", func(t *testing.T) { emptyLanes(t, d) })
	t.Run("more ways than one byte counts in a branch", func(t *testing.T) { wideLanes(t, d) })
	t.Run("refused", func(t *testing.T) {
		for name, check := range map[string]func(*testing.T, landscape.Driver){
			"runs": refusedRuns, "lanes": refusedLanes, "folds": refusedFolds, "merges": refusedMerges,
		} {
			t.Run(name, func(t *testing.T) { check(t, d) })
		}
	})
}

func graphLanes(t *testing.T, log *landscape.Log, s GraphScene) {
	lanes, err := log.Lanes(t.Context(), s.Run)
	require.NoError(t, err)
	want := Lanes()
	for i := range want {
		want[i].Run = s.Run
	}
	require.Equal(t, want, lanes)
	_, err = log.Lanes(t.Context(), "nobody")
	require.ErrorIs(t, err, landscape.ErrNotFound)

	for id, token := range map[string]landscape.Token{
		"orders:17": {Source: Orders, Lane: OrdersLane, Row: 17}, "orders:17/decide": {Source: Orders, Lane: DecideLane, Row: 17},
		"totals:2/raw": {Source: "totals", Lane: RawLane, Row: 2}, "both:1": {Source: "both", Lane: BothLane, Row: 1},
	} {
		got, err := log.TokenID(t.Context(), s.Run, token)
		require.NoError(t, err)
		require.Equal(t, id, got)
		back, err := log.ParseToken(t.Context(), s.Run, id)
		require.NoError(t, err)
		require.Equal(t, token, back)
	}
	for _, id := range []string{"orders:1/raw", "nobody:1", "totals:1/decide"} {
		_, err := log.ParseToken(t.Context(), s.Run, id)
		require.ErrorIs(t, err, landscape.ErrNotFound)
	}
	for _, id := range []string{"orders", "orders:0", "orders:x", "orders/raw:1"} {
		_, err := log.ParseToken(t.Context(), s.Run, id)
		require.ErrorContains(t, err, "is not of the form source:row")
	}
	_, err = log.TokenID(t.Context(), s.Run, landscape.Token{Source: "totals", Lane: CostLane, Row: 1})
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

// graphWaysOf checks the ways of all tokens of three rows of the source, and of one row of each barrier.
func graphWaysOf(t *testing.T, log *landscape.Log, s GraphScene) {
	for row, names := range map[int64][4]string{
		7: {"split", "priced", "species", "decided"}, 8: {"split", "not priced", "species", "not decided"}, 9: {"source refused"},
	} {
		for lane, name := range names {
			token := landscape.Token{Source: Orders, Lane: int64(lane), Row: row}
			way, err := log.WayOf(t.Context(), s.Run, token)
			if name == "" {
				require.ErrorIs(t, err, landscape.ErrNotFound)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, graphWays()[name], way)
			reasons, err := log.ErrorsOf(t.Context(), s.Run, token)
			require.NoError(t, err)
			require.Len(t, reasons, map[bool]int{true: 1}[way.Path.Outcome() == pipeline.Failure])
		}
	}
	for _, c := range []struct {
		source string
		lane   int64
		row    int64
		node   string
		of     string // the node whose hash it is; empty if there is none
	}{
		{Orders, CostLane, 7, Orders, Orders}, {Orders, CostLane, 7, "split", Orders}, {Orders, CostLane, 7, "price", "price"},
		{Orders, CostLane, 7, "decide", ""}, {Orders, CostLane, 8, "price", ""}, {Orders, SpeciesLane, 8, "split", Orders},
		{Orders, DecideLane, 7, "decide", "decide"}, {Orders, DecideLane, 7, "totals", ""}, {Orders, DecideLane, 8, "decide", ""},
		{Orders, DecideLane, 7, Orders, ""}, {"totals", TotalsLane, 2, "totals", "totals"}, {"totals", BestLane, 2, "spread", "totals"},
		{"totals", BestLane, 2, "ranked", ""}, {"ranked", RankedLane, 1, "ranked", "ranked"}, {"both", BothLane, 2, "report", "both"},
	} {
		hash, ok, err := log.HashAt(t.Context(), s.Run, landscape.Token{Source: c.source, Lane: c.lane, Row: c.row}, c.node)
		require.NoError(t, err)
		require.Equal(t, c.of != "", ok, "%+v", c)
		if ok {
			require.Equal(t, hashOf(c.of, c.row), hash[:], "%+v", c)
		}
	}
}

func graphBack(t *testing.T, log *landscape.Log, s GraphScene) {
	ctx := t.Context()
	for i := range s.Chunks {
		p, f := s.Passage(i), s.TotalsFold(i)
		routes, err := log.AllRoutes(ctx, s.Run, landscape.ChunkKey{Source: Orders, Chunk: int64(i)})
		require.NoError(t, err)
		require.Equal(t, p.Lanes, routes)
		hashes, err := log.Hashes(ctx, s.Run, landscape.ChunkKey{Source: Orders, Chunk: int64(i)})
		require.NoError(t, err)
		require.Equal(t, p.Hashes, hashes)
		different, err := log.ComparePassage(ctx, p, nil)
		require.NoError(t, err)
		require.Empty(t, different)
		members, err := log.Members(ctx, s.Run, "totals", landscape.ChunkKey{Source: Orders, Chunk: int64(i)})
		require.NoError(t, err)
		require.Equal(t, f.Arrivals, members)
	}
	ranked, err := log.AllRoutes(ctx, s.Run, landscape.ChunkKey{Source: "ranked", Chunk: 0})
	require.NoError(t, err)
	require.Equal(t, s.RankedPassage().Lanes, ranked)
	_, err = log.WayOf(ctx, s.Run, landscape.Token{Source: Orders, Lane: RankedLane, Row: 1})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	_, err = log.AllRoutes(ctx, s.Run, landscape.ChunkKey{Source: Orders, Chunk: 99})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	tables, err := log.Tables(ctx, s.Run)
	require.NoError(t, err)
	require.Equal(t, "prices.csv", tables[0].Path)
}

func graphBatches(t *testing.T, log *landscape.Log, s GraphScene) {
	ctx := t.Context()
	folds, err := log.Folds(ctx, s.Run, "totals")
	require.NoError(t, err)
	counts := make([][4]int64, len(folds))
	for i, f := range folds {
		counts[i] = [4]int64{f.Opened, f.Open, f.Held, f.Out}
	}
	require.Equal(t, [][4]int64{{1, 1, 2, 0}, {1, 0, 0, 1}, {2, 1, 2, 0}, {2, 0, 0, 1}}, counts)
	batches, err := landscape.Select[landscape.BatchRecord](ctx, log, s.Run, "totals")
	require.NoError(t, err)
	require.Len(t, batches, 2)
	require.Equal(t, [2]string{"rows", "end"}, [2]string{batches[0].Trigger, batches[1].Trigger})
	for trigger, want := range map[string]map[int64]bool{"rows": {batches[0].Fold: true}, "end": {batches[1].Fold: true}, "memory": {}} {
		fired, err := log.FoldsFiredBy(ctx, s.Run, "totals", trigger)
		require.NoError(t, err)
		require.Equal(t, want, fired, trigger)
	}
	tokens, err := log.MembersOf(ctx, s.Run, "totals", 1)
	require.NoError(t, err)
	var rows []int64
	for _, token := range tokens {
		require.Equal(t, DecideLane, token.Lane)
		rows = append(rows, token.Row)
	}
	require.Equal(t, []int64{1, 4, 7, 10}, rows)
	for _, most := range []int{1, 3, 4, 5} {
		first, err := log.FirstMembers(ctx, s.Run, "totals", 1, most)
		require.NoError(t, err)
		require.Equal(t, tokens[:min(most, len(tokens))], first)
	}

	in, err := log.BatchOf(ctx, s.Run, landscape.Token{Source: Orders, Lane: DecideLane, Row: 10})
	require.NoError(t, err)
	require.Equal(t, landscape.Membership{Node: "totals", Batch: 1, Fired: &batches[0]}, in)
	_, err = log.BatchOf(ctx, s.Run, landscape.Token{Source: Orders, Lane: CostLane, Row: 10})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	_, err = log.Batch(ctx, s.Run, "totals", 3)
	require.ErrorIs(t, err, landscape.ErrNotFound)
	ends, err := log.SourceEnds(ctx, s.Run)
	require.NoError(t, err)
	require.Equal(t, [2]any{"totals", int64(2)}, [2]any{ends[3].Source, ends[3].Rows})
}

func graphParents(t *testing.T, log *landscape.Log, s GraphScene) {
	ctx := t.Context()
	made, err := log.ParentsOf(ctx, s.Run, "totals", 2)
	require.NoError(t, err)
	require.Equal(t, landscape.Parentage{Batch: 2}, made)
	best := landscape.Token{Source: "totals", Lane: BestLane, Row: 2}
	kept, err := log.ParentsOf(ctx, s.Run, "ranked", 1)
	require.NoError(t, err)
	require.Equal(t, landscape.Parentage{Batch: 1, Token: &best}, kept)
	_, err = log.ParentsOf(ctx, s.Run, "ranked", 3)
	require.ErrorIs(t, err, landscape.ErrNotFound)

	children, err := log.ChildrenOf(ctx, s.Run, best)
	require.NoError(t, err)
	require.Equal(t, []landscape.Token{{Source: "ranked", Lane: RankedLane, Row: 1}}, children)
	children, err = log.ChildrenOf(ctx, s.Run, landscape.Token{Source: Orders, Lane: DecideLane, Row: 4})
	require.NoError(t, err)
	require.Equal(t, []landscape.Token{{Source: "totals", Lane: TotalsLane, Row: 1}}, children)
	_, err = log.ChildrenOf(ctx, s.Run, landscape.Token{Source: Orders, Row: 4})
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

func graphMerges(t *testing.T, log *landscape.Log, s GraphScene) {
	ctx := t.Context()
	decided, refused, _ := mergeKinds()
	for row, kind := range map[int64]landscape.MergeKind{1: decided, 2: refused} {
		join, err := log.MergeOfFork(ctx, s.Run, landscape.Token{Source: Orders, Row: row})
		require.NoError(t, err)
		require.Equal(t, kind, join.Kind)
		require.Equal(t, &landscape.Token{Source: Orders, Lane: DecideLane, Row: row}, join.Token)
		last := join.Arrivals[len(join.Arrivals)-1]
		require.Equal(t, landscape.MergeArrival{Branch: "species", Token: landscape.Token{Source: Orders, Lane: SpeciesLane, Row: row}}, last)
		require.Len(t, join.Arrivals, len(kind.Arrived))
	}
	_, err := log.MergeOfFork(ctx, s.Run, landscape.Token{Source: Orders, Row: 3})
	require.ErrorIs(t, err, landscape.ErrNotFound)

	want := s.bothBatch(2, 1, moment(32))
	join, err := log.MergeOfFork(ctx, s.Run, want.Merge.Key)
	require.NoError(t, err)
	require.Equal(t, landscape.Merged{Merge: *want.Merge, Batch: 2, Token: &landscape.Token{Source: "both", Lane: BothLane, Row: 1}}, join)
	require.Equal(t, time.Second, join.Wait)
	same, err := log.MergeOf(ctx, s.Run, "both", 2)
	require.NoError(t, err)
	require.Equal(t, join, same)
	_, err = log.MergeOf(ctx, s.Run, "totals", 1)
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

func graphSinks(t *testing.T, log *landscape.Log, s GraphScene) {
	token, err := log.SinkLine(t.Context(), s.Run, "report", 2)
	require.NoError(t, err)
	require.Equal(t, landscape.Token{Source: "both", Lane: BothLane, Row: 2}, token)
	sink, line, err := log.SinkPosition(t.Context(), s.Run, token)
	require.NoError(t, err)
	require.Equal(t, [2]any{"report", int64(2)}, [2]any{sink, line})
	_, _, err = log.SinkPosition(t.Context(), s.Run, landscape.Token{Source: Orders, Row: 1})
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

func graphSummary(t *testing.T, log *landscape.Log, s GraphScene) {
	sum, err := log.Summary(t.Context(), s.Run)
	require.NoError(t, err)
	sum.Run = landscape.RunHead{}
	require.Equal(t, landscape.Summary{
		Chunks: 3, Rows: 18, Bytes: 720, Passed: 18, Tokens: 64, Succeeded: 24, Failed: 18, Transient: 22, Quarantined: 18,
		Sinks: []landscape.SinkCount{{Sink: "report", Planned: 2, Finalized: 2, Bytes: 40, Published: true}},
		Nodes: []landscape.NodeCount{
			{Node: Orders, Kind: landscape.SourceNode, In: 18, Out: 12, Diverted: 6},
			{Node: "split", Kind: landscape.StepNode, In: 12, Created: 24, Out: 24, Consumed: 12},
			{Node: "price", Kind: landscape.StepNode, In: 12, Out: 6, Diverted: 6},
			{Node: "decide", Kind: landscape.StepNode, In: 18, Created: 12, Out: 6, Diverted: 6, Consumed: 18},
			{Node: "totals", Kind: landscape.StepNode, In: 6, Created: 2, Out: 2, Consumed: 6},
			{Node: "spread", Kind: landscape.StepNode, In: 2, Created: 4, Out: 4, Consumed: 2},
			{Node: "ranked", Kind: landscape.StepNode, In: 2, Created: 2, Out: 2, Consumed: 2},
			{Node: "both", Kind: landscape.StepNode, In: 4, Created: 2, Out: 2, Consumed: 4},
			{Node: "report", Kind: landscape.SinkNode, In: 2, Out: 2},
		},
	}, sum)
	progress, err := log.Progress(t.Context(), s.Run)
	require.NoError(t, err)
	require.Equal(t, landscape.Progress{
		Status: pipeline.CompletedWithFailures, Chunks: 3, Rows: 18, Bytes: 720, Ended: true, Passed: 18, Failed: 18, Planned: 2, Finalized: 2,
	}, progress)
}
