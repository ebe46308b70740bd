package landscapetest

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
)

// Orders is the name of a graph scene's only source.
const Orders = "orders"

// The lanes of a graph scene.
const (
	OrdersLane int64 = iota
	CostLane
	SpeciesLane
	DecideLane
	TotalsLane
	RawLane
	BestLane
	RankedLane
	BothLane
)

// GraphScene is a made-up run over a graph with a fork that a coalesce merges at once, a barrier that makes rows, one that
// keeps them, and a coalesce that waits for rows which a barrier holds:
//
//	orders > split > [cost] > price > decide > totals > spread > [raw] ----------> both > report
//	               > [species] -----> decide                   > [best] > ranked > both
//
// Of three rows one goes all the way, price refuses the second in its branch, so that decide refuses what it makes of the
// other, and the source refuses the third. totals makes one row of the rows of two chunks; the batch that is still open
// fires at the end. All it records follows from its fields.
type GraphScene struct {
	Run       string
	Chunks    int
	ChunkRows int // at least 3
}

// Lanes are the lanes of a graph scene.
func Lanes() []landscape.Lane {
	parent := func(lane int64) *int64 { return &lane }
	return []landscape.Lane{
		{Lane: OrdersLane, Source: Orders},
		{Lane: CostLane, Source: Orders, Name: "cost", Parent: parent(OrdersLane), Node: "split", Branch: "cost", Fork: "split"},
		{Lane: SpeciesLane, Source: Orders, Name: "species", Parent: parent(OrdersLane), Node: "split", Branch: "species", Fork: "split"},
		{Lane: DecideLane, Source: Orders, Name: "decide", Parent: parent(OrdersLane), Node: "decide", Fork: "split"},
		{Lane: TotalsLane, Source: "totals"},
		{Lane: RawLane, Source: "totals", Name: "raw", Parent: parent(TotalsLane), Node: "spread", Branch: "raw", Fork: "spread"},
		{Lane: BestLane, Source: "totals", Name: "best", Parent: parent(TotalsLane), Node: "spread", Branch: "best", Fork: "spread"},
		{Lane: RankedLane, Source: "ranked"},
		{Lane: BothLane, Source: "both"},
	}
}

// Graph returns what Begin records.
func (s GraphScene) Graph() (landscape.Run, landscape.Graph) {
	nodes := []landscape.Node{
		node(0, Orders, landscape.SourceNode, "csv", landscape.OwnHashes),
		node(1, "split", landscape.StepNode, "fork", landscape.InputHashes),
		node(2, "price", landscape.StepNode, "set", landscape.OwnHashes),
		node(3, "decide", landscape.StepNode, "coalesce", landscape.OwnHashes),
		node(4, "totals", landscape.StepNode, "aggregate", landscape.RecordHashes),
		node(5, "spread", landscape.StepNode, "fork", landscape.InputHashes),
		node(6, "ranked", landscape.StepNode, "sort", landscape.RecordHashes),
		node(7, "both", landscape.StepNode, "coalesce", landscape.RecordHashes),
		node(8, "report", landscape.SinkNode, "jsonl", landscape.InputHashes),
	}
	edges := []landscape.Edge{
		edge(Orders, landscape.FlowEdge, "", "split"),
		edge("split", landscape.RouteEdge, "cost", "price"), edge("split", landscape.RouteEdge, "species", "decide"),
		edge("price", landscape.FlowEdge, "", "decide"), edge("decide", landscape.FlowEdge, "", "totals"),
		edge("totals", landscape.FlowEdge, "", "spread"),
		edge("spread", landscape.RouteEdge, "raw", "both"), edge("spread", landscape.RouteEdge, "best", "ranked"),
		edge("ranked", landscape.FlowEdge, "", "both"), edge("both", landscape.FlowEdge, "", "report"),
	}
	for _, from := range []string{Orders, "price", "decide", "totals", "ranked", "both"} {
		edges = append(edges, edge(from, landscape.ErrorEdge, "", pipeline.Quarantine))
	}
	return sceneRun(s.Run), landscape.Graph{
		Nodes: nodes, Edges: edges, Lanes: Lanes(), Key: []byte("salts of a scene"),
		Sources: []landscape.Source{
			{Source: Orders, Info: `{"files":[]}`}, {Source: "totals", Info: `{}`}, {Source: "ranked", Info: `{}`}, {Source: "both", Info: `{}`},
		},
		Tables: []landscape.LookupTable{{Node: "price", Path: "prices.csv", SHA256: digest("table"), Bytes: 99, Rows: 5}},
	}
}

// Begin records the run and its graph.
func (s GraphScene) Begin(ctx context.Context, log *landscape.Log) error {
	run, graph := s.Graph()
	return log.BeginRun(ctx, run, graph)
}

