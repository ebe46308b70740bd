package landscapetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// emptyLanes records a chunk of which no row comes to the fork: only its root lane is recorded.
func emptyLanes(t *testing.T, d landscape.Driver) {
	s := GraphScene{Run: "empty lanes", Chunks: 1, ChunkRows: 3}
	log := forkScene(t, d, s)
	p := s.passage(Orders, 0)
	none := []uint16{landscape.NoToken, landscape.NoToken, landscape.NoToken}
	p.Lanes = []landscape.LaneRoutes{
		{Lane: OrdersLane, Ways: []landscape.Way{graphWays()["source refused"]}, Codes: make([]uint16, 3)},
		{Lane: CostLane, Codes: none}, {Lane: DecideLane, Codes: none},
	}
	p.Merges = []landscape.LaneMerges{{Lane: DecideLane, Codes: none}}
	for i := range 3 {
		p.Errors = append(p.Errors, s.refusal(OrdersLane, i, int64(i)+1))
	}
	require.NoError(t, log.RecordPassage(t.Context(), p))
	require.Len(t, stored[landscape.PassageRecord](t, d, s.Run), 1)
	require.Empty(t, stored[landscape.MergeCodes](t, d, s.Run))
	_, err := log.WayOf(t.Context(), s.Run, landscape.Token{Source: Orders, Lane: CostLane, Row: 1})
	require.ErrorIs(t, err, landscape.ErrNotFound)
	_, err = log.MergeOfFork(t.Context(), s.Run, landscape.Token{Source: Orders, Lane: OrdersLane, Row: 1})
	require.ErrorIs(t, err, landscape.ErrNotFound)
}

// wideLanes records a chunk whose tokens take so many ways in a branch that one byte has no room for "no token"; all its
// branches are lost, so that nothing comes of the merges.
func wideLanes(t *testing.T, d landscape.Driver) {
	const rows = 256
	s := GraphScene{Run: "wide lanes", Chunks: 1, ChunkRows: rows}
	log := forkScene(t, d, s)
	p := s.passage(Orders, 0)
	discarded := graphWays()["priced"]
	discarded.Path, discarded.Steps = pipeline.GateDiscarded, discarded.Steps[:3]
	cost := landscape.LaneRoutes{Lane: CostLane}
	for i := range rows {
		way := discarded
		way.Steps = slices.Clone(discarded.Steps)
		way.Steps[2].Label = fmt.Sprint("label ", i)
		cost.Ways, cost.Codes = append(cost.Ways, way), append(cost.Codes, uint16(i))
	}
	species := graphWays()["species"]
	species.Path, species.First, species.Steps = pipeline.FilterDropped, 2, species.Steps[:2]
	kind, _, _ := mergeKinds()
	kind.Arrived, kind.Origins, kind.Collisions, kind.FiredBy, kind.Result = nil, nil, nil, "lost", landscape.MergeNothing
	kind.Lost = []landscape.LostBranch{{Branch: "cost", Reason: pipeline.GateDiscarded}, {Branch: "species", Reason: pipeline.FilterDropped}}
	p.Lanes = []landscape.LaneRoutes{
		{Lane: OrdersLane, Ways: []landscape.Way{graphWays()["split"]}, Codes: make([]uint16, rows)}, cost,
		{Lane: SpeciesLane, Ways: []landscape.Way{species}, Codes: make([]uint16, rows)},
	}
	p.Merges = []landscape.LaneMerges{{Lane: DecideLane, Kinds: []landscape.MergeKind{kind}, Codes: make([]uint16, rows)}}
	require.NoError(t, log.RecordPassage(t.Context(), p))

	way, err := log.WayOf(t.Context(), s.Run, landscape.Token{Source: Orders, Lane: CostLane, Row: rows})
	require.NoError(t, err)
	require.Equal(t, cost.Ways[rows-1], way)
	join, err := log.MergeOfFork(t.Context(), s.Run, landscape.Token{Source: Orders, Row: rows})
	require.NoError(t, err)
	require.Equal(t, kind, join.Kind)
	require.Nil(t, join.Token)
}

// forkScene returns a log in which the scene has begun and its first chunk is read.
func forkScene(t *testing.T, d landscape.Driver, s GraphScene) *landscape.Log {
	t.Helper()
	log := landscape.New(d, nil)
	require.NoError(t, s.Begin(t.Context(), log))
	chunk, records := s.Chunk(0)
	require.NoError(t, log.RecordChunk(t.Context(), chunk, records))
	return log
}
