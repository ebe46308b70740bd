package landscapetest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// refusedLanes tampers with a passage of a graph scene; none of it may be recorded afterwards.
func refusedLanes(t *testing.T, d landscape.Driver) {
	s := GraphScene{Run: "refused lanes", Chunks: 1, ChunkRows: 6}
	log := forkScene(t, d, s)
	for want, tamper := range map[string]func(p *landscape.Passage){
		"lane species: row 0 of the chunk was forked: true, has a token in the branch: false": func(p *landscape.Passage) {
			p.Lanes = slices.Delete(p.Lanes, 2, 3)
		},
		"lane cost: row 2 of the chunk was forked: false, has a token in the branch: true": func(p *landscape.Passage) {
			p.Lanes[1].Codes[2] = 0
		},
		"lane decide: row 0 of the chunk was forked: true, was merged: false":                   func(p *landscape.Passage) { p.Merges = nil },
		"lane decide: row 0 of the chunk: a merge made a token: true, there is one: false":      func(p *landscape.Passage) { p.Lanes = p.Lanes[:3] },
		"lane decide: row 1 of the chunk: the merge is merged, its way decide > __quarantine__": func(p *landscape.Passage) { p.Merges[0].Codes[1], p.Merges[0].Codes[3] = 0, 1 },
		"lane decide: 3 kinds of merges, but merges of 2 of them":                               func(p *landscape.Passage) { p.Merges[0].Kinds = append(p.Merges[0].Kinds, p.Merges[0].Kinds[0]) },
		"there is no kind of merge 7":                                                               func(p *landscape.Passage) { p.Merges[0].Codes[0] = 7 },
		"the chunk has 6 rows, the joins 5":                                                         func(p *landscape.Passage) { p.Merges[0].Codes = p.Merges[0].Codes[1:] },
		"is there twice, or of another coalesce":                                                    func(p *landscape.Passage) { p.Merges[0].Kinds[1] = p.Merges[0].Kinds[0] },
		"joins of lane 1, which no coalesce makes":                                                  func(p *landscape.Passage) { p.Merges[0].Lane = CostLane },
		"it does not go down branch cost of split":                                                  func(p *landscape.Passage) { p.Lanes[1].Ways[0].Steps[1].Label = "species" },
		"step 2 is of lane 0, not 1":                                                                func(p *landscape.Passage) { p.Lanes[1].Ways[0].Steps[2].Lane = 0 },
		"does not go on where orders > split (fork_parent) was forked":                              func(p *landscape.Passage) { p.Lanes[1].Ways[0].Steps[0].Node = "other" },
		"it does not begin with decide":                                                             func(p *landscape.Passage) { p.Lanes[3].Ways[0].Steps[0].Node = "totals" },
		`path "batch_consumed" cannot end at sink ""`:                                               func(p *landscape.Passage) { p.Lanes[3].Ways[0].Path = pipeline.BatchConsumed },
		"row 1, lane 2 of the chunk has an error although it was not refused, or has more than one": func(p *landscape.Passage) { p.Errors[0].Lane = SpeciesLane },
		"hashes of node price in lane 5, which has no token":                                        func(p *landscape.Passage) { p.Hashes[1].Lane = RawLane },
		"merge at decide: branch cost is there twice, or not expected": func(p *landscape.Passage) {
			p.Merges[0].Kinds[1].Lost = append(p.Merges[0].Kinds[1].Lost, p.Merges[0].Kinds[1].Lost...)
		},
		"merge at decide: result merged of 0 branches":                                   func(p *landscape.Passage) { p.Merges[0].Kinds[0].Arrived, p.Merges[0].Kinds[0].Origins = nil, nil },
		`merge at decide: result refused with the code ""`:                               func(p *landscape.Passage) { p.Merges[0].Kinds[1].Code = "" },
		"merge at decide: policy require_all with a quorum of 3":                         func(p *landscape.Passage) { p.Merges[0].Kinds[0].Quorum = 3 },
		"merge at decide: node, policy, merge, fired_by, result or branches are missing": func(p *landscape.Passage) { p.Merges[0].Kinds[0].FiredBy = "" },
	} {
		t.Run(strings.ReplaceAll(want, " ", "_"), func(t *testing.T) {
			p := s.Passage(0)
			tamper(&p)
			require.ErrorContains(t, log.RecordPassage(t.Context(), p), want)
			require.Empty(t, stored[landscape.PassageRecord](t, d, s.Run))
		})
	}
}

