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
	"golang.org/x/sync/errgroup"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/internal/defect"
	"waymark/internal/processors"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
)

// Read reads the next chunk of a source, or several one after the other, or one of each of several sources. It stores
// the records as they were read, and records where each one was. At the end of a source it records the end instead.
//
// It may run twice: the same cursor gives the same chunk, whose key is run, source and ordinal. Chunks that are read one
// after the other are recorded together: none is there without those before it.
func (a *Activities) Read(ctx context.Context, in Batch[ReadInput]) (Results[ReadResult], error) {
	return inBatch(ctx, a, in, inPassing, (*Activities).read)
}

func (a *Activities) read(ctx context.Context, r *run, in ReadInput) (ReadResult, error) {
	end, err := r.share.Call(ctx)
	if err != nil {
		return ReadResult{}, err
	}
	defer end()
	if in.Shares != nil {
		return a.survey(ctx, r, in)
	}
	if before, done, err := a.readBefore(ctx, r, in); err != nil || done {
		before.Worker = a.affinity.OwnQueue
		return before, err
	}
	ctx, turn := r.share.Beside(ctx)
	defer turn.End()
	if in.Most > 1 {
		defer a.shares.reading()()
	}
	stretch, ended, _, err := a.readStretch(ctx, r, in, r.readings[in.Source])
	if err == nil {
		err = turn.Breathe()
	}
	if err == nil && len(stretch) > 0 {
		err = a.recordStretch(ctx, r, in, stretch)
	}
	if err == nil && ended {
		err = a.endSource(ctx, r, in, len(stretch))
	}
	if err != nil {
		return ReadResult{}, err
	}
	if len(stretch) == 0 {
		return ReadResult{Cursor: in.Cursor, Done: true, Worker: a.affinity.OwnQueue}, nil
	}
	chunks := make([]ReadChunk, len(stretch))
	for i, p := range stretch {
		chunks[i] = ReadChunk{p.chunk.Len(), int64(len(p.chunk.Data))}
	}
	r.leave(in, stretch)
	out := readResult(chunks, stretch[len(stretch)-1].after)
	out.Ended, out.Worker = ended, a.affinity.OwnQueue
	out.Seeks = in.Most > 1 && r.readings[in.Source].seeks()
	return out, nil
}

// mostStretch is how many bytes are read of a source, one chunk after the other, before they are recorded.
const mostStretch = 64 << 20

// storing is how many chunks of a stretch are stored at once, while the next is read.
const storing = 3

// piece is one chunk of a stretch.
type piece struct {
	chunk  *plugin.Chunk
	after  plugin.Cursor
	record landscape.Chunk
	rows   landscape.Records
}

// leave leaves chunks that are recorded for their passes.
func (r *run) leave(in ReadInput, stretch []*piece) {
	for i, p := range stretch {
		r.chunks.put(landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk + int64(i)}, engine.Input{
			Origin: r.plan.Find(in.Source), Chunk: p.chunk, RecordHashes: p.rows.Hashes,
		})
	}
}

// readStretch reads chunks of a source one after the other, and stores each, and says whether it came to its end. What
// goes wrong behind the first is broken, and left to who reads on.
func (a *Activities) readStretch(
	ctx context.Context, r *run, in ReadInput, from *reading,
) (stretch []*piece, ended bool, broken, err error) {
	stores, bytes := errgroup.Group{}, 0
	stores.SetLimit(storing)
	for at := in; len(stretch) < max(in.Most, 1) && bytes < mostStretch; at.Chunk++ {
		chunk, after, err := r.next(ctx, at, from)
		if err != nil && len(stretch) == 0 {
			return nil, false, nil, unread(r, in, err)
		}
		ended = err == nil && chunk == nil
		if err == nil && !ended && len(stretch) > 0 {
			err = processors.Breathe(ctx)
		}
		if broken = err; err != nil || ended {
			break
		}
		p := &piece{chunk: chunk, after: after}
		stretch, bytes, at.Cursor = append(stretch, p), bytes+len(chunk.Data), after
		ordinal := at.Chunk
		stores.Go(func() error {
			return defect.Catch("read", func() error { return a.store(ctx, r, in.Source, ordinal, p) })
		})
	}
	return stretch, ended, broken, stores.Wait()
}

