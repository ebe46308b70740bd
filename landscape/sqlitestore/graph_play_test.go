package sqlitestore_test

import (
	"context"
	"errors"
	"maps"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// play records the whole run.
func (g graph) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{g.begin, g.read, g.items, g.west, g.ends, g.publish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return g.log.FinishRun(ctx, g.run, pipeline.CompletedWithFailures, "done")
}

func (g graph) read(ctx context.Context) error {
	of := map[string]int64{"east": 3, "west": 2}
	for _, source := range slices.Sorted(maps.Keys(of)) {
		rows := of[source]
		chunk, records := g.chunk(source, 0, 1, rows)
		if err := g.log.RecordChunk(ctx, chunk, records); err != nil {
			return err
		}
		end := landscape.SourceEnd{Run: g.run, Source: source, Chunks: 1, Rows: rows, Bytes: chunk.Bytes, Digests: `[]`}
		if err := g.log.EndSource(ctx, end); err != nil {
			return err
		}
	}
	return nil
}

// items records what came of the rows of east: three items, one of which never comes to decide by species.
func (g graph) items(ctx context.Context) error {
	one, two := token(eastLane, 1), token(eastLane, 2)
	ways := opinions(itemsLane, "items > score", 3)
	ways[itemsLane+bySpecies][1] = "items > score > split[by_species] | known (filter_dropped)"
	return errors.Join(
		g.pass(ctx, "east", 0, 1, stories{eastLane: {"east > items (buffered)", "east > items (buffered)", "east > items[empty] (filter_dropped)"}}),
		g.fold(ctx, "items", 0, from{"east", 0, eastLane, []uint32{1, 1, 0}}, g.derive("items", 0, 1, []uint32{1, 1, 1}, one, one, two),
			fired(1, "arrival", pipeline.ExpandParent, 2)),
		g.pass(ctx, "items", 0, 1, ways, landscape.LaneMerges{
			Lane: itemsLane + decided, Kinds: []landscape.MergeKind{allCame(), speciesLost()}, Codes: []uint16{0, 1, 0},
		}),
		g.fold(ctx, "top", 0, from{"items", 0, itemsLane + ranked, []uint32{1, 1, 1}}, nil),
		g.fold(ctx, "both", 0, from{"items", 0, itemsLane + detail, []uint32{1, 2, 3}}, g.derive("both", 0, 1, []uint32{1, 2, 3}),
			first(1, "items", itemsLane, 1), first(2, "items", itemsLane, 2), first(3, "items", itemsLane, 3)),
		g.pass(ctx, "both", 0, 1, stories{bothLane: slices.Repeat([]string{"both > by_state (buffered)"}, 3)}),
		g.fold(ctx, "by_state", 0, from{"both", 0, bothLane, []uint32{1, 1, 2}}, nil),
	)
}

// west records what came of the rows of west: one takes the way of the items, one is refused.
func (g graph) west(ctx context.Context) error {
	ways := opinions(westLane, "west > score", 1)
	for lane := range ways {
		ways[lane] = append(ways[lane], "")
	}
	ways[westLane][1] = "west > score > rejects (on_error_routed)"
	return errors.Join(
		g.pass(ctx, "west", 0, 1, ways, landscape.LaneMerges{
			Lane: westLane + decided, Kinds: []landscape.MergeKind{allCame()}, Codes: []uint16{0, landscape.NoToken},
		}),
		g.write(ctx, "rejects", "west"),
		g.fold(ctx, "top", 1, from{"west", 0, westLane + ranked, []uint32{1, 0}}, nil),
		g.fold(ctx, "both", 1, from{"west", 0, westLane + detail, []uint32{4, 0}}, g.derive("both", 1, 4, []uint32{4}),
			first(4, "west", westLane, 1)),
		g.pass(ctx, "both", 1, 4, stories{bothLane: {"both > by_state (buffered)"}}),
		g.fold(ctx, "by_state", 1, from{"both", 1, bothLane, []uint32{1}}, nil),
	)
}

// ends records the ends of the barriers: the two highest ranks come too late, and the states are added up.
func (g graph) ends(ctx context.Context) error {
	late := func(batch, of int64) landscape.FiredBatch {
		b := fired(batch, "arrival", pipeline.BranchNotNeeded, 1)
		b.Of = of
		return b
	}
	return errors.Join(
		g.fold(ctx, "items", 1, end, nil),
		g.fold(ctx, "top", 2, end, g.derive("top", 0, 1, []uint32{1, 1}, token(itemsLane+ranked, 3), token(westLane+ranked, 1)),
			fired(1, "end", pipeline.BatchConsumed, 4)),
		g.pass(ctx, "top", 0, 1, stories{topLane: slices.Repeat([]string{"top > both (buffered)"}, 2)}),
		g.fold(ctx, "both", 2, from{"top", 0, topLane, []uint32{5, 6}}, nil, late(5, 3), late(6, 4)),
		g.fold(ctx, "both", 3, end, nil),
		g.fold(ctx, "by_state", 2, end, g.derive("by_state", 0, 1, []uint32{1, 2}),
			fired(1, "end", pipeline.BatchConsumed, 3), fired(2, "end", pipeline.BatchConsumed, 1)),
		g.pass(ctx, "by_state", 0, 1, stories{stateLane: slices.Repeat([]string{"by_state > states (default_flow)"}, 2)}),
		g.write(ctx, "states", "by_state"),
	)
}

// write records that the part of a chunk 0 was written, as the first of its sink.
func (g graph) write(ctx context.Context, sink, source string) error {
	return g.finalize(ctx, landscape.EffectKey{Run: g.run, Sink: sink, Source: source}, func(e landscape.Effect) error {
		return g.log.FinalizeEffect(ctx, e.Attempt("w1"), `{}`)
	})
}

func (g graph) publish(ctx context.Context) error {
	of := map[string]int64{"states": 2, "rejects": 1}
	for _, sink := range slices.Sorted(maps.Keys(of)) {
		rows := of[sink]
		if err := g.log.PreparePublish(ctx, g.run, sink, rows, 20); err != nil {
			return err
		}
		err := g.finalize(ctx, landscape.PublishKey(g.run, sink), func(e landscape.Effect) error {
			artifact := plugin.Artifact{Path: "out/" + sink, Bytes: 20, Rows: rows, SHA256: digest(sink)}
			return g.log.FinalizePublish(ctx, e.Attempt("w1"), artifact, "", "")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g graph) finalize(ctx context.Context, key landscape.EffectKey, finalize func(landscape.Effect) error) error {
	e, err := g.log.BeginEffect(ctx, key, landscape.Placement{}, "w1")
	if err != nil {
		return err
	}
	return finalize(e)
}