// refusedFolds tampers with folds of a graph scene; none of it may be recorded afterwards.
func refusedFolds(t *testing.T, d landscape.Driver) {
	s := GraphScene{Run: "refused folds", Chunks: 2, ChunkRows: 6}
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(t.Context(), log))
	for _, turn := range s.turns()[:5] { // up to the passage of chunk 1
		require.NoError(t, turn.do(t.Context(), log))
	}
	for want, tamper := range map[string]func(f *landscape.Fold){
		"folds refused folds/totals/4: not in the landscape": func(f *landscape.Fold) { f.Fold = 5 },
		"a fold of kind tick takes no chunk":                 func(f *landscape.Fold) { f.Kind = landscape.TickFold },
		"there is no fold of kind \"\"":                      func(f *landscape.Fold) { f.Kind, f.Source, f.Arrivals, f.Batches, f.Derived = "", "", nil, nil, nil },
		"passages refused folds/orders/7: not":               func(f *landscape.Fold) { f.Chunk = 7 },
		"row 0 of the chunk in lane 3 came here: true, is in batch 0": func(f *landscape.Fold) {
			f.Arrivals = nil
		},
		"row 1 of the chunk in lane 3 came here: false, is in batch 1": func(f *landscape.Fold) { f.Arrivals[0].Batches[1] = 1 },
		"row 0 of the chunk in lane 1 came here: false, is in batch 1": func(f *landscape.Fold) { f.Arrivals[0].Lane = CostLane },
		"lane 5 of source orders":                                      func(f *landscape.Fold) { f.Arrivals[0].Lane = RawLane },
		"lane 3: 2 members for 6 rows":                                 func(f *landscape.Fold) { f.Arrivals[0].Batches = f.Arrivals[0].Batches[:2] },
		"the lane is there twice":                                      func(f *landscape.Fold) { f.Arrivals = append(f.Arrivals, f.Arrivals[0]) },
		"batch 1 is there twice":                                       func(f *landscape.Fold) { f.Batches = append(f.Batches, f.Batches[0]) },
		"its tokens cannot end as buffered":                            func(f *landscape.Fold) { f.Batches[0].Path = pipeline.Buffered },
		"nothing fired it":                                             func(f *landscape.Fold) { f.Batches[0].Trigger = "" },
		"its tokens ended as coalesced, with a merge: false":           func(f *landscape.Fold) { f.Batches[0].Path = pipeline.Coalesced },
		"and came too late for batch 9":                                func(f *landscape.Fold) { f.Batches[0].Of = 9 },
		"it has no rows":                                               func(f *landscape.Fold) { f.Batches[0].Rows = 0 },
		"batch 1 fired with 1 rows, of which 2 came in this fold":      func(f *landscape.Fold) { f.Batches[0].Rows = 1 },
		"batch 2 fired with 4 rows, of which 0 came in this fold":      func(f *landscape.Fold) { f.Batches[0].Batch = 2 },
		"1 rows and 0 batches more fired than were held":               func(f *landscape.Fold) { f.Batches[0].Rows++ },
		"a chunk of ranked in run refused folds came out":              func(f *landscape.Fold) { f.Derived[0].Chunk.Source = "ranked" },
		"1 rows, but 0 batches and 0 parents":                          func(f *landscape.Fold) { f.Derived[0].Batches = nil },
		"row 0 comes from no token":                                    func(f *landscape.Fold) { f.Derived[0].Parents = []landscape.Token{{Row: 1, Lane: 99}} },
		"it has no payload":                                            func(f *landscape.Fold) { f.Derived[0].Chunk.Pack = "" },
		"at the end 2 rows in 1 batches are still held": func(f *landscape.Fold) {
			*f = landscape.Fold{Run: f.Run, Node: f.Node, Fold: 1, Kind: landscape.EndFold, At: 1}
		},
	} {
		t.Run(strings.ReplaceAll(want, " ", "_"), func(t *testing.T) {
			f := s.TotalsFold(1)
			tamper(&f)
			require.ErrorContains(t, log.RecordFold(t.Context(), f), want)
			require.Len(t, stored[landscape.FoldRecord](t, d, s.Run), 1)
			require.Empty(t, stored[landscape.BatchRecord](t, d, s.Run))
		})
	}
	t.Run("after the end", func(t *testing.T) {
		require.NoError(t, s.PlayToEnd(t.Context(), log))
		more := landscape.Fold{Run: s.Run, Node: "totals", Fold: 3, Kind: landscape.TickFold, At: 1}
		require.ErrorContains(t, log.RecordFold(t.Context(), more), "fold 2 was the last")
	})
	t.Run("other content diverges", func(t *testing.T) {
		f := s.TotalsFold(1)
		f.Batches[0].Trigger = "when"
		var diverged *landscape.DivergedError
		require.ErrorAs(t, log.RecordFold(t.Context(), f), &diverged)
		require.Equal(t, landscape.DivergedError{Table: "batches", Key: "refused folds/totals/1", Column: "trigger"}, *diverged)
	})
}

