package landscapetest

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/pipeline/amount"
)

// sums returns the total `amount` of the ways of a scene: each row has a quarter of its number, and score adds 1. Of rows that the source
// refuses it cannot be read.
func (s Scene) sums(routes landscape.LaneRoutes, first int64) (sums []landscape.WaySum) {
	for number, way := range routes.Ways {
		read, scored := amount.Sum{}, amount.Sum{}
		rows, unreadable := int64(0), int64(0)
		for i, code := range routes.Codes {
			if int(code) != number {
				continue
			}
			quarter, err := amount.Parse(strconv.FormatFloat(float64(first+int64(i))/4, 'f', 2, 64))
			if err != nil {
				panic(err)
			}
			rows++
			read.Add(quarter)
			scored.Add(quarter)
			one, _ := amount.Parse("1")
			scored.Add(one)
		}
		if way.Path == pipeline.QuarantinedAtSource {
			read, unreadable = amount.Sum{}, rows
		}
		sums = append(sums, landscape.WaySum{Way: number, Total: "amount", Amount: read.String(), Unreadable: unreadable})
		if left(way, "score") {
			sums = append(sums, landscape.WaySum{Way: number, Total: "amount", Seq: 1, Amount: scored.String()})
		}
	}
	return sums
}

// amountOf returns the amount with which a row left the last step of its way.
func (s Scene) amountOf(way landscape.Way, row int64) string {
	one := s
	sums := one.sums(landscape.LaneRoutes{Codes: []uint16{0}, Ways: []landscape.Way{way}}, row)
	return sums[len(sums)-1].Amount
}

// totals are what is recorded of amounts, and what the view makes of it.
func totals(t *testing.T, d landscape.Driver) {
	ctx := t.Context()
	late := func(sink string, row int64) bool { return sink == "review" && row == 10 }
	s := Scene{Run: "sums", Chunks: 2, ChunkRows: 10, Amounts: true, Late: late}
	log := begun(t, d, s)
	none, err := log.Totals(ctx, s.Run)
	require.NoError(t, err)
	require.Nil(t, none)
	require.NoError(t, s.Read(ctx, log))
	for i := range s.Chunks {
		require.NoError(t, log.RecordPassage(ctx, s.Passage(i)))
		require.NoError(t, log.RecordPassage(ctx, s.Passage(i)), "a repeat adds nothing")
	}
	other := s.Passage(0)
	other.Lanes[0].Sums[0].Amount = "7"
	require.ErrorContains(t, log.RecordPassage(ctx, other), "way_totals")
	require.NoError(t, s.Write(ctx, log, 0))
	wholly, err := log.Totals(ctx, "sums")
	require.NoError(t, err)
	require.Equal(t, landscape.Totals{
		Nodes: []landscape.NodeTotal{
			account("strikes", landscape.SourceNode, "47.50", "0", "47.50", "0", "0", 2),
			account("score", landscape.StepNode, "47.50", "16.00", "58.00", "0", "5.50", 0),
			account("keep", landscape.StepNode, "58.00", "0", "44.00", "6.00", "8.00", 0),
			account("triage", landscape.StepNode, "44.00", "0", "29.00", "6.50", "8.50", 0),
			account("tidy", landscape.StepNode, "14.00", "0", "5.00", "0", "9.00", 0),
			account("review", landscape.SinkNode, "15.00", "0", "1.50", "0", "3.50", 0),
			account("all", landscape.SinkNode, "5.00", "0", "1.25", "0", "0", 0),
			account("rejects", landscape.SinkNode, "5.50", "0", "1.50", "0", "0", 0),
		},
		Quarantined: map[string]string{"amount": "20.00"}, Discarded: map[string]string{"amount": "21.50"}, Unreadable: 2,
	}, *wholly)
	requireView(t, log, *wholly)
}

func account(node string, kind landscape.NodeKind, in, revalued, out, dropped, diverted string, unreadable int64) landscape.NodeTotal {
	return landscape.NodeTotal{
		Total: "amount", Node: node, Kind: kind, In: in, Created: "0", Revalued: revalued, Out: out, Dropped: dropped, Diverted: diverted,
		Consumed: "0", Unreadable: unreadable,
	}
}

