package audit_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/audit"
	"waymark/pipeline"
)

// TestSentences holds the sentence of each way a row can end.
func TestSentences(t *testing.T) {
	gate := audit.Visit{
		Node:       "triage",
		Operation:  "gate",
		Expression: "row.total > 5",
		Values:     []audit.Value{{Source: "row.total > 5", Value: "true"}},
	}
	refused := audit.Visit{Node: "judge", Refused: &audit.Rejection{Code: "RANGE", Message: "too large"}}
	origin := audit.Origin{Name: "in", Row: 7, Line: 8, File: "in.csv"}
	for _, c := range []struct {
		fate audit.Fate
		want string
	}{
		{
			audit.Fate{Path: string(pipeline.DefaultFlow), Sink: "out", Line: 3, Output: "out.csv"},
			"became row 3 of out.csv.",
		},
		{audit.Fate{Path: string(pipeline.DefaultFlow), Sink: "table", Line: 3}, "became row 3 of table."},
		{audit.Fate{Path: string(pipeline.DefaultFlow), Sink: "out"}, "is for out, which has not confirmed it yet."},
		{
			audit.Fate{
				Path:   string(pipeline.GateRouted),
				Sink:   "out",
				Line:   3,
				Output: "out.csv",
				Nodes:  []audit.Visit{gate},
			},
			"became row 3 of out.csv, because at triage row.total > 5 was true.",
		},
		{
			audit.Fate{Path: string(pipeline.GateDiscarded), Nodes: []audit.Visit{gate}},
			"was discarded by the gate triage, because at triage row.total > 5 was true.",
		},
		{
			audit.Fate{Path: string(pipeline.FilterDropped), Nodes: []audit.Visit{gate}},
			"was dropped at triage, because at triage row.total > 5 was true.",
		},
		{
			audit.Fate{Path: string(pipeline.OnErrorRouted), Nodes: []audit.Visit{refused}},
			"was refused by judge with RANGE: too large; it is in quarantine.",
		},
		{
			audit.Fate{
				Path:   string(pipeline.OnErrorRouted),
				Nodes:  []audit.Visit{refused},
				Sink:   "bad",
				Line:   1,
				Output: "bad.csv",
			},
			"was refused by judge with RANGE: too large, and became row 1 of bad.csv.",
		},
		{
			audit.Fate{Path: string(pipeline.OnErrorRouted), RefusedBy: "table", Refused: refused.Refused},
			"was refused by table with RANGE: too large; it is in quarantine.",
		},
		{
			audit.Fate{Path: string(pipeline.QuarantinedAtSource), Nodes: []audit.Visit{refused}},
			"was refused when it was read by judge with RANGE: too large; it is in quarantine.",
		},
		{
			audit.Fate{Path: string(pipeline.Unrouted), Nodes: []audit.Visit{refused}},
			"was refused by judge with RANGE: too large; it is in quarantine.",
		},
		{
			audit.Fate{Path: string(pipeline.SinkDiscarded), Nodes: []audit.Visit{refused}},
			"was refused by judge with RANGE: too large, and discarded as the document says.",
		},
		{
			audit.Fate{Path: string(pipeline.Coalesced), Merged: &audit.Decision{Token: "in:7/both"}},
			"became part of a merged row, in:7/both.",
		},
		{
			audit.Fate{Path: string(pipeline.ForkParent), Nodes: []audit.Visit{gate}},
			"was copied at triage: its copies went on.",
		},
		{
			audit.Fate{Path: string(pipeline.ExpandParent), Nodes: []audit.Visit{gate}},
			"was taken apart at triage: the rows of its elements went on.",
		},
		{
			audit.Fate{
				Path: string(pipeline.BatchConsumed),
				Held: &audit.Holding{Batch: audit.Batch{Barrier: "daily", Number: 4}},
			},
			"became part of batch 4 of daily.",
		},
		{audit.Fate{Path: string(pipeline.BranchNotNeeded)}, "was not needed: a coalesce had decided without it."},
		{audit.Fate{Path: string(pipeline.Buffered), Nodes: []audit.Visit{{Node: "daily"}}}, "is held by daily."},
		{audit.Fate{}, "is in flight: its end is not recorded yet."},
	} {
		s := audit.Explanation{Token: "in:7", Source: origin, Fate: c.fate}
		require.Equal(t, "Record 7 (line 8 of in.csv) "+c.want, s.Sentence())
	}
	s := audit.Explanation{Token: "in:7/left", Source: origin}
	require.Equal(t, "in:7/left, a copy of record 7 (line 8 of in.csv), is in flight: its end is not recorded yet.", s.Sentence())
	s = audit.Explanation{
		Token:  "daily:2",
		MadeOf: []audit.BarrierOrigin{{Batch: audit.Batch{Barrier: "daily"}}},
		Fate:   audit.Fate{Path: string(pipeline.DefaultFlow), Sink: "out", Line: 2},
	}
	require.Equal(t, "daily:2, which daily made, became row 2 of out.", s.Sentence())
}
