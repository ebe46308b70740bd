package sqlitestore_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// graph is a made-up run in which rows are expanded, fork, meet in their own passage and across passages, wait and gather:
//
//	east > items (expand) > score > split (fork) > by_cost            > decide (coalesce)
//	west                  > score                > by_species > known > decide
//	decide > fan (fork) > detail       > both (coalesce) > by_state (aggregate) > states
//	                    > ranked > top > both
//
// with the sink rejects for rows that score refuses. The coalesce decide takes what comes; both takes the first.
type graph struct {
	run string
	log *landscape.Log
}

// play records the whole run.
func (g graph) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{g.begin, g.read, g.items, g.west, g.ends, g.publish} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return g.log.FinishRun(ctx, g.run, pipeline.CompletedWithFailures, "done")
}

func (g graph) begin(ctx context.Context) error {
	run := landscape.Run{
		RunHead: landscape.RunHead{
			ID: g.run, Pipeline: "opinions", DocumentSHA256: digest("document"), PlanSHA256: digest("plan"), Code: "test", Actor: "tester",
			Trigger: "cli", BaseDir: "/data",
		},
		Document: "name: opinions", Plan: `{}`, Params: `{}`, Refs: `[]`,
	}
	return g.log.BeginRun(ctx, run, landscape.Graph{Nodes: graphNodes(), Edges: graphEdges(), Sources: origins(), Lanes: graphLanes()})
}

func graphNodes() (nodes []landscape.Node) {
	for _, words := range []string{
		"east source jsonl own", "west source csv own", "items step expand record", "score step set own", "split step fork input",
		"known step filter input", "decide step coalesce own", "fan step fork input", "top step sort record",
		"both step coalesce record", "by_state step aggregate record", "states sink csv input", "rejects sink csv input",
	} {
		word := strings.Fields(words)
		n := landscape.Node{
			Node: word[0], Seq: int64(len(nodes)), Kind: landscape.NodeKind(word[1]), Operation: word[2], Config: `{}`,
			Determinism: pipeline.Deterministic, Hashes: landscape.HashMode(word[3]),
		}
		if n.Kind == landscape.SinkNode {
			n.Guarantee = plugin.Idempotent
		}
		nodes = append(nodes, n)
	}
	return nodes
}

func graphEdges() (edges []landscape.Edge) {
	for _, words := range []string{
		"east flow - items", "items flow - score", "west flow - score", "score flow - split", "score error - rejects",
		"split route by_cost decide", "split route by_species known", "known flow - decide", "decide flow - fan",
		"fan route detail both", "fan route ranked top", "top flow - both", "both flow - by_state", "by_state flow - states",
	} {
		word := strings.Fields(words)
		edges = append(edges, landscape.Edge{
			From: word[0], Kind: landscape.EdgeKind(word[1]), Label: strings.Trim(word[2], "-"), To: word[3],
		})
	}
	return edges
}

func origins() (sources []landscape.Source) {
	for _, name := range []string{"east", "west", "items", "top", "both", "by_state"} {
		sources = append(sources, landscape.Source{Source: name, Info: `{}`})
	}
	return sources
}

// Lanes: the root lanes, and from the root lanes of west and items on, those of branches and merged rows.
const (
	eastLane, westLane, itemsLane, topLane, bothLane, stateLane = 0, 1, 7, 13, 14, 15
	byCost, bySpecies, decided, detail, ranked                  = 1, 2, 3, 4, 5
)

func graphLanes() (lanes []landscape.Lane) {
	add := func(source, name string, parent int64, node, branch, fork string) {
		lane := landscape.Lane{Lane: int64(len(lanes)), Source: source, Name: name, Node: node, Branch: branch, Fork: fork}
		if fork != "" {
			lane.Parent = &parent
		}
		lanes = append(lanes, lane)
	}
	add("east", "", 0, "", "", "")
	for _, source := range []string{"west", "items"} {
		root := int64(len(lanes))
		add(source, "", 0, "", "", "")
		add(source, "by_cost", root, "split", "by_cost", "split")
		add(source, "by_species", root, "split", "by_species", "split")
		add(source, "decide", root, "decide", "", "split")
		add(source, "decide/detail", root+decided, "fan", "detail", "fan")
		add(source, "decide/ranked", root+decided, "fan", "ranked", "fan")
	}
	for _, source := range []string{"top", "both", "by_state"} {
		add(source, "", 0, "", "", "")
	}
	return lanes
}

