package memdriver

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
)

// sweeping is one sweep of one run. The names of its checks are those of sqlitestore.
type sweeping struct {
	tables tables
	run    string
	ways   map[string]landscape.WayRecord
	steps  map[string][]landscape.WayStepRecord
	nodes  map[string]landscape.Node
	used   []landscape.ChunkWayRecord
	found  []landscape.Finding
}

// place is a node in a chunk.
type place struct {
	source string
	chunk  int64
	node   string
}

func sweep(t tables, run string, deep bool) []landscape.Finding {
	s := &sweeping{
		tables: t, run: run, ways: map[string]landscape.WayRecord{}, steps: map[string][]landscape.WayStepRecord{},
		nodes: map[string]landscape.Node{}, used: all[landscape.ChunkWayRecord](t, run),
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
	s.checkHashes()
	s.checkErrors()
	if deep {
		s.checkCodes()
	}
	slices.SortStableFunc(s.found, func(a, b landscape.Finding) int {
		return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.Chunk, b.Chunk), cmp.Compare(a.Node, b.Node))
	})
	return s.found
}

// all returns the records of T's table with this prefix, in key order. Records that this package stored can be read.
func all[T landscape.Record](t tables, prefix ...any) []T {
	var found []T
	var kind T
	err := t.read(kind, prefix, func(r landscape.Record) bool {
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
		passed[place{u.Source, u.Chunk, ""}] += u.Rows
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
		if pipeline.Path(way.Path).Outcome() != pipeline.Outcome(way.Outcome) {
			s.report("illegal_outcome", place{"", -1, way.LastNode}, "way %s ends as %s", way.Signature, way.Outcome)
		}
		for i, step := range s.steps[id] {
			if edge, leaves := s.edge(way, i); leaves && !edges[edge] {
				s.report("way_off_graph", place{"", -1, step.Node}, "way %s takes no edge of the graph from here to %s", way.Signature, edge.To)
			}
		}
	}
}

// edge returns the edge by which a way leaves its step i; false if it ends there.
func (s *sweeping) edge(way landscape.WayRecord, i int) (landscape.Edge, bool) {
	step := s.steps[way.Way][i]
	e := landscape.Edge{Run: s.run, From: step.Node, Label: step.Label, Kind: landscape.FlowEdge, To: pipeline.Discard}
	switch {
	case s.failsAt(way, step.Node):
		e.Kind = landscape.ErrorEdge
	case step.Label != "":
		e.Kind = landscape.RouteEdge
	}
	if i < len(s.steps[way.Way])-1 {
		e.To = s.steps[way.Way][i+1].Node
		return e, true
	}
	if way.Sink == pipeline.QuarantineSink {
		e.To = pipeline.Quarantine
	}
	return e, step.Node == way.LastNode && pipeline.Path(way.Path) != pipeline.FilterDropped
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
				rows += e.Rows
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
	out := map[place]int64{}
	for _, u := range s.used {
		for _, step := range s.steps[u.Way] {
			if s.nodes[step.Node].Hashes == landscape.OwnHashes && !s.failsAt(s.ways[u.Way], step.Node) {
				out[place{u.Source, u.Chunk, step.Node}] += u.Rows
			}
		}
	}
	for _, h := range all[landscape.HashesRecord](s.tables, s.run) {
		out[place{h.Source, h.Chunk, h.Node}] -= h.Rows
	}
	for at, rows := range out {
		if rows != 0 {
			s.report("hash_counts", at, "out %d rows more than there are hashes", rows)
		}
	}
}

func (s *sweeping) checkErrors() {
	diverted := map[place]int64{}
	for _, u := range s.used {
		if way := s.ways[u.Way]; way.Outcome == string(pipeline.Failure) {
			diverted[place{u.Source, u.Chunk, way.LastNode}] += u.Rows
		}
	}
	for _, e := range all[landscape.RowError](s.tables, s.run) {
		diverted[place{e.Source, e.Chunk, e.Node}]--
	}
	for at, rows := range diverted {
		if rows != 0 {
			s.report("error_counts", at, "diverted %d rows more than there are errors", rows)
		}
	}
}

// checkCodes counts the codes of every row, and the hashes that are there.
func (s *sweeping) checkCodes() {
	counted := map[place]int64{}
	for _, p := range all[landscape.PassageRecord](s.tables, s.run) {
		for i := int64(0); i < p.Rows; i++ {
			code := p.WayCodes[i*p.CodeBytes : (i+1)*p.CodeBytes]
			counted[place{p.Source, p.Chunk, string(code)}]++
		}
		for _, u := range all[landscape.ChunkWayRecord](s.tables, s.run, p.Source, p.Chunk) {
			code := []byte{byte(u.Code >> 8), byte(u.Code)}[2-p.CodeBytes:]
			counted[place{p.Source, p.Chunk, string(code)}] -= u.Rows
		}
	}
	for at, rows := range counted {
		if rows != 0 {
			s.report("way_codes", place{at.source, at.chunk, ""}, "code %x: %d more than counted", at.node, rows)
		}
	}
	for _, h := range all[landscape.HashesRecord](s.tables, s.run) {
		var rows int64
		presence, width := h.Slots, 2
		if presence == nil {
			presence, width = h.Hashes, landscape.HashBytes
		}
		for value := range slices.Chunk(presence, width) {
			if !bytes.Equal(value, make([]byte, width)) {
				rows++
			}
		}
		if rows != h.Rows {
			s.report("hash_missing", place{h.Source, h.Chunk, h.Node}, "slice %d: hashes of %d rows, counted %d", h.Slice, h.Rows, rows)
		}
	}
}
