package landscapetest

import (
	"context"
	"fmt"
	"slices"

	"waymark/landscape"
	"waymark/pipeline"
)

// Passage returns what happened to the rows of chunk number i.
func (s Scene) Passage(i int) landscape.Passage {
	p := landscape.Passage{
		Run: s.Run, Source: Source, Chunk: int64(i), Started: 1_000_000, Finished: 2_000_000, Attempt: 1, Worker: "w1",
	}
	ways, first := Ways(), int64(i*s.ChunkRows)+1
	routes := landscape.LaneRoutes{Codes: make([]uint16, s.ChunkRows)}
	codes := make(map[int]uint16)
	for j := range routes.Codes {
		number := s.way(first + int64(j))
		code, ok := codes[number]
		if !ok {
			code = uint16(len(routes.Ways))
			codes[number], routes.Ways = code, append(routes.Ways, ways[number])
		}
		routes.Codes[j] = code
		if way := ways[number]; way.Path.Outcome() == pipeline.Failure {
			p.Errors = append(p.Errors, s.refusal(j, first+int64(j)))
		}
	}
	if s.Amounts {
		routes.Sums = s.sums(routes, first)
	}
	p.Lanes = []landscape.LaneRoutes{routes}
	p.Hashes, p.Keys = s.hashes(routes, first), s.keys(routes, first)
	for _, sink := range []string{"all", "rejects", "review"} {
		if n := sinkRows(p, sink); n > 0 {
			p.Writes = append(p.Writes, landscape.Write{Sink: sink, Bytes: n * 20, SHA256: digest(sink, i)})
		}
	}
	if s.Fields {
		p = Disclosing(p)
	}
	return p
}

func (s Scene) refusal(index int, row int64) landscape.Rejection {
	raw := fmt.Appendf(nil, "record %d", row)
	if row%3 == 0 {
		raw = append(raw, 0xff)
	}
	return landscape.Rejection{
		Index: index, Code: "CONVERT", Field: "cost", Message: fmt.Sprintf("%q is no int", fmt.Sprint("x", row)),
		Raw: raw, Bytes: int64(len(raw)), Line: row + 1, Offset: 50 + (row-1)*(recordBytes+1),
	}
}

func (s Scene) hashes(p landscape.LaneRoutes, first int64) []landscape.NodeHashes {
	var found []landscape.NodeHashes
	for _, node := range []string{"strikes", "score", "tidy"} {
		column, some := make([]byte, landscape.HashBytes*len(p.Codes)), false
		for i, code := range p.Codes {
			if left(p.Ways[code], node) {
				some = true
				copy(column[landscape.HashBytes*i:], s.hash(node, first+int64(i)))
			}
		}
		if some {
			found = append(found, landscape.NodeHashes{Node: node, Hashes: column})
		}
	}
	return found
}

// left reports whether rows of this way left the node.
func left(w landscape.Way, node string) bool {
	i := slices.IndexFunc(w.Steps, func(s landscape.Step) bool { return s.Node == node })
	return i >= 0 && (i < len(w.Steps)-1 || w.Path.Outcome() != pipeline.Failure)
}

func (s Scene) keys(p landscape.LaneRoutes, first int64) []landscape.KeyColumn {
	column := landscape.KeyColumn{Field: "airport", Hashes: make([]byte, 4*len(p.Codes))}
	for i, code := range p.Codes {
		if p.Ways[code].Path != pipeline.QuarantinedAtSource {
			key := s.Key(first + int64(i))
			copy(column.Hashes[4*i:], key[:])
		}
	}
	return []landscape.KeyColumn{column}
}

// sinkRows counts the tokens of all lanes that a sink gets.
func sinkRows(p landscape.Passage, sink string) (n int64) {
	for _, lane := range p.Lanes {
		for _, code := range lane.Codes {
			if code != landscape.NoToken && lane.Ways[code].Sink == sink {
				n++
			}
		}
	}
	return n
}

// Read records all chunks and the end of the source.
func (s Scene) Read(ctx context.Context, log *landscape.Log) error {
	for i := range s.Chunks {
		if err := log.RecordChunk(ctx, chunkOf(s, i), recordsOf(s, i)); err != nil {
			return err
		}
	}
	return log.EndSource(ctx, s.End())
}

