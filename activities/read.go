package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"

	"go.temporal.io/sdk/activity"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
)

// Read reads the next chunk of a source, or of each of several, stores its records as they were read, and records where
// each one was. At the end of a source it records the end instead.
//
// It may run twice: the same cursor gives the same chunk, whose key is run, source and ordinal.
func (a *Activities) Read(ctx context.Context, in Batch[ReadInput]) (Results[ReadResult], error) {
	return inBatch(ctx, a, in, (*Activities).read)
}

func (a *Activities) read(ctx context.Context, r *run, in ReadInput) (ReadResult, error) {
	if before, done, err := a.readBefore(ctx, r, in); err != nil || done {
		before.Worker = a.affinity.OwnQueue
		return before, err
	}
	chunk, after, err := r.next(ctx, in)
	if err == nil && chunk == nil {
		return ReadResult{Cursor: in.Cursor, Done: true, Worker: a.affinity.OwnQueue}, a.endSource(ctx, r, in)
	}
	if err != nil {
		return ReadResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, aboutArrival(err, r.id, r.pins[in.Source]))
	}
	hashes, err := a.storeChunk(ctx, r, in, chunk, after)
	if err != nil {
		return ReadResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	r.chunks.put(landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk}, engine.Input{Origin: r.plan.Find(in.Source), Chunk: chunk, RecordHashes: hashes})
	return ReadResult{Rows: chunk.Len(), Bytes: int64(len(chunk.Data)), Cursor: after, Worker: a.affinity.OwnQueue}, nil
}

// readBefore returns what is recorded of the chunk, or of the source's end, if it is. It rejects a cursor at which the
// chunks on record do not end: then the record is older, or newer, than the workflow's history.
func (a *Activities) readBefore(ctx context.Context, r *run, in ReadInput) (before ReadResult, done bool, err error) {
	if in.Chunk > 0 {
		if err := a.checkCursor(ctx, r, in); err != nil {
			return ReadResult{}, false, err
		}
	}
	chunk, err := a.log.Chunk(ctx, r.id, landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk})
	if errors.Is(err, landscape.ErrNotFound) {
		return a.endedBefore(ctx, r, in)
	}
	if err != nil {
		return ReadResult{}, false, err
	}
	end, err := chunk.End()
	return ReadResult{Rows: int(chunk.Rows), Bytes: chunk.Bytes, Cursor: end}, true, err
}

// checkCursor requires that the chunk before is recorded and ends where this one begins.
func (a *Activities) checkCursor(ctx context.Context, r *run, in ReadInput) error {
	before, err := a.log.Chunk(ctx, r.id, landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk - 1})
	if errors.Is(err, landscape.ErrNotFound) {
		return resumepoint.Diverged("the history says that chunk %d of %s was read, and it is not recorded: the record is older than the history", in.Chunk-1, in.Source)
	}
	if err != nil {
		return err
	}
	at, err := before.End()
	if err != nil {
		return fmt.Errorf("chunk %d of %s: cursor on record: %w", in.Chunk-1, in.Source, err)
	}
	if !reflect.DeepEqual(at, in.Cursor) {
		return resumepoint.Diverged("the workflow continues after chunk %d of %s at byte %d, row %d, but the recorded chunk ends at byte %d, row %d",
			in.Chunk-1, in.Source, in.Cursor.Offset, in.Cursor.Row, at.Offset, at.Row)
	}
	return nil
}

// endedBefore returns the source's end if it is recorded. Only a run that was resumed asks: others read on.
func (a *Activities) endedBefore(ctx context.Context, r *run, in ReadInput) (ReadResult, bool, error) {
	if a.epoch == 0 {
		return ReadResult{}, false, nil
	}
	ends, err := a.log.SourceEnds(ctx, r.id)
	for _, end := range ends {
		if end.Source == in.Source && end.Chunks == in.Chunk {
			return ReadResult{Cursor: in.Cursor, Done: true}, true, err
		}
	}
	return ReadResult{}, false, err
}

// next reads the chunk at the cursor, or nil at the end of the source; then the digests of its files are known. A
// reader that stands at the cursor is used on; any other is replaced.
func (r *run) next(ctx context.Context, in ReadInput) (*plugin.Chunk, plugin.Cursor, error) {
	node, err := r.node(in.Source, plan.Source)
	if err != nil {
		return nil, plugin.Cursor{}, err
	}
	reading := r.readings[in.Source]
	reading.mu.Lock()
	defer reading.mu.Unlock()
	if err := reading.standAt(ctx, node.Source, in.Cursor, r.pins[in.Source]); err != nil {
		return nil, plugin.Cursor{}, err
	}
	chunk := r.chunk()
	err = reading.reader.Next(ctx, r.plan.Chunk, chunk)
	switch {
	case err == nil:
		return chunk, reading.reader.Cursor(), nil
	case !errors.Is(err, io.EOF):
		return nil, plugin.Cursor{}, errors.Join(err, reading.close())
	}
	if reading.digests, err = reading.reader.Digests(ctx); err == nil {
		err = asPublished(r.pins[in.Source], reading.digests)
	}
	return nil, in.Cursor, err
}

