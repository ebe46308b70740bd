package memdriver

import (
	"fmt"
	"maps"
	"slices"

	"waymark/landscape"
	"waymark/landscape/sweep"
	"waymark/pipeline"
)

// sweeping is one sweep of the counts of one run. The names of its checks are those of sqlitestore.
type sweeping struct {
	tables tables
	run    string
	ways   map[string]landscape.WayRecord
	steps  map[string][]landscape.WayStepRecord
	nodes  map[string]landscape.Node
	lanes  []landscape.Lane
	used   []landscape.ChunkWayRecord
	found  []landscape.Finding
}

// place is a node in a chunk.
type place struct {
	source string
	chunk  int64
	node   string
}

// lanePlace is a node in a lane of a chunk.
type lanePlace struct {
	place
	lane int64
}

func count(t tables, run string) []landscape.Finding {
	s := &sweeping{
		tables: t, run: run, ways: map[string]landscape.WayRecord{}, steps: map[string][]landscape.WayStepRecord{},
		nodes: map[string]landscape.Node{}, lanes: all[landscape.Lane](t, run), used: all[landscape.ChunkWayRecord](t, run),
	}
	for _, w := range all[landscape.WayRecord](t, run) {
		s.ways[w.Way] = w
	}
	for _, step := range all[landscape.WayStepRecord](t, run) {
		s.steps[step.Way] = append(s.steps[step.Way], step)
	}
	for _, n := range all[landscape.Node](t, run) {
		s.nodes[n.Node] = n
	}
	s.checkSources()
	s.checkChunks()
	s.checkWays()
	s.checkSinks()
	s.checkPublished()
	s.checkPolicies()
	s.checkHashes()
	s.checkErrors()
	s.checkForks()
	s.checkMerges()
	s.checkFolds()
	s.checkMembers()
	s.checkDerived()
	sweep.Sort(s.found)
	return s.found
}

// all returns the records of T's table with this prefix, in key order. Records that this package stored can be read.
func all[T landscape.Record](t tables, prefix ...any) []T {
	var found []T
	var kind T
	err := t.read(kind, landscape.Query{Prefix: prefix}, func(r landscape.Record) bool {
		found = append(found, r.(T))
		return true
	})
	if err != nil {
		panic(err)
	}
	return found
}

func (s *sweeping) report(check string, at place, format string, args ...any) {
	s.found = append(s.found, landscape.Finding{
		Check: check, Source: at.source, Chunk: at.chunk, Node: at.node, Detail: fmt.Sprintf(format, args...),
	})
}

// isRoot reports whether the tokens of a lane are the records themselves.
func (s *sweeping) isRoot(lane int64) bool {
	return lane >= 0 && lane < int64(len(s.lanes)) && s.lanes[lane].IsRoot()
}

func (s *sweeping) checkSources() {
	for _, source := range all[landscape.Source](s.tables, s.run) {
		at := place{source.Source, -1, source.Source}
		ends := all[landscape.SourceEnd](s.tables, s.run, source.Source)
		if ends == nil {
			s.report("source_not_ended", at, "the source was not read to its end")
			continue
		}
		counted := landscape.SourceEnd{Run: s.run, Source: source.Source, Digests: ends[0].Digests, Ended: ends[0].Ended}
		for _, c := range all[landscape.Chunk](s.tables, s.run, source.Source) {
			if c.Chunk != counted.Chunks || c.FirstRow != counted.Rows+1 {
				s.report("chunk_sequence", place{c.Source, c.Chunk, c.Source}, "begins with row %d instead of %d", c.FirstRow, counted.Rows+1)
			}
			counted.Chunks++
			counted.Rows += c.Rows
			counted.Blank += c.Blank
			counted.Comments += c.Comments
			counted.Bytes += c.Bytes
		}
		if counted != ends[0] {
			s.report("source_totals", at, "read to the end: %+v; the chunks say %+v", ends[0], counted)
		}
	}
}

