package memdriver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/landscape/landscapetest"
	"waymark/landscape/memdriver"
	"waymark/pipeline"
)

// TestSweepOfWhatTablesRefuse looks for flaws that the SQL drivers do not even take.
func TestSweepOfWhatTablesRefuse(t *testing.T) {
	s := landscapetest.GraphScene{Run: "r", Chunks: 2, ChunkRows: 6}
	for name, c := range map[string]struct {
		check  string
		record landscape.Record
	}{
		"a key merged twice": {"merge_once", landscape.MergeRecord{
			Run: s.Run, Node: "both", Batch: 9, Source: "totals", Lane: landscapetest.TotalsLane, Row: 1,
		}},
		"rows held at the end": {"members_settled", landscape.FoldRecord{
			Run: s.Run, Node: "totals", Fold: 3, Kind: landscape.EndFold, Held: 1, Opened: 1, Open: 1,
		}},
		"a way with the path of a batch": {"illegal_outcome", landscape.WayRecord{
			Run: s.Run, Way: "0", Path: string(pipeline.BatchConsumed), Outcome: string(pipeline.Transient), LastNode: "totals",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			driver := memdriver.New()
			log := landscape.New(driver, nil)
			require.NoError(t, s.PlayToEnd(t.Context(), log))
			require.NoError(t, driver.Commit(t.Context(), landscape.Tx{Insert: []landscape.Record{c.record}}))
			findings, err := log.Sweep(t.Context(), s.Run, false)
			require.NoError(t, err)
			var checks []string
			for _, f := range findings {
				checks = append(checks, f.Check)
			}
			require.Contains(t, checks, c.check)
		})
	}
}