// unread is the error of a chunk that cannot be read.
func unread(r *run, in ReadInput, err error) error {
	err = aboutArrival(err, r.id, r.pins[in.Source])
	return fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
}

// store stores a chunk of a stretch.
func (a *Activities) store(ctx context.Context, r *run, source string, ordinal int64, p *piece) error {
	ctx, turn := r.share.Beside(ctx)
	defer turn.End()
	cursor, err := json.Marshal(p.after)
	if err == nil {
		p.record, p.rows, err = a.storeRecords(ctx, r, source, ordinal, engine.Input{Chunk: p.chunk})
	}
	if err != nil {
		return fmt.Errorf("source %s, chunk %d: %w", source, ordinal, err)
	}
	p.record.Cursor, p.record.Attempt = string(cursor), int64(activity.GetInfo(ctx).Attempt)
	return nil
}

// recordStretch records chunks that are stored, all or none.
func (a *Activities) recordStretch(ctx context.Context, r *run, in ReadInput, stretch []*piece) error {
	again := false
	store := func() (payloads []string, err error) {
		for i, p := range stretch {
			if again { // a purge has deleted one of the packs since
				err = errors.Join(err, a.store(ctx, r, in.Source, in.Chunk+int64(i), p))
			}
			payloads = append(payloads, p.record.Pack)
		}
		again = true
		return payloads, err
	}
	return a.log.Keep(ctx, r.id, store, func() error {
		chunks, rows := make([]landscape.Chunk, len(stretch)), make([]landscape.Records, len(stretch))
		for i, p := range stretch {
			chunks[i], rows[i] = p.record, p.rows
		}
		return a.log.RecordChunks(ctx, chunks, rows)
	})
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
	found := []ReadChunk{{int(chunk.Rows), chunk.Bytes}}
	for len(found) < in.Most {
		key := landscape.ChunkKey{Source: in.Source, Chunk: in.Chunk + int64(len(found))}
		next, err := a.log.Chunk(ctx, r.id, key)
		if errors.Is(err, landscape.ErrNotFound) {
			break
		}
		if err != nil {
			return ReadResult{}, false, err
		}
		chunk, found = next, append(found, ReadChunk{int(next.Rows), next.Bytes})
	}
	end, err := chunk.End()
	return readResult(found, end), true, err
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
func (r *run) next(ctx context.Context, in ReadInput, reading *reading) (*plugin.Chunk, plugin.Cursor, error) {
	node, err := r.node(in.Source, plan.Source)
	if err != nil {
		return nil, plugin.Cursor{}, err
	}
	reading.mu.Lock()
	defer reading.mu.Unlock()
	if reading.end != nil && reflect.DeepEqual(*reading.end, in.Cursor) {
		return nil, in.Cursor, nil
	}
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
	if err == nil {
		reading.end = &in.Cursor
	}
	return nil, in.Cursor, err
}

// seeks reports whether another reader can begin where this one stands.
func (r *reading) seeks() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	seeker, ok := r.reader.(plugin.Seeker)
	return ok && seeker.Seeks()
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

// storeRecords stores the records of a chunk of an origin as a pack, and returns the chunk's record without its cursor.
func (a *Activities) storeRecords(ctx context.Context, r *run, origin string, ordinal int64, in engine.Input) (landscape.Chunk, landscape.Records, error) {
	chunk, hashes := in.Chunk, recompute.RecordHashes(in.Chunk)
	about, err := recompute.PackContext(in)
	if err != nil {
		return landscape.Chunk{}, landscape.Records{}, err
	}
	if err := processors.Breathe(ctx); err != nil {
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

// endSource records the end of a source: the totals of its chunks and the digests of its files. stretch is the number
// of chunks that this call of Read has read.
func (a *Activities) endSource(ctx context.Context, r *run, in ReadInput, stretch int) error {
	end, err := a.totals(ctx, r.id, in.Source)
	if err != nil {
		return err
	}
	if read := in.Chunk + int64(stretch); end.Chunks != read {
		return resumepoint.Diverged("the history says that %d chunks of %s were read, and %d are recorded",
			read, in.Source, end.Chunks)
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
