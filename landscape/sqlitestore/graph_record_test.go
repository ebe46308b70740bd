package sqlitestore_test

import (
	"context"
	"maps"
	"slices"
	"strings"

	"waymark/landscape"
	"waymark/pipeline"
)

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
func (g graph) pass(ctx context.Context, source string, chunk, firstRow int64, told stories, joins ...landscape.LaneMerges) error {
	p := landscape.Passage{Run: g.run, Source: source, Chunk: chunk, Merges: joins, Started: noon, Finished: noon, Attempt: 1}
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
				p.Errors = append(p.Errors, landscape.Rejection{Lane: lane, Index: i, Code: "CONVERT", Message: "no number", Line: 1})
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