// Totals returns how many rows totals makes.
func (s GraphScene) Totals() int { return (s.Chunks + 1) / 2 }

// chunk returns a chunk of an origin with its records.
func (s GraphScene) chunk(origin string, i int, first int64, rows int) (landscape.Chunk, landscape.Records) {
	n := int64(rows)
	c := landscape.Chunk{
		Run: s.Run, Source: origin, Chunk: int64(i), FirstRow: first, Rows: n, FirstLine: first,
		FirstOffset: (first - 1) * (recordBytes + 1), Bytes: n * (recordBytes + 1), Pack: digest(origin, i), Cursor: `{}`, Attempt: 1,
	}
	var r landscape.Records
	for j := range rows {
		r.Offsets, r.Lengths = append(r.Offsets, uint32(j*(recordBytes+1))), append(r.Lengths, recordBytes)
		r.Hashes = append(r.Hashes, hashOf(origin, first+int64(j))...)
	}
	return c, r
}

// Chunk returns chunk number i of the source.
func (s GraphScene) Chunk(i int) (landscape.Chunk, landscape.Records) {
	c, r := s.chunk(Orders, i, int64(i*s.ChunkRows)+1, s.ChunkRows)
	c.File, c.Last = "orders.csv", i == s.Chunks-1
	return c, r
}

// End returns the end of the source.
func (s GraphScene) End() landscape.SourceEnd {
	rows := int64(s.Chunks * s.ChunkRows)
	return landscape.SourceEnd{
		Run: s.Run, Source: Orders, Chunks: int64(s.Chunks), Rows: rows, Bytes: rows * (recordBytes + 1), Digests: `["` + digest("file") + `"]`,
	}
}

// laneWay makes a way of steps, each a node in a lane; a node may be followed by a label in brackets.
func laneWay(lane int64, first int, path pipeline.Path, sink string, steps ...landscape.Step) landscape.Way {
	return landscape.Way{Lane: lane, First: first, Path: path, Sink: sink, Steps: steps}
}

// The ways of a graph scene.
func graphWays() map[string]landscape.Way {
	at := func(node string, lane int64) landscape.Step { return landscape.Step{Node: node, Lane: lane} }
	down := func(node, branch string, lane int64) landscape.Step {
		return landscape.Step{Node: node, Label: branch, Lane: lane}
	}
	orders, totals := at(Orders, OrdersLane), at("totals", TotalsLane)
	cost, species := down("split", "cost", OrdersLane), down("split", "species", OrdersLane)
	return map[string]landscape.Way{
		"source refused": laneWay(OrdersLane, 0, pipeline.QuarantinedAtSource, pipeline.QuarantineSink, orders),
		"split":          laneWay(OrdersLane, 0, pipeline.ForkParent, "", orders, at("split", OrdersLane)),
		"priced":         laneWay(CostLane, 2, pipeline.Coalesced, "", orders, cost, at("price", CostLane), at("decide", CostLane)),
		"not priced":     laneWay(CostLane, 2, pipeline.OnErrorRouted, pipeline.QuarantineSink, orders, cost, at("price", CostLane)),
		"species":        laneWay(SpeciesLane, 2, pipeline.Coalesced, "", orders, species, at("decide", SpeciesLane)),
		"decided":        laneWay(DecideLane, 0, pipeline.Buffered, "", at("decide", DecideLane), at("totals", DecideLane)),
		"not decided":    laneWay(DecideLane, 0, pipeline.OnErrorRouted, pipeline.QuarantineSink, at("decide", DecideLane)),
		"spread":         laneWay(TotalsLane, 0, pipeline.ForkParent, "", totals, at("spread", TotalsLane)),
		"raw":            laneWay(RawLane, 2, pipeline.Buffered, "", totals, down("spread", "raw", TotalsLane), at("both", RawLane)),
		"best":           laneWay(BestLane, 2, pipeline.Buffered, "", totals, down("spread", "best", TotalsLane), at("ranked", BestLane)),
		"ranked":         laneWay(RankedLane, 0, pipeline.Buffered, "", at("ranked", RankedLane), at("both", RankedLane)),
		"reported":       laneWay(BothLane, 0, pipeline.DefaultFlow, "report", at("both", BothLane)),
	}
}