// standAt must be called with mu held.
func (r *reading) standAt(ctx context.Context, source plugin.Source, at plugin.Cursor, pin plugin.SourceInfo) error {
	if r.reader != nil && reflect.DeepEqual(r.reader.Cursor(), at) {
		return nil
	}
	err := r.close()
	if err == nil {
		r.reader, err = source.Open(ctx, at, pin)
	}
	return err
}

// storeChunk stores and records a chunk, and returns the hashes of its records.
func (a *Activities) storeChunk(ctx context.Context, r *run, in ReadInput, chunk *plugin.Chunk, after plugin.Cursor) ([]byte, error) {
	cursor, err := json.Marshal(after)
	if err != nil {
		return nil, err
	}
	var record landscape.Chunk
	var rows landscape.Records
	err = a.log.Keep(ctx, r.id, func() (payloads []string, err error) {
		record, rows, err = a.storeRecords(ctx, r, in.Source, in.Chunk, engine.Input{Chunk: chunk})
		record.Cursor, record.Attempt = string(cursor), int64(activity.GetInfo(ctx).Attempt)
		return []string{record.Pack}, err
	}, func() error { return a.log.RecordChunk(ctx, record, rows) })
	return rows.Hashes, err
}

// storeRecords stores the records of a chunk of an origin as a pack, and returns the chunk's record without its cursor.
func (a *Activities) storeRecords(ctx context.Context, r *run, origin string, ordinal int64, in engine.Input) (landscape.Chunk, landscape.Records, error) {
	chunk, hashes := in.Chunk, recompute.RecordHashes(in.Chunk)
	about, err := recompute.PackContext(in)
	if err != nil {
		return landscape.Chunk{}, landscape.Records{}, err
	}
	digest, err := a.putPack(ctx, &payload.Pack{
		Context: about, Data: chunk.Data, Offsets: chunk.Offsets, Lens: chunk.Lengths, Hashes: hashes,
	})
	return landscape.Chunk{
		Run: r.id, Source: origin, Chunk: ordinal, File: chunk.File,
		FirstRow: chunk.FirstRow, Rows: int64(chunk.Len()), FirstLine: chunk.FirstLine, FirstOffset: chunk.FirstOffset,
		Bytes: int64(len(chunk.Data)), Blank: int64(chunk.Blank), Comments: int64(chunk.Comments), Pack: string(digest),
	}, landscape.Records{Offsets: chunk.Offsets, Lengths: chunk.Lengths, Lines: chunk.Lines, Hashes: hashes}, err
}

// packed keeps the memory of packs that are stored.
var packed = sync.Pool{New: func() any { return new([]byte) }}

// putPack stores a pack. After an error a backend may still be sending it: then its memory is not used again.
func (a *Activities) putPack(ctx context.Context, pack *payload.Pack) (payload.Digest, error) {
	memory := packed.Get().(*[]byte)
	encoded, err := payload.EncodePack((*memory)[:0], pack)
	if err != nil {
		return "", err
	}
	digest, err := a.payloads.Put(ctx, encoded)
	if err == nil {
		*memory = encoded
		packed.Put(memory)
	}
	return digest, err
}

// fetch rebuilds a chunk from its record and its pack.
func (a *Activities) fetch(ctx context.Context, r *run, key landscape.ChunkKey) (engine.Input, error) {
	record, err := a.log.Chunk(ctx, r.id, key)
	if err != nil {
		return engine.Input{}, fmt.Errorf("source %s, chunk %d: %w", key.Source, key.Chunk, err)
	}
	return recompute.Chunk(ctx, a.log.Reader, a.payloads, r.plan, record)
}

// endSource records the end of a source: the totals of its chunks and the digests of its files.
func (a *Activities) endSource(ctx context.Context, r *run, in ReadInput) error {
	end, err := a.totals(ctx, r.id, in.Source)
	if err != nil {
		return err
	}
	text, err := json.Marshal(r.readings[in.Source].digests)
	if err != nil {
		return err
	}
	end.Digests = string(text)
	return a.log.EndSource(ctx, end)
}

// totals adds up the chunks of an origin.
func (a *Activities) totals(ctx context.Context, run, origin string) (landscape.SourceEnd, error) {
	end := landscape.SourceEnd{Run: run, Source: origin}
	for chunk, err := range a.log.Chunks(ctx, run, origin) {
		if err != nil {
			return end, err
		}
		end.Chunks++
		end.Rows += chunk.Rows
		end.Blank += chunk.Blank
		end.Comments += chunk.Comments
		end.Bytes += chunk.Bytes
	}
	return end, nil
}