// refusedMerges tampers with the merges of a held coalesce.
func refusedMerges(t *testing.T, d landscape.Driver) {
	s := GraphScene{Run: "refused merges", Chunks: 2, ChunkRows: 6}
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(t.Context(), log))
	turns := s.turns()
	for _, turn := range turns[:len(turns)-3] { // up to the passage of ranked
		require.NoError(t, turn.do(t.Context(), log))
	}
	for want, tamper := range map[string]func(m *landscape.Merge){
		"a merge of decide with 2 branches":         func(m *landscape.Merge) { m.Kind, _, _ = mergeKinds() },
		"a merge of both with 1 branches":           func(m *landscape.Merge) { m.Arrivals = m.Arrivals[:1] },
		"branch best arrived as number 0, not raw":  func(m *landscape.Merge) { slices.Reverse(m.Arrivals) },
		"its result is merged, its row 0":           func(m *landscape.Merge) { m.OutRow = 0 },
		"fork parent: lane 0 of source totals":      func(m *landscape.Merge) { m.Key.Lane = 0 },
		"lane 7 of source totals: not in the lands": func(m *landscape.Merge) { m.Arrivals[1].Token.Source = "totals" },
		"field x comes from branch y":               func(m *landscape.Merge) { m.Kind.Origins = []landscape.FieldOrigin{{Field: "x", Branch: "y"}} },
	} {
		t.Run(strings.ReplaceAll(want, " ", "_"), func(t *testing.T) {
			f := s.BothFold(s.Totals())
			tamper(f.Batches[0].Merge)
			require.ErrorContains(t, log.RecordFold(t.Context(), f), want)
			require.Empty(t, stored[landscape.MergeRecord](t, d, s.Run))
		})
	}
	require.NoError(t, s.Play(t.Context(), log))
}

// refusedRuns tampers with the lanes of a run.
func refusedRuns(t *testing.T, d landscape.Driver) {
	log := landscape.New(d, nil)
	for want, tamper := range map[string]func(g *landscape.Graph){
		"lane 5 stands at place 1":                        func(g *landscape.Graph) { g.Lanes[1].Lane = 5 },
		"lane 0 is a root lane, and has a name or a node": func(g *landscape.Graph) { g.Lanes[0].Fork = "split" },
		"lane 1 has no name, node or fork":                func(g *landscape.Graph) { g.Lanes[1].Name = "" },
		"lane 1 does not come from an earlier lane of or": func(g *landscape.Graph) { g.Lanes[1].Parent = &g.Lanes[2].Lane },
		"lane 5 does not come from an earlier lane of to": func(g *landscape.Graph) { g.Lanes[5].Parent = &g.Lanes[0].Lane },
		"source both has no root lane":                    func(g *landscape.Graph) { g.Lanes = g.Lanes[:8] },
	} {
		t.Run(strings.ReplaceAll(want, " ", "_"), func(t *testing.T) {
			run, graph := GraphScene{Run: "refused run"}.Graph()
			tamper(&graph)
			require.ErrorContains(t, log.BeginRun(t.Context(), run, graph), want)
			require.Empty(t, stored[landscape.RunHead](t, d, "refused run"))
		})
	}
}
