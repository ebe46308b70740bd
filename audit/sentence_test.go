package audit

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/pipeline"
)

// TestSentences holds the sentence of each way a row can end.
func TestSentences(t *testing.T) {
	gate := Visit{Node: "triage", Operation: "gate", Expression: "row.total > 5", Values: []Value{{Source: "row.total > 5", Value: "true"}}}
	refused := Visit{Node: "judge", Refused: &Rejection{Code: "RANGE", Message: "too large"}}
	for _, c := range []struct {
		fate Fate
		want string
	}{
		{Fate{Path: string(pipeline.DefaultFlow), Sink: "out", Line: 3, Output: "out.csv"}, "became row 3 of out.csv."},
		{Fate{Path: string(pipeline.DefaultFlow), Sink: "table", Line: 3}, "became row 3 of table."},
		{Fate{Path: string(pipeline.DefaultFlow), Sink: "out"}, "is for out, which has not confirmed it yet."},
		{Fate{Path: string(pipeline.GateRouted), Sink: "out", Line: 3, Output: "out.csv", Nodes: []Visit{gate}}, "became row 3 of out.csv, because at triage row.total > 5 was true."},
		{Fate{Path: string(pipeline.GateDiscarded), Nodes: []Visit{gate}}, "was discarded by the gate triage, because at triage row.total > 5 was true."},
		{Fate{Path: string(pipeline.FilterDropped), Nodes: []Visit{gate}}, "was dropped at triage, because at triage row.total > 5 was true."},
		{Fate{Path: string(pipeline.OnErrorRouted), Nodes: []Visit{refused}}, "was refused by judge with RANGE: too large; it is in quarantine."},
		{Fate{Path: string(pipeline.OnErrorRouted), Nodes: []Visit{refused}, Sink: "bad", Line: 1, Output: "bad.csv"}, "was refused by judge with RANGE: too large, and became row 1 of bad.csv."},
		{Fate{Path: string(pipeline.OnErrorRouted), RefusedBy: "table", Refused: refused.Refused}, "was refused by table with RANGE: too large; it is in quarantine."},
		{Fate{Path: string(pipeline.QuarantinedAtSource), Nodes: []Visit{refused}}, "was refused when it was read by judge with RANGE: too large; it is in quarantine."},
		{Fate{Path: string(pipeline.Unrouted), Nodes: []Visit{refused}}, "was refused by judge with RANGE: too large; it is in quarantine."},
		{Fate{Path: string(pipeline.SinkDiscarded), Nodes: []Visit{refused}}, "was refused by judge with RANGE: too large, and discarded as the document says."},
		{Fate{Path: string(pipeline.Coalesced), Merged: &Decision{Token: "in:7/both"}}, "became part of a merged row, in:7/both."},
		{Fate{Path: string(pipeline.ForkParent), Nodes: []Visit{gate}}, "was copied at triage: its copies went on."},
		{Fate{Path: string(pipeline.ExpandParent), Nodes: []Visit{gate}}, "was taken apart at triage: the rows of its elements went on."},
		{Fate{Path: string(pipeline.BatchConsumed), Held: &Holding{Batch: Batch{Barrier: "daily", Number: 4}}}, "became part of batch 4 of daily."},
		{Fate{Path: string(pipeline.BranchNotNeeded)}, "was not needed: a coalesce had decided without it."},
		{Fate{Path: string(pipeline.Buffered), Nodes: []Visit{{Node: "daily"}}}, "is held by daily."},
		{Fate{}, "is in flight: its end is not recorded yet."},
	} {
		s := Explanation{Token: "in:7", Source: Origin{Name: "in", Row: 7, Line: 8, File: "in.csv"}, Fate: c.fate}
		require.Equal(t, "Record 7 (line 8 of in.csv) "+c.want, s.Sentence())
	}
	s := Explanation{Token: "in:7/left", Source: Origin{Name: "in", Row: 7, Line: 8, File: "in.csv"}}
	require.Equal(t, "in:7/left, a copy of record 7 (line 8 of in.csv), is in flight: its end is not recorded yet.", s.Sentence())
	s = Explanation{Token: "daily:2", MadeOf: []BarrierOrigin{{Batch: Batch{Barrier: "daily"}}}, Fate: Fate{Path: string(pipeline.DefaultFlow), Sink: "out", Line: 2}}
	require.Equal(t, "daily:2, which daily made, became row 2 of out.", s.Sentence())
}
