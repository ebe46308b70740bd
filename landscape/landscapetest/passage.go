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
	p := landscape.Passage{Routes: landscape.Routes{
		Run: s.Run, Source: Source, Chunk: int64(i), Started: 1_000_000, Finished: 2_000_000, Attempt: 1, Worker: "w1",
		Codes: make([]uint16, s.ChunkRows),
	}}
	ways, first := Ways(), int64(i*s.ChunkRows)+1
	codes := make(map[int]uint16)
	for j := range p.Codes {
		number := s.way(first + int64(j))
		code, ok := codes[number]
		if !ok {
			code = uint16(len(p.Ways))
			codes[number], p.Ways = code, append(p.Ways, ways[number])
		}
		p.Codes[j] = code
		if way := ways[number]; way.Path.Outcome() == pipeline.Failure {
			p.Errors = append(p.Errors, s.refusal(j, first+int64(j)))
		}
	}
	p.Hashes, p.Keys = s.hashes(p, first), s.keys(p, first)
	for _, sink := range []string{"all", "rejects", "review"} {
		if n := sinkRows(p, sink); n > 0 {
			p.Writes = append(p.Writes, landscape.Write{Sink: sink, Bytes: n * 20, SHA256: digest(sink, i)})
		}
	}
	return p
}

func (s Scene) refusal(index int, row int64) landscape.Refusal {
	raw := fmt.Appendf(nil, "record %d", row)
	if row%3 == 0 {
		raw = append(raw, 0xff)
	}
	return landscape.Refusal{
		Index: index, Code: "CONVERT", Field: "cost", Message: fmt.Sprintf("%q is no int", fmt.Sprint("x", row)),
		Raw: raw, Bytes: int64(len(raw)), Line: row + 1, Offset: 50 + (row-1)*(recordBytes+1),
	}
}

func (s Scene) hashes(p landscape.Passage, first int64) []landscape.NodeHashes {
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

func (s Scene) keys(p landscape.Passage, first int64) []landscape.KeyColumn {
	column := landscape.KeyColumn{Field: "airport", Hashes: make([]byte, 4*len(p.Codes))}
	for i, code := range p.Codes {
		if p.Ways[code].Path != pipeline.QuarantinedAtSource {
			key := s.Key(first + int64(i))
			copy(column.Hashes[4*i:], key[:])
		}
	}
	return []landscape.KeyColumn{column}
}

func sinkRows(p landscape.Passage, sink string) (n int64) {
	for _, code := range p.Codes {
		if p.Ways[code].Sink == sink {
			n++
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
	for _, w := range s.Passage(i).Writes {
		key := landscape.EffectKey{Run: s.Run, Sink: w.Sink, Source: Source, Chunk: int64(i)}
		e, err := log.BeginEffect(ctx, key, landscape.Placement{Ordinal: int64(i), Offset: int64(i) * 1000}, "w1")
		if err != nil {
			return err
		}
		if err := log.FinalizeEffect(ctx, key, e.Fence, "w1", `{"fsync":true}`); err != nil {
			return err
		}
	}
	return nil
}

// Publish publishes every sink.
func (s Scene) Publish(ctx context.Context, log *landscape.Log) error {
	summary, err := log.Summary(ctx, s.Run)
	if err != nil {
		return err
	}
	for _, sink := range summary.Sinks {
		if err := log.PreparePublish(ctx, s.Run, sink.Sink, sink.Finalized, sink.Bytes+10); err != nil {
			return err
		}
		e, err := log.BeginEffect(ctx, landscape.PublishKey(s.Run, sink.Sink), landscape.Placement{}, "w1")
		if err != nil {
			return err
		}
		a := artifact(sink.Sink, sink.Finalized, sink.Bytes+10)
		if err := log.FinalizePublish(ctx, s.Run, sink.Sink, e.Fence, "w1", a); err != nil {
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
	status, err := log.Conclude(ctx, s.Run)
	if err != nil {
		return err
	}
	return log.FinishRun(ctx, s.Run, status, "done")
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
		if err := log.RecordPassage(ctx, s.Passage(i)); err != nil {
			return err
		}
		if err := s.Write(ctx, log, i); err != nil {
			return err
		}
	}
	return s.Publish(ctx, log)
}