// wideTotals are amounts that some databases' numbers do not hold, and sums of such: a view that cannot add them up has none, and fails for no other.
func wideTotals(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "wide sums", Chunks: 2, ChunkRows: 10, Amounts: true}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	for i := range s.Chunks {
		p := s.Passage(i)
		for k := range p.Lanes[0].Sums {
			p.Lanes[0].Sums[k].Amount = []string{"99999999999999999999.1", "999999999999999999", "-1.5", "9223372036854775807"}[k%4]
		}
		require.NoError(t, log.RecordPassage(t.Context(), p))
	}
	totals, err := log.Totals(t.Context(), s.Run)
	require.NoError(t, err)
	for _, relation := range landscape.Relations() {
		if relation.Name != "node_totals" {
			continue
		}
		exact, none := 0, 0
		err := log.ReadRelation(t.Context(), relation, s.Run, func(v []any) bool {
			n := totals.Nodes[exact]
			exact++
			for i, want := range []string{n.In, n.Created, n.Revalued, n.Out, n.Dropped, n.Diverted, n.Consumed} {
				if v[5+i] == nil {
					none++
				} else {
					require.Equal(t, want, v[5+i], "%s, column %d", n.Node, 5+i)
				}
			}
			return true
		})
		if !errors.Is(err, landscape.ErrNoViews) {
			require.NoError(t, err)
			require.Len(t, totals.Nodes, exact)
			require.Less(t, none, 4*exact)
		}
	}
}

// nullTotals are amounts that a step made null, and amounts that it gave to rows that had none: the account says of how many rows.
func nullTotals(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "sums", Chunks: 1, ChunkRows: 10, Amounts: true}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	p, scored := s.Passage(0), []int{}
	sums := p.Lanes[0].Sums
	for k := range sums {
		if sums[k].Seq == 1 {
			scored = append(scored, k)
		}
	}
	sums[scored[0]].Unreadable = 1
	sums[scored[1]-1].Unreadable, sums[scored[2]-1].Unreadable = 1, 1 // as they were read
	require.NoError(t, log.RecordPassage(t.Context(), p))
	totals, err := log.Totals(t.Context(), s.Run)
	require.NoError(t, err)
	for i := range totals.Nodes {
		n := &totals.Nodes[i]
		before, after := int64(0), int64(0)
		if n.Node == "score" {
			before, after = 2, 1
		}
		require.Equal(t, []int64{before, after}, []int64{n.UnreadableBefore, n.UnreadableAfter}, n.Node)
		n.UnreadableBefore, n.UnreadableAfter = 0, 0 // the view does not have them
	}
	requireView(t, log, *totals)
}

// requireView compares the view of a driver that has views with the same totals.
func requireView(t *testing.T, log *landscape.Log, want landscape.Totals) {
	t.Helper()
	for _, relation := range landscape.Relations() {
		if relation.Name != "node_totals" {
			continue
		}
		var found []landscape.NodeTotal
		err := log.ReadRelation(t.Context(), relation, "sums", func(v []any) bool {
			text := func(i int) string { return fmt.Sprint(v[i]) }
			found = append(found, landscape.NodeTotal{
				Total: text(4), Node: text(2), Kind: landscape.NodeKind(text(3)), In: text(5), Created: text(6), Revalued: text(7), Out: text(8),
				Dropped: text(9), Diverted: text(10), Consumed: text(11), Unreadable: v[12].(int64),
			})
			return true
		})
		if !errors.Is(err, landscape.ErrNoViews) {
			require.NoError(t, err)
			require.Equal(t, want.Nodes, found)
		}
	}
}

// refusedTotals are sums that a way cannot have.
func refusedTotals(t *testing.T, d landscape.Driver) {
	s := Scene{Run: "refused sums", Chunks: 1, ChunkRows: 10, Amounts: true}
	log := begun(t, d, s)
	require.NoError(t, s.Read(t.Context(), log))
	for want, tamper := range map[string]func(sum *landscape.WaySum){
		"there is no such way":           func(sum *landscape.WaySum) { sum.Way = 10 },
		"it has no name":                 func(sum *landscape.WaySum) { sum.Total = "" },
		"step 5 is none of the token's":  func(sum *landscape.WaySum) { sum.Seq = 5 },
		"step -1 is none of the token's": func(sum *landscape.WaySum) { sum.Seq = -1 },
		"2 of 1 amounts are unreadable":  func(sum *landscape.WaySum) { sum.Unreadable = 2 },
		`"1e3" is not an amount`:         func(sum *landscape.WaySum) { sum.Amount = "1e3" },
		"it is there twice":              func(sum *landscape.WaySum) { sum.Seq = 1 },
	} {
		p := s.Passage(0)
		tamper(&p.Lanes[0].Sums[0])
		require.ErrorContains(t, log.RecordPassage(t.Context(), p), want, want)
		require.Empty(t, stored[landscape.PassageRecord](t, d, s.Run))
	}
}
