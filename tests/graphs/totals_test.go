package graphs_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/tests/graphs"
)

// ledger is what a node has of a total whose amounts are ints.
type ledger struct{ in, out, dropped, diverted, consumed int64 }

// requireTotals holds the totals that random documents have against rows: `ones` counts them, and `n` adds up the field n of the rows that
// the interpreter has at their ends, and of those that sources have.
func (r *record) requireTotals(t *testing.T, run string, doc *pipeline.Document, files map[string]string, want *graphs.Result) {
	t.Helper()
	totals, err := r.Log.Totals(t.Context(), run)
	require.NoError(t, err)
	if len(doc.Pipeline.Totals) == 0 || len(want.Tokens) == 0 {
		require.Nil(t, totals, "%s\n%s", run, doc.Source)
		return
	}
	ends := ledgers(doc, graphs.Read(doc, files), want)
	for _, a := range totals.Nodes {
		place := []any{"%s, total %s at %s\n%s", run, a.Total, a.Node, doc.Source}
		require.Equal(t, number(t, a.In)+number(t, a.Created)+number(t, a.Revalued),
			number(t, a.Out)+number(t, a.Dropped)+number(t, a.Diverted)+number(t, a.Consumed), place...)
		if a.Total == "ones" {
			requireCounts(t, a, want.Nodes[a.Node], place)
			continue
		}
		end := ends[a.Node]
		if a.Kind == landscape.SourceNode {
			require.Equal(t, end.in, number(t, a.In), place...)
		}
		if a.Kind == landscape.SinkNode {
			require.Equal(t, end.out, number(t, a.Out), place...)
		}
		require.Equal(t, []int64{end.dropped, end.diverted, end.consumed}, []int64{number(t, a.Dropped), number(t, a.Diverted), number(t, a.Consumed)}, place...)
	}
}

// requireCounts compares a total whose amount is 1 of every row with counts. A row that was refused before it was one has no amount.
func requireCounts(t *testing.T, a landscape.NodeTotal, counts *graphs.Counts, place []any) {
	t.Helper()
	require.Equal(t, int64(counts.In+counts.Created), number(t, a.In)+number(t, a.Created)+a.Unreadable, place...)
	out, diverted := number(t, a.Out), number(t, a.Diverted)
	if a.Kind == landscape.SinkNode { // of refused rows
		out += a.Unreadable
	} else {
		diverted += a.Unreadable
	}
	require.Equal(t, []int64{int64(counts.Out), int64(counts.Dropped), int64(counts.Diverted), int64(counts.Consumed)},
		[]int64{out, number(t, a.Dropped), diverted, number(t, a.Consumed)}, place...)
}

// ledgers adds up the field n by the node where rows ended, and of what sources have. What a source, a coalesce or a barrier
// refuses to make is not a row.
func ledgers(doc *pipeline.Document, in graphs.Input, want *graphs.Result) map[string]*ledger {
	all := map[string]*ledger{}
	for node := range want.Nodes {
		all[node] = &ledger{}
	}
	for source, chunks := range in.Sources {
		for _, records := range chunks {
			for _, record := range records {
				all[source].in += n(record.Row)
			}
		}
	}
	coalesces := map[string]bool{}
	for _, step := range doc.Pipeline.Steps {
		coalesces[step.Name] = step.Coalesce != nil
	}
	for _, token := range want.Tokens {
		at := all[token.Node]
		switch path := token.Path; {
		case path.Outcome() == pipeline.Failure && (coalesces[token.Node] || token.Source == token.Node):
		case path.Outcome() == pipeline.Failure:
			at.diverted += n(token.Row)
			if sink := all[token.Sink]; sink != nil {
				sink.out += n(token.Row)
			}
		case path == pipeline.DefaultFlow || path == pipeline.GateRouted:
			at.out += n(token.Row)
		case path == pipeline.FilterDropped || path == pipeline.GateDiscarded:
			at.dropped += n(token.Row)
		default:
			at.consumed += n(token.Row)
		}
	}
	return all
}

// n returns the field n of a row, 0 if it has none.
func n(of row.Row) int64 {
	if of.Shape == nil {
		return 0
	}
	if value, ok := of.Get("n"); ok && value.Kind() == row.Int {
		return value.Int()
	}
	return 0
}

func number(t *testing.T, text string) int64 {
	t.Helper()
	value, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return value
}
