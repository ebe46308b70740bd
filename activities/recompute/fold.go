package recompute

import (
	"slices"

	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
)

// FoldOf adds to a fold what it gave, in the landscape's words: rows is how many rows the barrier had given out before. Members and the
// rows that came out are left out.
func FoldOf(p *plan.Plan, node int, fold landscape.Fold, rows int64, settled *barrier.Settlement) landscape.Fold {
	outs := map[uint32]int64{}
	if slices.ContainsFunc(settled.Batches, func(b barrier.Batch) bool { return b.Merge != nil }) {
		for i := range settled.Outs {
			outs[settled.Outs[i].Batch] = rows + int64(i) + 1
		}
	}
	for _, batch := range settled.Batches {
		fired := landscape.FiredBatch{
			Batch: int64(batch.Number), Trigger: batch.Trigger, Path: batch.Path, Rows: batch.Rows,
			Opened: landscape.MicrosOf(batch.Opened), Fired: landscape.MicrosOf(batch.Fired), Of: int64(batch.Of),
		}
		if batch.Merge != nil {
			fired.Merge = mergeOf(p, node, batch.Merge)
			if batch.Merge.HasOut {
				fired.Merge.OutRow = outs[batch.Number]
			}
		}
		fold.Batches = append(fold.Batches, fired)
	}
	return fold
}

// mergeOf puts a decision over one fork parent into the landscape's words. The merged row's number is left out.
func mergeOf(p *plan.Plan, node int, merge *barrier.Merge) *landscape.Merge {
	out := &landscape.Merge{Kind: KindOf(p, node, merge.Decision), Key: TokenOf(p, merge.Key), Wait: merge.Wait}
	for _, arrived := range merge.Arrived {
		out.Arrivals = append(out.Arrivals, landscape.MergeArrival{
			Branch: arrived.Branch, Token: TokenOf(p, arrived.Token), Offset: arrived.At.Sub(merge.Arrived[0].At),
		})
	}
	return out
}

// MembersOf puts the batches of what a chunk brought into columns, one for each lane. members has one batch for each arrival.
func MembersOf(chunk landscape.Chunk, arrivals *barrier.Arrivals, members []uint32) []landscape.LaneMembers {
	var lanes []landscape.LaneMembers
	at := map[int]int{}
	for i, arrival := range arrivals.List {
		lane := arrival.Token.Lane
		if _, known := at[lane]; !known {
			at[lane] = len(lanes)
			lanes = append(lanes, landscape.LaneMembers{Lane: int64(lane), Batches: make([]uint32, chunk.Rows)})
		}
		lanes[at[lane]].Batches[arrival.Token.Row-chunk.FirstRow] = members[i]
	}
	return lanes
}

// TokenOf puts a token into the landscape's words.
func TokenOf(p *plan.Plan, token barrier.Token) landscape.Token {
	return landscape.Token{Source: p.Nodes[p.Lanes[token.Lane].Origin].Name, Lane: int64(token.Lane), Row: token.Row}
}

// TokensOf puts tokens into the landscape's words.
func TokensOf(p *plan.Plan, parents []barrier.Token) []landscape.Token {
	var tokens []landscape.Token
	for _, token := range parents {
		tokens = append(tokens, TokenOf(p, token))
	}
	return tokens
}