// mergeKinds are what decide and both make of branches.
func mergeKinds() (decided, refused, both landscape.MergeKind) {
	decided = landscape.MergeKind{
		Node: "decide", Policy: pipeline.RequireAll, Merge: pipeline.Union, Expected: []string{"cost", "species"},
		Arrived: []string{"cost", "species"}, FiredBy: "all", Collisions: []string{"id"}, Result: landscape.MergeMerged,
		Origins: []landscape.FieldOrigin{{Field: "id", Branch: "species"}, {Field: "cost <€>", Branch: "cost"}},
	}
	refused = decided
	refused.Arrived, refused.Lost = []string{"species"}, []landscape.LostBranch{{Branch: "cost", Reason: pipeline.OnErrorRouted}}
	refused.FiredBy, refused.Result, refused.Code = "lost", landscape.MergeRejected, "INCOMPLETE_BRANCHES"
	refused.Collisions, refused.Origins = nil, nil
	both = landscape.MergeKind{
		Node: "both", Policy: pipeline.Quorum, Quorum: 2, Merge: pipeline.Nested, Timeout: 90_000_000_000,
		Expected: []string{"raw", "best"}, Arrived: []string{"raw", "best"}, FiredBy: "quorum", Result: landscape.MergeMerged,
		Origins: []landscape.FieldOrigin{{Field: "raw", Branch: "raw"}, {Field: "best", Branch: "best"}},
	}
	return decided, refused, both
}

// laneCodes collects the ways of one lane by name.
type laneCodes struct {
	names  []string
	routes landscape.LaneRoutes
}

// add adds the way of the next row; an empty name is no token.
func (l *laneCodes) add(name string) {
	if name == "" {
		l.routes.Codes = append(l.routes.Codes, landscape.NoToken)
		return
	}
	code := slices.Index(l.names, name)
	if code < 0 {
		code = len(l.names)
		l.names = append(l.names, name)
		l.routes.Ways = append(l.routes.Ways, graphWays()[name])
		l.routes.Lane = l.routes.Ways[0].Lane
	}
	l.routes.Codes = append(l.routes.Codes, uint16(code))
}

// fate says which of the three kinds a row of the source is: 0 goes all the way, 1 is not priced, 2 is refused by the source.
func fate(row int64) int { return int((row - 1) % 3) }

// Passage returns what happened to the rows of chunk number i of the source.
func (s GraphScene) Passage(i int) landscape.Passage {
	first := int64(i*s.ChunkRows) + 1
	ways := [4][3]string{
		{"split", "split", "source refused"}, {"priced", "not priced", ""}, {"species", "species", ""}, {"decided", "not decided", ""},
	}
	lanes := make([]laneCodes, len(ways))
	decided, refused, _ := mergeKinds()
	join := landscape.LaneMerges{Lane: DecideLane, Kinds: []landscape.MergeKind{decided, refused}}
	p := s.passage(Orders, i)
	p.Feeds = []string{"totals"}
	for j := range s.ChunkRows {
		kind := fate(first + int64(j))
		for lane := range lanes {
			lanes[lane].add(ways[lane][kind])
		}
		join.Codes = append(join.Codes, []uint16{0, 1, landscape.NoToken}[kind])
		for lane, name := range ways {
			if way := graphWays()[name[kind]]; way.Path != "" && way.Path.Outcome() == pipeline.Failure {
				p.Errors = append(p.Errors, s.refusal(int64(lane), j, first+int64(j)))
			}
		}
	}
	for _, l := range lanes {
		p.Lanes = append(p.Lanes, l.routes)
	}
	p.Merges = []landscape.LaneMerges{join}
	p.Hashes = []landscape.NodeHashes{
		s.hashes(OrdersLane, Orders, first, 0, 1), s.hashes(CostLane, "price", first, 0), s.hashes(DecideLane, "decide", first, 0),
	}
	return p
}

func (s GraphScene) passage(origin string, i int) landscape.Passage {
	return landscape.Passage{
		Run: s.Run, Source: origin, Chunk: int64(i), Started: 1_000_000, Finished: 2_000_000, Attempt: 1, Worker: "w1",
	}
}

func (s GraphScene) refusal(lane int64, index int, row int64) landscape.Rejection {
	raw := fmt.Appendf(nil, "record %d", row)
	return landscape.Rejection{
		Lane: lane, Index: index, Code: "CONVERT", Field: "cost", Message: "no int", Raw: raw, Bytes: int64(len(raw)), Line: row, Offset: row,
	}
}

// hashes are those of the rows of these kinds at a node.
func (s GraphScene) hashes(lane int64, node string, first int64, kinds ...int) landscape.NodeHashes {
	h := landscape.NodeHashes{Lane: lane, Node: node, Hashes: make([]byte, landscape.HashBytes*s.ChunkRows)}
	for i := range s.ChunkRows {
		if row := first + int64(i); slices.Contains(kinds, fate(row)) {
			copy(h.Hashes[landscape.HashBytes*i:], hashOf(node, row))
		}
	}
	return h
}
