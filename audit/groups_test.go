package audit_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/engine/barrier"
	"waymark/landscape"
	"waymark/pipeline"
)

var manyGroups = flag.Bool("groups", false, "have more groups than a barrier holds, as make nightly has")

// TestRowsTurnedAway holds what is recorded of rows for whose groups a barrier has no room: one batch for each fold, a refusal for each
// row, and of each the row that it came of.
func TestRowsTurnedAway(t *testing.T) {
	if !*manyGroups {
		t.Skip("a barrier holds 200,000 groups: -groups has more")
	}
	const room, more = 200_000, 3_000
	var rows strings.Builder
	rows.WriteString("k,v\n")
	for i := range room + more {
		fmt.Fprintf(&rows, "g%d,1\n", i)
	}
	rows.WriteString("g0,1\n")
	for i := range more {
		fmt.Fprintf(&rows, "g%d,1\n", room+i)
	}
	s := newFixture(t)
	s.Write(t, map[string]string{"groups.csv": rows.String()})
	result, err := s.Run(t, run, "name: groups\nchunk: {rows: 100000}\nsources: {in: {csv: {path: groups.csv}, schema: {fields: {k: string, v: int}}}}\n"+
		"steps: [{name: sums, aggregate: {group_by: [k], compute: {n: count()}}}]\nsinks: {out: {csv: {path: out/sums.csv}}}\n")
	require.NoError(t, err)
	require.Equal(t, pipeline.CompletedWithFailures, result.Status)
	require.Contains(t, s.Read(t, "out/sums.csv"), "g0,2\n")

	batches, err := landscape.Select[landscape.BatchRecord](t.Context(), s.Log, run, "sums")
	require.NoError(t, err)
	var away []landscape.BatchRecord
	for _, batch := range batches {
		if batch.Trigger == barrier.FiredByArrival {
			away = append(away, batch)
		}
	}
	require.Len(t, away, 1, "the chunk that comes third brings all of them")
	require.EqualValues(t, 2*more, away[0].Rows)
	require.Len(t, batches, room+1)
	groups, err := s.Log.ErrorGroups(t.Context(), run)
	require.NoError(t, err)
	require.Len(t, groups, 1)
	require.Equal(t, barrier.CodeTooManyGroups, groups[0].Code)
	require.EqualValues(t, 2*more, groups[0].Count)

	for row, of := range map[int64]int64{1: room + 1, more: room + more, more + 1: room + more + 2, 2 * more: room + 2*more + 1} {
		story := explain(t, s, audit.Question{Token: fmt.Sprintf("sums:%d", row)})
		require.Equal(t, fmt.Sprintf("in:%d", of), story.MadeOf[0].Parent)
		require.Empty(t, story.MadeOf[0].Terms)
		story = explain(t, s, audit.Question{Source: "in", Row: of})
		require.Equal(t, []string{fmt.Sprintf("sums:%d", row)}, story.Held.Became)
	}
	report, err := auditor(s).VerifyWith(t.Context(), run, audit.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Problems)
	require.Empty(t, report.NotChecked)
}
