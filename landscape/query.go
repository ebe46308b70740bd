package landscape

import (
	"context"
	"fmt"
	"iter"
)

// Run returns the run with this id. The error wraps ErrNotFound if there is none.
func (r *Reader) Run(ctx context.Context, id string) (Run, error) {
	run, err := get[Run](ctx, r.from, id)
	if err != nil {
		return Run{}, fmt.Errorf("run %q: %w", id, err)
	}
	return run, nil
}

// RunsByID returns some runs, by their ids; those that are not recorded are left out.
func (r *Reader) RunsByID(ctx context.Context, ids []string) (map[string]Run, error) {
	return byID(ctx, r, ids, Query{}, func(run Run) string { return run.ID })
}

// Nodes returns the nodes of a run by name.
func (r *Reader) Nodes(ctx context.Context, run string) ([]Node, error) {
	return Select[Node](ctx, r.from, run)
}

// Sources returns the sources of a run by name.
func (r *Reader) Sources(ctx context.Context, run string) ([]Source, error) {
	return Select[Source](ctx, r.from, run)
}

// SourceEnds returns the sources of a run that were read to their end, by name.
func (r *Reader) SourceEnds(ctx context.Context, run string) ([]SourceEnd, error) {
	return Select[SourceEnd](ctx, r.from, run)
}

// Effects returns the effects of a run by sink; of each sink first its publication, then its writes by source and chunk.
func (r *Reader) Effects(ctx context.Context, run string) ([]Effect, error) {
	return Select[Effect](ctx, r.from, run)
}

// EffectsAfter returns effects of a run in the order of Effects, and what happened to them, by effect and attempt; nil if there is none.
// It begins after the effect with the key after, or with the first if that is nil, and returns at most limit effects, or all if that is 0.
func (r *Reader) EffectsAfter(ctx context.Context, run string, after *EffectKey, limit int) (effects []Effect, events []EffectEvent, err error) {
	q := Query{Prefix: []any{run}, Limit: limit}
	if after != nil {
		q.After = []any{after.Sink, after.Source, after.Chunk}
	}
	if effects, err = Page[Effect](ctx, r.from, q); err != nil || len(effects) == 0 {
		return nil, nil, err
	}
	last := effects[len(effects)-1].EffectKey
	q.Limit = 0
	err = r.from.Read(ctx, EffectEvent{}, q, func(record Record) bool {
		event := record.(EffectEvent)
		if last.compare(event.EffectKey) < 0 {
			return false
		}
		events = append(events, event)
		return true
	})
	return effects, events, err
}

// SinkEffects returns the effects of one sink: first its publication, then its writes by source and chunk.
func (r *Reader) SinkEffects(ctx context.Context, run, sink string) ([]Effect, error) {
	return Select[Effect](ctx, r.from, run, sink)
}

// Effect returns one effect. The error wraps ErrNotFound if there is none.
func (r *Reader) Effect(ctx context.Context, key EffectKey) (Effect, error) {
	return get[Effect](ctx, r.from, key.Run, key.Sink, key.Source, key.Chunk)
}

// Attempted reports whether an attempt to write to the sink, or to publish its output, has begun. It reads no further than to
// the first.
func (r *Reader) Attempted(ctx context.Context, run, sink string) (attempted bool, err error) {
	err = each(ctx, r.from, []any{run, sink}, func(e Effect) bool {
		attempted = e.Fence > 0
		return !attempted
	})
	return attempted, err
}

// EffectEvents returns what happened to the effects of a run, by effect and attempt.
func (r *Reader) EffectEvents(ctx context.Context, run string) ([]EffectEvent, error) {
	return Select[EffectEvent](ctx, r.from, run)
}

// Artifacts returns what a run published, by sink.
func (r *Reader) Artifacts(ctx context.Context, run string) ([]ArtifactRecord, error) {
	return Select[ArtifactRecord](ctx, r.from, run)
}

// publication is an ArtifactRecord by when it was published.
type publication struct {
	At Micros `db:"published_us,key"`
	ArtifactRecord
}