func chunkOf(s Scene, i int) landscape.Chunk     { c, _ := s.Chunk(i); return c }
func recordsOf(s Scene, i int) landscape.Records { _, r := s.Chunk(i); return r }

// Write begins and finalizes the write of every sink for chunk number i, as the i-th part of each.
func (s Scene) Write(ctx context.Context, log *landscape.Log, i int) error {
	p := s.Passage(i)
	return write(ctx, log, p, int64(i), func(sink string) []landscape.Rejection { return s.LateOf(i, p, sink) })
}

// LateOf returns the refusals by the target of a sink, of the rows of chunk number i with this passage.
func (s Scene) LateOf(i int, p landscape.Passage, sink string) (refused []landscape.Rejection) {
	if s.Late == nil {
		return nil
	}
	first := int64(i)*int64(s.ChunkRows) + 1
	for j, code := range p.Lanes[0].Codes {
		row := first + int64(j)
		if p.Lanes[0].Ways[code].Sink != sink || !s.Late(sink, row) {
			continue
		}
		r := s.refusal(j, row)
		if s.Amounts {
			r.Amounts = []landscape.RowAmount{{Total: "amount", Amount: s.amountOf(p.Lanes[0].Ways[code], row)}}
		}
		r.Code, r.Field, r.Message = "SINK_UNIQUE", "cost", fmt.Sprintf("the table has a row with cost %d", row%5)
		refused = append(refused, r)
	}
	return refused
}

// write begins and finalizes the writes of a passage, as part number part of each sink. late, if not nil, returns what its target
// refuses.
func write(ctx context.Context, log *landscape.Log, p landscape.Passage, part int64, late func(sink string) []landscape.Rejection) error {
	for _, w := range p.Writes {
		key := landscape.EffectKey{Run: p.Run, Sink: w.Sink, Source: p.Source, Chunk: p.Chunk}
		e, err := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: part, Offset: part * 1000}, "w1")
		if err != nil {
			return err
		}
		var refused []landscape.Rejection
		if late != nil {
			refused = late(w.Sink)
		}
		if err := log.FinalizeEffect(ctx, e.Attempt("w1"), `{"fsync":true}`, refused...); err != nil {
			return err
		}
	}
	return nil
}

// Publish publishes every sink.
func (s Scene) Publish(ctx context.Context, log *landscape.Log) error {
	return publish(ctx, log, s.Run)
}

func publish(ctx context.Context, log *landscape.Log, run string) error {
	summary, err := log.Summary(ctx, run)
	if err != nil {
		return err
	}
	for _, sink := range summary.Sinks {
		if err := log.PreparePublish(ctx, run, sink.Sink, sink.Planned, sink.Bytes+10); err != nil {
			return err
		}
		e, err := log.BeginEffect(ctx, landscape.PublishKey(run, sink.Sink), landscape.Placement{}, "w1")
		if err != nil {
			return err
		}
		a := artifact(sink.Sink, sink.Finalized, sink.Bytes+10)
		if err := log.FinalizePublish(ctx, e.Attempt("w1"), a, "", `{"fields":[{"name":"id","types":["int"]}]}`); err != nil {
			return err
		}
	}
	return nil
}

// Play records the whole run and finishes it. Every call of it may be repeated.
func (s Scene) Play(ctx context.Context, log *landscape.Log) error {
	if err := s.PlayToEnd(ctx, log); err != nil {
		return err
	}
	return finish(ctx, log, s.Run)
}

func finish(ctx context.Context, log *landscape.Log, run string) error {
	status, err := log.Conclude(ctx, run)
	if err != nil {
		return err
	}
	return log.FinishRun(ctx, run, status, "done")
}

// PlayToEnd is Play without the last step: the run is complete and still running.
func (s Scene) PlayToEnd(ctx context.Context, log *landscape.Log) error {
	if err := s.Begin(ctx, log); err != nil {
		return err
	}
	if err := s.Read(ctx, log); err != nil {
		return err
	}
	for i := range s.Chunks {
		if _, err := log.RecordSealed(ctx, s.Passage(i), recordsOf(s, i)); err != nil {
			return err
		}
		if err := s.Write(ctx, log, i); err != nil {
			return err
		}
	}
	return s.Publish(ctx, log)
}
