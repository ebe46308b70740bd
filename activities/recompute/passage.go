package recompute

import (
	"encoding/hex"

	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// PassageOf puts the engine's result for a chunk into the landscape's words. Times, attempt and worker are left out.
func PassageOf(p *plan.Plan, run, source string, ordinal int64, chunk *plugin.Chunk, result *engine.Result) landscape.Passage {
	passage := landscape.Passage{Run: run, Source: source, Chunk: ordinal, Errors: Rejections(chunk, result.Rejected)}
	for _, lane := range result.Lanes {
		routes := landscape.LaneRoutes{Lane: int64(lane.Lane), Codes: lane.Codes}
		for i, way := range lane.Ways {
			routes.Ways = append(routes.Ways, WayOf(p, lane.Lane, way))
			routes.Sums = appendSums(routes.Sums, p, i, way)
		}
		passage.Lanes = append(passage.Lanes, routes)
	}
	for _, column := range result.Columns {
		passage.Hashes = append(passage.Hashes, landscape.NodeHashes{Lane: int64(column.Lane), Node: p.Nodes[column.Node].Name, Hashes: column.Hashes})
	}
	for _, key := range result.Keys {
		passage.Keys = append(passage.Keys, landscape.KeyColumn{Field: key.Field, Hashes: key.Hashes})
	}
	for _, column := range result.Repeats {
		repeats := landscape.RepeatColumn{Lane: int64(column.Lane), Node: p.Nodes[column.Node].Name, Firsts: make([]landscape.Token, len(column.Firsts))}
		for i, first := range column.Firsts {
			if first.Row > 0 {
				repeats.Firsts[i] = TokenOf(p, first)
			}
		}
		passage.Repeats = append(passage.Repeats, repeats)
	}
	for _, column := range result.Fields {
		sink := &p.Nodes[column.Node]
		passage.Fields = append(passage.Fields, landscape.FieldValues{
			Lane: int64(column.Lane), Sink: sink.Name, Names: sink.Shown, Rows: column.Rows, Ends: column.Ends, Values: column.Values,
		})
	}
	for _, merges := range result.Merges {
		passage.Merges = append(passage.Merges, mergesOf(p, merges))
	}
	for i, arrivals := range result.Arrivals {
		if arrivals != nil {
			passage.Feeds = append(passage.Feeds, p.Nodes[i].Name)
		}
	}
	for _, i := range p.Sinks() {
		if part := &result.Parts[i]; part.Rows > 0 {
			passage.Writes = append(passage.Writes, landscape.Write{
				Sink: p.Nodes[i].Name, Bytes: int64(len(part.Data)), SHA256: hex.EncodeToString(part.SHA256[:]), Beyond: part.Beyond,
			})
		}
	}
	return passage
}

// appendSums puts the totals of a way into the landscape's words, without those that a step did not change.
func appendSums(sums []landscape.WaySum, p *plan.Plan, number int, way engine.Way) []landscape.WaySum {
	for i, sum := range way.Sums {
		reading := &p.Nodes[way.Steps[sum.Step].Node].Totals[sum.Total]
		begins := i < len(p.Totals)
		if begins && sum.None || !begins && !reading.Changes() {
			continue
		}
		sums = append(sums, landscape.WaySum{
			Way: number, Total: p.Totals[sum.Total].Name, Seq: int64(sum.Step), Amount: sum.Sum.String(), Unreadable: int64(sum.Unreadable),
		})
	}
	return sums
}

// WayOf puts a way into the landscape's words, in which a sink that got the rows is not a step.
func WayOf(p *plan.Plan, lane int, way engine.Way) landscape.Way {
	out := landscape.Way{Lane: int64(lane), First: way.First, Path: way.Path, Sink: way.SentTo}
	for _, step := range way.Steps {
		if name := p.Nodes[step.Node].Name; name != way.SentTo {
			out.Steps = append(out.Steps, landscape.Step{Node: name, Label: step.Label, Lane: int64(step.Lane)})
		}
	}
	return out
}

// AddAmounts says of refused rows what the totals of the plan come to, as their chunk went through the steps.
func AddAmounts(p *plan.Plan, refused []landscape.Rejection, result *engine.Result) {
	for k := range refused {
		for i, held := range result.Late[engine.At{Lane: int(refused[k].Lane), Index: refused[k].Index}] {
			refused[k].Amounts = append(refused[k].Amounts, landscape.RowAmount{Total: p.Totals[i].Name, Amount: held.Sum.String(), Unreadable: held.Unreadable})
		}
	}
}

// LateOf returns the tokens that were refused, as engine.Input has them.
func LateOf(refused []landscape.Rejection) map[engine.At]bool {
	late := map[engine.At]bool{}
	for _, r := range refused {
		late[engine.At{Lane: int(r.Lane), Index: r.Index}] = true
	}
	return late
}

// Rejections puts rows of a chunk that were rejected into the landscape's words.
func Rejections(chunk *plugin.Chunk, rejected []engine.Rejected) []landscape.Rejection {
	out := make([]landscape.Rejection, len(rejected))
	for k, row := range rejected {
		record := chunk.Record(row.Index)
		out[k] = landscape.Rejection{
			Lane: int64(row.Lane), Index: row.Index, Code: row.Code, Field: row.Field, Message: row.Message,
			Raw: record, Bytes: int64(len(record)), Line: chunk.Line(row.Index), Offset: chunk.FirstOffset + int64(chunk.Offsets[row.Index]),
		}
	}
	return out
}