func (g graph) read(ctx context.Context) error {
	for source, rows := range map[string]int64{"east": 3, "west": 2} {
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

// chunk returns rows of an origin from row first on, each with 10 bytes and a line end.
func (g graph) chunk(source string, number, first, rows int64) (landscape.Chunk, landscape.Records) {
	c := landscape.Chunk{
		Run: g.run, Source: source, Chunk: number, File: source, FirstRow: first, Rows: rows, FirstLine: first, FirstOffset: 11 * (first - 1),
		Bytes: 11 * rows, Pack: digest(source, number), Cursor: `{}`, Attempt: 1,
	}
	var r landscape.Records
	for i := range rows {
		r.Offsets, r.Lengths = append(r.Offsets, uint32(11*i)), append(r.Lengths, 10)
		r.Hashes = append(r.Hashes, sum(source, first+i)...)
	}
	return c, r
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
		g.pass(ctx, "items", 0, 1, ways, landscape.LaneJoin{
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
		g.pass(ctx, "west", 0, 1, ways, landscape.LaneJoin{
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

// opinions returns the ways of rows that fork twice and all come to decide. prefix is how they come to the first fork.
func opinions(root int64, prefix string, rows int) stories {
	return stories{
		root:             slices.Repeat([]string{prefix + " > split (fork_parent)"}, rows),
		root + byCost:    slices.Repeat([]string{prefix + " > split[by_cost] | decide (coalesced)"}, rows),
		root + bySpecies: slices.Repeat([]string{prefix + " > split[by_species] | known > decide (coalesced)"}, rows),
		root + decided:   slices.Repeat([]string{"decide > fan (fork_parent)"}, rows),
		root + detail:    slices.Repeat([]string{"decide > fan[detail] | both (buffered)"}, rows),
		root + ranked:    slices.Repeat([]string{"decide > fan[ranked] | top (buffered)"}, rows),
	}
}

func allCame() landscape.MergeKind {
	return landscape.MergeKind{
		Node: "decide", Policy: pipeline.BestEffort, Merge: pipeline.Union, Timeout: 30 * time.Second,
		Expected: []string{"by_cost", "by_species"}, Arrived: []string{"by_cost", "by_species"}, FiredBy: "all",
		Collisions: []string{"risk"}, Origins: []landscape.FieldOrigin{{Field: "cost", Branch: "by_cost"}, {Field: "risk", Branch: "by_species"}},
		Result: landscape.MergeMerged,
	}
}

func speciesLost() landscape.MergeKind {
	k := allCame()
	k.Arrived, k.Lost = []string{"by_cost"}, []landscape.LostBranch{{Branch: "by_species", Reason: pipeline.FilterDropped}}
	k.FiredBy, k.Collisions = "lost", nil
	k.Origins = []landscape.FieldOrigin{{Field: "cost", Branch: "by_cost"}, {Field: "risk", Branch: "by_cost"}}
	return k
}

// first returns the batch in which both merged the detail of a row of decide, without its rank.
func first(batch int64, source string, root, row int64) landscape.FiredBatch {
	b := fired(batch, "first", pipeline.Coalesced, 1)
	b.Merge = &landscape.Merge{
		Kind: landscape.MergeKind{
			Node: "both", Policy: pipeline.First, Merge: pipeline.Union, Expected: []string{"detail", "ranked"}, Arrived: []string{"detail"},
			NotNeeded: []string{"ranked"}, FiredBy: "first", Origins: []landscape.FieldOrigin{{Field: "cost", Branch: "detail"}},
			Result: landscape.MergeMerged,
		},
		Key:      landscape.Token{Source: source, Lane: root + decided, Row: row},
		Arrivals: []landscape.MergeArrival{{Branch: "detail", Token: landscape.Token{Source: source, Lane: root + detail, Row: row}}},
		OutRow:   batch,
	}
	return b
}

func fired(batch int64, trigger string, path pipeline.Path, rows int64) landscape.FiredBatch {
	return landscape.FiredBatch{Batch: batch, Trigger: trigger, Path: path, Rows: rows, Opened: noon, Fired: noon + 1_000_000}
}

// noon is when everything in the run takes place: 12:00 UTC on 1 March 2025.
const noon landscape.Micros = 1_740_830_400_000_000

func token(lane, row int64) landscape.Token { return landscape.Token{Lane: lane, Row: row} }

// derive returns the one chunk of rows that come out of a barrier in a fold.
func (g graph) derive(node string, chunk, firstRow int64, batches []uint32, parents ...landscape.Token) []landscape.DerivedChunk {
	c, records := g.chunk(node, chunk, firstRow, int64(len(batches)))
	return []landscape.DerivedChunk{{Chunk: c, Records: records, Batches: batches, Parents: parents}}
}

// from is the chunk that a fold takes, and the batches of its rows in one lane.
type from struct {
	source  string
	chunk   int64
	lane    int64
	batches []uint32
}

// end stands for the chunk of a fold of kind end.
var end = from{}

func (g graph) fold(
	ctx context.Context, node string, number int64, taken from, derived []landscape.DerivedChunk, batches ...landscape.FiredBatch,
) error {
	f := landscape.Fold{
		Run: g.run, Node: node, Fold: number, Kind: landscape.EndFold, Source: taken.source, Chunk: taken.chunk, At: noon,
		Batches: batches, Derived: derived,
	}
	if taken.source != "" {
		f.Kind, f.Arrivals = landscape.ChunkFold, []landscape.LaneMembers{{Lane: taken.lane, Batches: taken.batches}}
	}
	return g.log.RecordFold(ctx, f)
}

// stories are the ways of a chunk's rows, by lane; empty for a row without a token there.
//
// A way is written as its signature, with | between the steps of one lane and those of the next.
type stories map[int64][]string

// pass records the passage of a chunk whose first row has this number.
func (g graph) pass(ctx context.Context, source string, chunk, firstRow int64, told stories, joins ...landscape.LaneJoin) error {
	p := landscape.Passage{Run: g.run, Source: source, Chunk: chunk, Joins: joins, Started: noon, Finished: noon, Attempt: 1}
	sinks := map[string]bool{}
	for _, lane := range slices.Sorted(maps.Keys(told)) {
		routes := landscape.LaneRoutes{Lane: lane}
		for i, text := range told[lane] {
			way := parseWay(text, lane)
			routes.Codes = append(routes.Codes, landscape.NoToken)
			if text == "" {
				continue
			}
			at := slices.IndexFunc(routes.Ways, func(w landscape.Way) bool { return w.ID() == way.ID() })
			if at < 0 {
				at, routes.Ways = len(routes.Ways), append(routes.Ways, way)
			}
			routes.Codes[i] = uint16(at)
			sinks[way.Sink] = true
			if way.Path.Outcome() == pipeline.Failure {
				p.Errors = append(p.Errors, landscape.Refusal{Lane: lane, Index: i, Code: "CONVERT", Message: "no number", Line: 1})
			}
		}
		p.Lanes, p.Hashes = append(p.Lanes, routes), append(p.Hashes, hashesOf(source, firstRow, routes)...)
	}
	for _, sink := range slices.Sorted(maps.Keys(sinks)) {
		if sink != "" {
			p.Writes = append(p.Writes, landscape.Write{Sink: sink, Bytes: 20, SHA256: digest(source, sink)})
		}
	}
	return g.log.RecordPassage(ctx, p)
}

// hashesOf returns the output hashes of the nodes that change rows.
func hashesOf(source string, firstRow int64, routes landscape.LaneRoutes) (found []landscape.NodeHashes) {
	for _, node := range []string{"east", "west", "score", "decide"} {
		h := landscape.NodeHashes{Lane: routes.Lane, Node: node, Hashes: make([]byte, landscape.HashBytes*len(routes.Codes))}
		some := false
		for i, code := range routes.Codes {
			if code == landscape.NoToken || !leaves(routes.Ways[code], node) {
				continue
			}
			some = true
			copy(h.Hashes[landscape.HashBytes*i:], sum(source, firstRow+int64(i), routes.Lane, node))
		}
		if some {
			found = append(found, h)
		}
	}
	return found
}

// leaves reports whether tokens of this way leave the node as a step of their own.
func leaves(w landscape.Way, node string) bool {
	at := slices.IndexFunc(w.Steps, func(s landscape.Step) bool { return s.Node == node })
	stays := w.Path.Outcome() == pipeline.Failure || w.Path == pipeline.Coalesced
	return at >= w.First && at >= 0 && (at < len(w.Steps)-1 || !stays)
}

func parseWay(text string, lane int64) landscape.Way {
	text, path, _ := strings.Cut(strings.TrimSuffix(text, ")"), " (")
	way := landscape.Way{Lane: lane, Path: pipeline.Path(path)}
	parts := strings.Split(text, " | ")
	for i, part := range parts {
		way.First = len(way.Steps)
		for word := range strings.SplitSeq(part, " > ") {
			node, label, _ := strings.Cut(strings.TrimSuffix(word, "]"), "[")
			way.Steps = append(way.Steps, landscape.Step{Node: node, Label: label, Lane: ancestor(lane, len(parts)-1-i)})
		}
	}
	if last := len(way.Steps) - 1; way.Path == pipeline.DefaultFlow || way.Path == pipeline.OnErrorRouted {
		way.Sink, way.Steps = way.Steps[last].Node, way.Steps[:last]
	}
	return way
}

// ancestor returns the lane from which a lane comes by so many forks.
func ancestor(lane int64, forks int) int64 {
	for range forks {
		lane = *graphLanes()[lane].Parent
	}
	return lane
}

// write records that the part of a chunk 0 was written, as the first of its sink.
func (g graph) write(ctx context.Context, sink, source string) error {
	return g.finalize(ctx, landscape.EffectKey{Run: g.run, Sink: sink, Source: source}, func(e landscape.Effect) error {
		return g.log.FinalizeEffect(ctx, e.EffectKey, e.Fence, "w1", `{}`)
	})
}

func (g graph) publish(ctx context.Context) error {
	for sink, rows := range map[string]int64{"states": 2, "rejects": 1} {
		if err := g.log.PreparePublish(ctx, g.run, sink, rows, 20); err != nil {
			return err
		}
		err := g.finalize(ctx, landscape.PublishKey(g.run, sink), func(e landscape.Effect) error {
			artifact := plugin.Artifact{Path: "out/" + sink, Bytes: 20, Rows: rows, SHA256: digest(sink)}
			return g.log.FinalizePublish(ctx, g.run, sink, e.Fence, "w1", artifact)
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

func sum(words ...any) []byte {
	hash := sha256.Sum256(fmt.Append(nil, words...))
	return hash[:]
}

func digest(words ...any) string { return hex.EncodeToString(sum(words...)) }