func (s *sweeping) checkChunks() {
	passed := map[place]int64{}
	for _, u := range s.used {
		if s.isRoot(u.Lane) {
			passed[place{u.Source, u.Chunk, ""}] += u.Rows
		}
	}
	for _, c := range all[landscape.Chunk](s.tables, s.run) {
		at := place{c.Source, c.Chunk, ""}
		if len(all[landscape.PassageRecord](s.tables, s.run, c.Source, c.Chunk)) == 0 {
			s.report("chunk_not_passed", at, "did not go through the steps")
		}
		var indexed int64
		for _, slice := range all[landscape.ChunkRowsRecord](s.tables, s.run, c.Source, c.Chunk) {
			indexed += slice.Rows
		}
		if indexed != c.Rows {
			s.report("chunk_not_indexed", at, "in %d rows, in the index %d", c.Rows, indexed)
		}
		if passed[at] != c.Rows {
			s.report("rows_without_way", at, "in %d rows, on their ways %d", c.Rows, passed[at])
		}
	}
}

// checkWays compares every way with the graph, and its outcome with its path.
func (s *sweeping) checkWays() {
	edges := map[landscape.Edge]bool{}
	for _, e := range all[landscape.Edge](s.tables, s.run) {
		edges[e] = true
	}
	for _, id := range slices.Sorted(maps.Keys(s.ways)) {
		way := s.ways[id]
		path := pipeline.Path(way.Path)
		if path.Outcome() != pipeline.Outcome(way.Outcome) || path == pipeline.BatchConsumed || path == pipeline.ExpandParent {
			s.report("illegal_outcome", place{"", -1, way.LastNode}, "way %s ends as %s", way.Signature, way.Outcome)
		}
		for i, step := range s.steps[id] {
			if edge, leaves := s.edge(way, i); leaves && !edges[edge] {
				s.report("way_off_graph", place{"", -1, step.Node}, "way %s takes no edge of the graph from here to %s", way.Signature, edge.To)
			}
		}
	}
}

// edge returns the edge by which a way leaves its step i; false if it ends there. Of the labels, those of gates and forks
// say which edge is taken.
func (s *sweeping) edge(way landscape.WayRecord, i int) (landscape.Edge, bool) {
	step := s.steps[way.Way][i]
	e := landscape.Edge{Run: s.run, From: step.Node, Kind: landscape.FlowEdge, To: pipeline.Discard}
	operation := s.nodes[step.Node].Operation
	switch {
	case s.failsAt(way, step.Node):
		e.Kind = landscape.ErrorEdge
	case operation == "gate" || operation == "fork":
		e.Kind, e.Label = landscape.RouteEdge, step.Label
	}
	if i < len(s.steps[way.Way])-1 {
		e.To = s.steps[way.Way][i+1].Node
		return e, true
	}
	if way.Sink == pipeline.QuarantineSink {
		e.To = pipeline.Quarantine
	}
	return e, step.Node == way.LastNode && !endsInside(way)
}

// endsInside reports whether tokens of this way end at their last node, without an edge.
func endsInside(way landscape.WayRecord) bool {
	return pipeline.Path(way.Path) == pipeline.FilterDropped || pipeline.Path(way.Path) == pipeline.ForkParent || taken(way)
}

// taken reports whether the last node took tokens of this way in.
func taken(way landscape.WayRecord) bool {
	switch pipeline.Path(way.Path) {
	case pipeline.Buffered, pipeline.Coalesced, pipeline.BranchNotNeeded:
		return true
	default:
		return false
	}
}

func (s *sweeping) failsAt(way landscape.WayRecord, node string) bool {
	return node == way.LastNode && way.Outcome == string(pipeline.Failure)
}