// Publications returns what runs published at paths for which at returns true, the last published first; nil if there is nothing. It reads all
// that was ever published.
func (r *Reader) Publications(ctx context.Context, at func(path string) bool) (artifacts []ArtifactRecord, err error) {
	err = r.from.Read(ctx, publication{}, Query{Descending: true}, func(record Record) bool {
		if artifact := record.(publication).ArtifactRecord; at(artifact.Path) {
			artifacts = append(artifacts, artifact)
		}
		return true
	})
	return artifacts, err
}

// PublishedSince calls yield with what runs published after a moment, as their clocks have it, the first first.
func (r *Reader) PublishedSince(ctx context.Context, since Micros, yield func(ArtifactRecord)) error {
	return r.from.Read(ctx, publication{}, Query{After: []any{since, "", ""}}, func(record Record) bool {
		yield(record.(publication).ArtifactRecord)
		return true
	})
}

// latestOutput is an ArtifactRecord by what makes it the latest of those that a name may lead to.
type latestOutput struct {
	Latest    string `db:"latest,key"`
	StandsFor string `db:"stands_for,key"`
	At        Micros `db:"published_us,key"`
	ArtifactRecord
}

// LatestOutput returns the output that a name leads to, as ArtifactRecord.Latest says it: of the outputs that were published for it, that of the
// latest slot, and of several of one slot the one that was published last. The error wraps ErrNotFound if there is none.
func (r *Reader) LatestOutput(ctx context.Context, name string) (ArtifactRecord, error) {
	found, err := Page[latestOutput](ctx, r.from, Query{Prefix: []any{name}, Descending: true, Limit: 1})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("latest output at %s: %w", name, ErrNotFound)
	}
	if err != nil {
		return ArtifactRecord{}, err
	}
	return found[0].ArtifactRecord, nil
}

// ReplacedBy returns the run that was the last to publish the same output after the artifact was published; "" if none did. It
// reads what was published since.
func (r *Reader) ReplacedBy(ctx context.Context, artifact ArtifactRecord) (run string, err error) {
	q := Query{After: []any{int64(artifact.Published)}}
	err = r.from.Read(ctx, publication{}, q, func(record Record) bool {
		if later := record.(publication).ArtifactRecord; later.Run != artifact.Run && later.Path == artifact.Path {
			run = later.Run
		}
		return true
	})
	return run, err
}

// Actions returns what was done to a run, in order.
func (r *Reader) Actions(ctx context.Context, run string) ([]Action, error) {
	return Select[Action](ctx, r.from, run)
}

// Heals returns all payload healings, by digest and time.
func (r *Reader) Heals(ctx context.Context) ([]Heal, error) {
	return Select[Heal](ctx, r.from)
}

// Sweep returns what is wrong with a run that claims to be complete; nil if nothing is. deep looks at every token, not
// only at counts.
func (r *Reader) Sweep(ctx context.Context, run string, deep bool) ([]Finding, error) {
	return r.from.Sweep(ctx, run, deep)
}

