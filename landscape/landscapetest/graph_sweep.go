package landscapetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
)

// graphFlaw is a graph scene that is not complete, and the check that must find it.
type graphFlaw struct {
	check string
	deep  bool                                            // only a deep sweep finds it
	skip  func(t turn) bool                               // steps that are not played
	add   func(s GraphScene) (records []landscape.Record) // what is recorded by hand afterwards
}

// graphSweeps looks for flaws of lanes, forks, merges and barriers.
func graphSweeps(t *testing.T, d landscape.Driver) {
	log := landscape.New(d, nil)
	for name, f := range graphFlaws() {
		t.Run(name, func(t *testing.T) {
			s := GraphScene{Run: name, Chunks: 2, ChunkRows: 6}
			require.NoError(t, s.Begin(t.Context(), log))
			for _, turn := range s.turns() {
				if f.skip == nil || !f.skip(turn) {
					require.NoError(t, turn.do(t.Context(), log))
				}
			}
			require.NoError(t, publish(t.Context(), log, s.Run))
			if f.add != nil {
				require.NoError(t, insert(t, d, f.add(s)...))
			}
			findings, err := log.Sweep(t.Context(), s.Run, f.deep)
			require.NoError(t, err)
			requireFinding(t, f.check, findings)
			if !f.deep {
				refusesToFinish(t, log, d, s.Run)
			}
		})
	}
}

func graphFlaws() map[string]graphFlaw {
	foldsOfBoth := func(from int64) func(turn) bool {
		return func(t turn) bool {
			return t.fold != nil && t.fold.Node == "both" && t.fold.Fold >= from || from == 0 && t.passage != nil && t.passage.Source == "both"
		}
	}
	return map[string]graphFlaw{
		"a branch with a token too many": {check: "fork_children", add: func(s GraphScene) []landscape.Record {
			way := graphWays()["priced"]
			way.Path = pipeline.FilterDropped
			return used(s, way, CostLane)
		}},
		"a fork into no branch": {check: "fork_children", add: func(s GraphScene) []landscape.Record {
			way := graphWays()["split"]
			way.Steps = way.Steps[:1]
			return used(s, way, OrdersLane)
		}},
		"an error of another lane": {check: "error_counts", add: func(s GraphScene) []landscape.Record {
			return []landscape.Record{landscape.RowError{
				ErrorHead: landscape.ErrorHead{
					ErrorKey: landscape.ErrorKey{Run: s.Run, Source: Orders, Row: 2, Lane: SpeciesLane, Node: "price"}, Code: "X", Line: 1, SentTo: pipeline.QuarantineSink,
				},
				ErrorHash: digest("x"), At: 1,
			}}
		}},
		"hashes of another lane": {check: "hash_counts", add: func(s GraphScene) []landscape.Record {
			return []landscape.Record{landscape.HashesRecord{
				Run: s.Run, Source: Orders, Lane: SpeciesLane, Node: "price", Rows: 1, Slots: []byte{0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, Hashes: hashOf("x", 1),
			}}
		}},
		"a merge too many":        {check: "merge_once", add: extraJoin},
		"a merge that no row has": {check: "merge_codes", deep: true, add: extraJoin},
		"a held merge without its how": {check: "merge_once", add: func(s GraphScene) []landscape.Record {
			return []landscape.Record{extraBatch(s, "both", "end", pipeline.Coalesced)}
		}},
		"a barrier without its end":   {check: "fold_sequence", skip: foldsOfBoth(2)},
		"a barrier without its folds": {check: "fold_sequence", skip: foldsOfBoth(0)},
		"a gap between folds": {check: "fold_sequence", skip: foldsOfBoth(2), add: func(s GraphScene) []landscape.Record {
			return []landscape.Record{landscape.FoldRecord{
				Run: s.Run, Node: "both", Fold: 7, Kind: landscape.EndFold, Chunk: -1, At: 1, Opened: 1,
			}}
		}},
		"rows that a barrier never took": {check: "members_settled", skip: foldsOfBoth(0)},
		"a batch without members":        {check: "members_settled", add: extraConsumed},
		"a batch with other members":     {check: "batch_rows", deep: true, add: extraConsumed},
		"rows that no fold gave": {check: "derived_rows", add: func(s GraphScene) []landscape.Record {
			chunk, _ := s.chunk("totals", 1, 2, 1)
			fold := int64(1)
			chunk.Fold, chunk.Read = &fold, 1
			return []landscape.Record{chunk, landscape.ParentsRecord{Run: s.Run, Source: "totals", Chunk: 1, Rows: 1, Batches: []byte{0, 0, 0, 1}}}
		}},
		"more parents than rows": {check: "derived_rows", add: func(s GraphScene) []landscape.Record {
			return []landscape.Record{landscape.ParentsRecord{Run: s.Run, Source: "totals", Slice: 1, Rows: 1, Batches: []byte{0, 0, 0, 1}}}
		}},
		"a merged row without a merge": {check: "merge_once", add: func(s GraphScene) []landscape.Record {
			chunk, _ := s.chunk("both", 1, 2, 1)
			fold := int64(1)
			chunk.Fold, chunk.Read = &fold, 1
			return []landscape.Record{chunk}
		}},
	}
}

// used says that one more token of the first chunk took a way.
func used(s GraphScene, way landscape.Way, lane int64) []landscape.Record {
	records := []landscape.Record{landscape.WayRecord{
		Run: s.Run, Way: way.ID(), Signature: way.Signature(), Outcome: string(way.Path.Outcome()), Path: string(way.Path),
		LastNode: way.Last(), Lane: lane, FirstSeq: int64(way.First),
	}}
	for i, step := range way.Steps {
		records = append(records, landscape.WayStepRecord{
			Run: s.Run, Way: way.ID(), Seq: int64(i), Node: step.Node, Label: step.Label, Lane: step.Lane,
		})
	}
	return append(records, landscape.ChunkWayRecord{Run: s.Run, Source: Orders, Lane: lane, Code: 9, Way: way.ID(), Rows: 1})
}

// extraJoin counts one more merge of the first chunk.
func extraJoin(s GraphScene) []landscape.Record {
	kind := landscape.MergeKindRecord{
		Run: s.Run, Kind: "0123456789abcdef", Node: "decide", Policy: pipeline.First, Merge: pipeline.Union, Expected: `["cost","species"]`,
		Arrived: `["cost"]`, Lost: `{}`, NotNeeded: `["species"]`, FiredBy: "first", Collisions: `[]`, Origins: `{}`, Result: landscape.MergeMerged,
	}
	return []landscape.Record{kind, landscape.ChunkMerge{Run: s.Run, Source: Orders, Lane: DecideLane, Code: 9,
		Kind: kind.Kind, Rows: 1}}
}

func extraConsumed(s GraphScene) []landscape.Record {
	return []landscape.Record{extraBatch(s, "totals", "rows", pipeline.BatchConsumed)}
}

func extraBatch(s GraphScene, node, trigger string, path pipeline.Path) landscape.BatchRecord {
	return landscape.BatchRecord{Run: s.Run, Node: node, Batch: 77, Fold: 1, Trigger: trigger, Path: path, Rows: 1, Opened: 1, Fired: 2}
}