func (s *sweeping) checkSinks() {
	wanted := map[place]int64{}
	for _, u := range s.used {
		if sink := s.ways[u.Way].Sink; s.nodes[sink].Kind == landscape.SinkNode {
			wanted[place{u.Source, u.Chunk, sink}] += u.Rows
		}
	}
	parts, last := map[string]int64{}, map[string]int64{}
	for _, e := range all[landscape.Effect](s.tables, s.run) {
		if e.Kind != landscape.WriteEffect {
			continue
		}
		at := place{e.Source, e.Chunk, e.Sink}
		if wanted[at] != e.Rows || e.State != landscape.Finalized {
			s.report("sink_rows", at, "in %d rows, out %d %s", wanted[at], e.Rows, e.State)
		}
		delete(wanted, at)
		if e.Ordinal != nil {
			parts[e.Sink]++
			last[e.Sink] = max(last[e.Sink], *e.Ordinal)
		}
	}
	for at, rows := range wanted {
		s.report("sink_rows", at, "in %d rows, out 0", rows)
	}
	for sink, n := range parts {
		if n != last[sink]+1 {
			s.report("sink_parts", place{"", -1, sink}, "%d parts, the last has ordinal %d", n, last[sink])
		}
	}
}

func (s *sweeping) checkPublished() {
	for _, n := range s.nodes {
		if n.Kind != landscape.SinkNode {
			continue
		}
		var rows int64
		var publication landscape.Effect
		for _, e := range all[landscape.Effect](s.tables, s.run, n.Node) {
			if e.Kind == landscape.PublishEffect {
				publication = e
			} else {
				rows += e.Rows - e.Refused
			}
		}
		artifacts := all[landscape.ArtifactRecord](s.tables, s.run, n.Node)
		if publication.State != landscape.Finalized || len(artifacts) == 0 || artifacts[0].Rows != rows ||
			publication.Rows != rows || publication.Bytes > artifacts[0].Bytes { // headers may add to the bytes
			s.report("not_published", place{"", -1, n.Node}, "the output of %d rows is not published, or with other rows", rows)
		}
	}
}

func (s *sweeping) checkHashes() {
	out := map[lanePlace]int64{}
	for _, u := range s.used {
		way := s.ways[u.Way]
		for _, step := range s.steps[u.Way] {
			stays := s.failsAt(way, step.Node) || taken(way) && step.Node == way.LastNode
			if s.nodes[step.Node].Hashes == landscape.OwnHashes && step.Seq >= way.FirstSeq && !stays {
				out[lanePlace{place{u.Source, u.Chunk, step.Node}, u.Lane}] += u.Rows
			}
		}
	}
	for _, h := range all[landscape.HashesRecord](s.tables, s.run) {
		out[lanePlace{place{h.Source, h.Chunk, h.Node}, h.Lane}] -= h.Rows
	}
	for at, rows := range out {
		if rows != 0 {
			s.report("hash_counts", at.place, "lane %d: out %d rows more than there are hashes", at.lane, rows)
		}
	}
}

// errorPlace is where errors are counted: at a sink, of all lanes together.
func (s *sweeping) errorPlace(at place, lane int64) lanePlace {
	if s.nodes[at.node].Kind == landscape.SinkNode {
		lane = -1
	}
	return lanePlace{at, lane}
}

func (s *sweeping) checkErrors() {
	diverted := map[lanePlace]int64{}
	for _, u := range s.used {
		if way := s.ways[u.Way]; way.Outcome == string(pipeline.Failure) {
			diverted[s.errorPlace(place{u.Source, u.Chunk, way.LastNode}, u.Lane)] += u.Rows
		}
	}
	for _, e := range all[landscape.Effect](s.tables, s.run) {
		diverted[s.errorPlace(place{e.Source, e.Chunk, e.Sink}, 0)] += e.Refused
	}
	for _, e := range all[landscape.RowError](s.tables, s.run) {
		diverted[s.errorPlace(place{e.Source, e.Chunk, e.Node}, e.Lane)]--
	}
	for at, rows := range diverted {
		if rows != 0 {
			s.report("error_counts", at.place, "lane %d: diverted %d rows more than there are errors", at.lane, rows)
		}
	}
}

func (s *sweeping) checkPolicies() {
	for _, p := range all[landscape.PolicyRecord](s.tables, s.run) {
		last := landscape.PolicyWord("not evaluated")
		for _, result := range all[landscape.PolicyResult](s.tables, s.run, p.Policy) {
			last = result.Result
		}
		if p.Gate == pipeline.GatePublish && !last.Stands() {
			s.report(landscape.PolicyNotPassed, place{"", -1, ""}, "policy %q: %s", p.Policy, last)
		}
	}
}