// Chunks returns the chunks of a source in order, as they are when the loop begins. After an error it ends.
func (r *Reader) Chunks(ctx context.Context, run, source string) iter.Seq2[Chunk, error] {
	return func(yield func(Chunk, error) bool) {
		chunks, err := Select[Chunk](ctx, r.from, run, source)
		if err != nil {
			yield(Chunk{}, err)
			return
		}
		for _, c := range chunks {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Chunk returns one chunk. The error wraps ErrNotFound if it was not read yet.
func (r *Reader) Chunk(ctx context.Context, run string, at ChunkKey) (Chunk, error) {
	return get[Chunk](ctx, r.from, run, at.Source, at.Chunk)
}

// chunkByRow is a Chunk by its first row.
type chunkByRow struct {
	InRun string `db:"run_id,key"`
	Of    string `db:"source,key"`
	From  int64  `db:"first_row,key"`
	Chunk
}

// ChunkOf returns the chunk that holds a row, and reads no other. The error wraps ErrNotFound if it was not read, or is not there.
func (r *Reader) ChunkOf(ctx context.Context, run, source string, row int64) (Chunk, error) {
	found, err := Page[chunkByRow](ctx, r.from, Query{Prefix: []any{run, source}, After: []any{row + 1}, Descending: true, Limit: 1})
	if err != nil {
		return Chunk{}, err
	}
	if len(found) == 1 && row < found[0].FirstRow+found[0].Rows {
		return found[0].Chunk, nil
	}
	return Chunk{}, fmt.Errorf("row %d of source %s in run %s: %w", row, source, run, ErrNotFound)
}

// RawHashes calls yield with the SHA-256 of each record of a chunk as it was read, those of some records at a time, 32 bytes each, until it returns false; zeros for a record that was
// forgotten.
func (r *Reader) RawHashes(ctx context.Context, run string, at ChunkKey, yield func(hashes []byte) bool) error {
	return each(ctx, r.from, []any{run, at.Source, at.Chunk}, func(s rawHashes) bool { return yield(s.RawHashes) })
}

// rawHashes is what of a ChunkRowsRecord says which records the slice has.
type rawHashes struct {
	Run       string `db:"run_id,key"`
	Source    string `db:"source,key"`
	Chunk     int64  `db:"chunk,key"`
	Slice     int64  `db:"slice,key"`
	RawHashes []byte `db:"raw_hashes"`
}

// Table returns chunk_rows.
func (rawHashes) Table() string { return "chunk_rows" }

// Records returns the columns of a chunk's records.
func (r *Reader) Records(ctx context.Context, run string, at ChunkKey) (Records, error) {
	parts, err := Select[ChunkRowsRecord](ctx, r.from, run, at.Source, at.Chunk)
	if err != nil {
		return Records{}, err
	}
	rows := 0
	for _, s := range parts {
		rows += len(s.Offsets) / 4
	}
	columns := Records{Offsets: make([]uint32, 0, rows), Lengths: make([]uint32, 0, rows), Hashes: make([]byte, 0, HashBytes*rows)}
	if rows > 0 && parts[0].Lines != nil {
		columns.Lines = make([]uint32, 0, rows)
	}
	for _, s := range parts {
		columns.Offsets, columns.Lengths, columns.Lines = unpack(columns.Offsets, s.Offsets), unpack(columns.Lengths, s.Lengths), unpack(columns.Lines, s.Lines)
		columns.Hashes = append(columns.Hashes, s.RawHashes...)
	}
	return columns, nil
}

// Lines returns on which line of a chunk each of its records begins, counted from the chunk's first line; nil if each has
// one line. Records has them, too, with much that is long.
func (r *Reader) Lines(ctx context.Context, run string, at ChunkKey) (lines []uint32, err error) {
	err = each(ctx, r.from, []any{run, at.Source, at.Chunk}, func(s recordLines) bool {
		lines = unpack(lines, s.Lines)
		return true
	})
	return lines, err
}

// recordLines is what of a ChunkRowsRecord says where its records begin.
type recordLines struct {
	Run    string `db:"run_id,key"`
	Source string `db:"source,key"`
	Chunk  int64  `db:"chunk,key"`
	Slice  int64  `db:"slice,key"`
	Lines  []byte `db:"lines,null"`
}

// Table returns chunk_rows.
func (recordLines) Table() string { return "chunk_rows" }

// RecordAt returns the columns of one of a chunk's records, which CheckShapeAt must have looked at.
func (r *Reader) RecordAt(ctx context.Context, run string, at ChunkKey, index int) (Records, error) {
	s, err := get[ChunkRowsRecord](ctx, r.from, run, at.Source, at.Chunk, int64(index/SliceRows))
	if err != nil {
		return Records{}, err
	}
	i := index % SliceRows
	one := Records{Offsets: unpack(nil, s.Offsets[4*i:4*i+4]), Lengths: unpack(nil, s.Lengths[4*i:4*i+4]), Hashes: hashAt(s.RawHashes, i)}
	if s.Lines != nil {
		one.Lines = unpack(nil, s.Lines[4*i:4*i+4])
	}
	return one, nil
}
