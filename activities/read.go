package activities

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"

	"go.temporal.io/sdk/activity"

	"waymark/landscape"
	"waymark/payload"
	"waymark/plan"
	"waymark/plugin"
)

// ReadChunk reads the next chunk of a source, stores its records as they were read, and records where each one was. At the
// end of the source it records the end instead.
//
// It may run twice: the same cursor gives the same chunk, whose key is run, source and ordinal.
func (a *Activities) ReadChunk(ctx context.Context, in ReadInput) (ReadResult, error) {
	defer beat(ctx)()
	out, err := a.readChunk(ctx, in)
	return out, toTemporal(err)
}

func (a *Activities) readChunk(ctx context.Context, in ReadInput) (ReadResult, error) {
	r, err := a.get(ctx, in.Run)
	if err != nil {
		return ReadResult{}, err
	}
	chunk, after, err := r.next(ctx, in)
	if err == nil && chunk == nil {
		return ReadResult{Cursor: in.Cursor, Done: true}, a.endSource(ctx, r, in)
	}
	if err != nil {
		return ReadResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	if err := a.storeChunk(ctx, r, in, chunk, after); err != nil {
		return ReadResult{}, fmt.Errorf("source %s, chunk %d: %w", in.Source, in.Chunk, err)
	}
	r.chunks.put(chunkKey{in.Source, in.Chunk}, chunk)
	return ReadResult{Rows: chunk.Len(), Bytes: int64(len(chunk.Data)), Cursor: after}, nil
}

// next reads the chunk at the cursor, or nil at the end of the source; then r.digests are those of its files. A reader that
// stands at the cursor is used on; any other is replaced.
func (r *run) next(ctx context.Context, in ReadInput) (*plugin.Chunk, plugin.Cursor, error) {
	r.reading.Lock()
	defer r.reading.Unlock()
	if err := r.standAt(ctx, in); err != nil {
		return nil, plugin.Cursor{}, err
	}
	chunk := new(plugin.Chunk)
	err := r.reader.Next(ctx, r.plan.Chunk, chunk)
	switch {
	case err == nil:
		return chunk, r.reader.Cursor(), nil
	case !errors.Is(err, io.EOF):
		return nil, plugin.Cursor{}, errors.Join(err, r.closeReader())
	}
	r.digests, err = r.reader.Digests(ctx)
	return nil, in.Cursor, err
}

func (r *run) standAt(ctx context.Context, in ReadInput) error {
	if r.reader != nil && reflect.DeepEqual(r.reader.Cursor(), in.Cursor) {
		return nil
	}
	if err := r.closeReader(); err != nil {
		return err
	}
	node, err := r.node(in.Source, plan.Source)
	if err != nil {
		return err
	}
	r.reader, err = node.Source.Open(ctx, in.Cursor, r.pins[in.Source])
	return err
}

func (a *Activities) storeChunk(ctx context.Context, r *run, in ReadInput, chunk *plugin.Chunk, after plugin.Cursor) error {
	hashes := RecordHashes(chunk)
	about, err := packContext(chunk)
	if err != nil {
		return err
	}
	pack, err := payload.EncodePack(nil, &payload.Pack{
		Context: about, Data: chunk.Data, Offsets: chunk.Offsets, Lens: chunk.Lengths, Hashes: hashes,
	})
	if err != nil {
		return err
	}
	digest, err := a.payloads.Put(ctx, pack)
	if err != nil {
		return err
	}
	cursor, err := json.Marshal(after)
	if err != nil {
		return err
	}
	record := landscape.Chunk{
		Run: r.id, Source: in.Source, Chunk: in.Chunk, File: chunk.File,
		FirstRow: chunk.FirstRow, Rows: int64(chunk.Len()), FirstLine: chunk.FirstLine, FirstOffset: chunk.FirstOffset,
		Bytes: int64(len(chunk.Data)), Blank: int64(chunk.Blank), Comments: int64(chunk.Comments),
		Pack: string(digest), Cursor: string(cursor), Attempt: int64(activity.GetInfo(ctx).Attempt),
	}
	rows := landscape.Records{Offsets: chunk.Offsets, Lengths: chunk.Lengths, Lines: chunk.Lines, Hashes: hashes}
	return a.log.RecordChunk(ctx, record, rows)
}

// RecordHashes returns the SHA-256 of each record, 32 bytes each, in order.
func RecordHashes(chunk *plugin.Chunk) []byte {
	hashes := make([]byte, 0, sha256.Size*chunk.Len())
	for i := range chunk.Len() {
		sum := sha256.Sum256(chunk.Record(i))
		hashes = append(hashes, sum[:]...)
	}
	return hashes
}

// about is what a pack says of its records besides their bytes, as JSON: what the parser needs, such as a header record,
// and the records that could not be told apart. docs/payloads.md describes it.
type about struct {
	Context string     `json:"context,omitempty"`
	Refused []aboutBad `json:"refused,omitempty"`
}

type aboutBad struct {
	Index   int    `json:"index"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func packContext(chunk *plugin.Chunk) ([]byte, error) {
	words := about{Context: string(chunk.Context)}
	for _, bad := range chunk.Bad {
		words.Refused = append(words.Refused, aboutBad{bad.Index, bad.Code, bad.Field, bad.Message})
	}
	return json.Marshal(words)
}

// fetch makes a chunk anew from its record and its pack.
func (a *Activities) fetch(ctx context.Context, r *run, key chunkKey) (*plugin.Chunk, error) {
	record, err := a.log.Chunk(ctx, r.id, key.source, key.chunk)
	if err != nil {
		return nil, fmt.Errorf("source %s, chunk %d: %w", key.source, key.chunk, err)
	}
	return Chunk(ctx, a.log, a.payloads, record)
}

// Chunk makes a chunk anew from its record and its pack, for whoever asks the record.
func Chunk(ctx context.Context, log *landscape.Log, payloads *payload.Store, record landscape.Chunk) (*plugin.Chunk, error) {
	stored, err := payloads.Get(ctx, payload.Digest(record.Pack))
	if err != nil {
		return nil, fmt.Errorf("records of source %s, chunk %d: %w", record.Source, record.Chunk, err)
	}
	pack, err := payload.DecodePack(stored)
	if err != nil {
		return nil, fmt.Errorf("records of source %s, chunk %d: %w", record.Source, record.Chunk, err)
	}
	var words about
	if err := json.Unmarshal(pack.Context, &words); err != nil {
		return nil, fmt.Errorf("records of source %s, chunk %d: %w: %w", record.Source, record.Chunk, payload.ErrCorrupt, err)
	}
	if held := int64(len(pack.Offsets)); held != record.Rows {
		return nil, fmt.Errorf("records of source %s, chunk %d: %w: it holds %d records, on record are %d", record.Source, record.Chunk, payload.ErrCorrupt, held, record.Rows)
	}
	rows, err := log.Records(ctx, record.Run, record.Source, record.Chunk)
	if err != nil {
		return nil, err
	}
	chunk := &plugin.Chunk{
		Data: pack.Data, Offsets: pack.Offsets, Lengths: pack.Lens, Lines: rows.Lines, Context: []byte(words.Context),
		File: record.File, FirstRow: record.FirstRow, FirstLine: record.FirstLine, FirstOffset: record.FirstOffset,
		Blank: int(record.Blank), Comments: int(record.Comments),
	}
	for _, bad := range words.Refused {
		chunk.Bad = append(chunk.Bad, plugin.BadRecord{Index: bad.Index, Rejection: plugin.Rejection{Code: bad.Code, Field: bad.Field, Message: bad.Message}})
	}
	return chunk, nil
}

// endSource records the end of a source: the totals of its chunks and the digests of its files.
func (a *Activities) endSource(ctx context.Context, r *run, in ReadInput) error {
	end := landscape.SourceEnd{Run: r.id, Source: in.Source}
	for chunk, err := range a.log.Chunks(ctx, r.id, in.Source) {
		if err != nil {
			return err
		}
		end.Chunks++
		end.Rows += chunk.Rows
		end.Blank += chunk.Blank
		end.Comments += chunk.Comments
		end.Bytes += chunk.Bytes
	}
	text, err := json.Marshal(r.digests)
	if err != nil {
		return err
	}
	end.Digests = string(text)
	return a.log.EndSource(ctx, end)
}
