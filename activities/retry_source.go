package activities

import (
	"context"
	"fmt"
	"io"
	"slices"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/payload"
	"waymark/plugin"
)

// retriedSource reads records that an earlier run has stored, and parses them as the source of the document does.
type retriedSource struct {
	plugin.Source
	name     string
	pin      plugin.SourceInfo
	log      *landscape.Reader
	payloads *payload.Store
}

// Version is that of the document's source.
func (s *retriedSource) Version() int { return plugin.VersionOf(s.Source) }

// Stat returns what was settled when the run began, if it is still to be had.
func (s *retriedSource) Stat(ctx context.Context) (plugin.SourceInfo, error) {
	_, err := recompute.ReadList(ctx, s.payloads, s.name, s.pin.List)
	return s.pin, err
}

// Open returns a Reader of the records on the list. Of the cursor it needs how many of them come before.
func (s *retriedSource) Open(ctx context.Context, at plugin.Cursor, pin plugin.SourceInfo) (plugin.Reader, error) {
	list, err := recompute.ReadList(ctx, s.payloads, s.name, pin.List)
	if err != nil {
		return nil, err
	}
	r := &retriedReader{source: s, list: list, fed: at.Row}
	return r, r.seek()
}

// retriedReader reads the records of a list, each chunk of it as a chunk.
type retriedReader struct {
	source *retriedSource
	list   recompute.RetryList
	fed    int64 // records before the next chunk
	part   int   // of the list, in which the next record is
	index  int   // of this record there
	known  int64 // the parent's chunk that stored is
	stored *plugin.Chunk
}

// seek goes to the record behind those that were fed.
func (r *retriedReader) seek() error {
	before := r.fed
	for r.part < len(r.list.Chunks) && before >= int64(len(r.list.Chunks[r.part].Rows)) {
		before -= int64(len(r.list.Chunks[r.part].Rows))
		r.part++
	}
	if r.index = int(before); r.part == len(r.list.Chunks) && before > 0 {
		return fmt.Errorf("source %s: the cursor is %d records behind the end of its list", r.source.name, before)
	}
	return nil
}

// Next puts the next records of one chunk of the parent into c, where they were: what lies between them is blank, so that
// lines and bytes count as in the file that they came from.
func (r *retriedReader) Next(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	c.Reset()
	if r.part == len(r.list.Chunks) {
		return io.EOF
	}
	stored, err := r.fetch(ctx)
	if err != nil {
		return err
	}
	rows := r.list.Chunks[r.part].Rows[r.index:]
	first := int(rows[0] - stored.FirstRow)
	c.File, c.Context, c.FirstRow = stored.File, stored.Context, r.fed+1
	c.FirstLine, c.FirstOffset = stored.Line(first), stored.FirstOffset+int64(stored.Offsets[first])
	for _, row := range rows {
		if c.Len() == limits.Rows || c.Len() > 0 && len(c.Data) >= limits.Bytes {
			break
		}
		addRecord(c, stored, first, int(row-stored.FirstRow))
	}
	r.fed += int64(c.Len())
	if r.index += c.Len(); r.index == len(r.list.Chunks[r.part].Rows) {
		r.part, r.index = r.part+1, 0
	}
	return nil
}

// addRecord adds record number i of the stored chunk to c, which begins with its record number first. A record that the source
// could not tell apart is parsed as it is, unless it may not be whole.
func addRecord(c, stored *plugin.Chunk, first, i int) {
	offset := stored.Offsets[i] - stored.Offsets[first]
	c.Data = append(c.Data, make([]byte, int(offset)-len(c.Data))...)
	if at, bad := slices.BinarySearchFunc(stored.Bad, i, func(b plugin.BadRecord, i int) int { return b.Index - i }); bad {
		if mark := stored.Bad[at]; mark.Code == plugin.RowTooLarge {
			c.Bad = append(c.Bad, plugin.BadRecord{Index: c.Len(), Rejection: mark.Rejection})
		}
	}
	c.Data = append(c.Data, stored.Record(i)...)
	c.Offsets, c.Lengths = append(c.Offsets, offset), append(c.Lengths, stored.Lengths[i])
	c.Lines = append(c.Lines, uint32(stored.Line(i)-c.FirstLine))
}

// fetch returns the chunk of the parent in which the next record is.
func (r *retriedReader) fetch(ctx context.Context) (*plugin.Chunk, error) {
	part := r.list.Chunks[r.part]
	if r.stored != nil && r.known == part.Chunk {
		return r.stored, nil
	}
	record, err := r.source.log.Chunk(ctx, r.list.Parent, landscape.ChunkKey{Source: r.list.Source, Chunk: part.Chunk})
	if err != nil {
		return nil, fmt.Errorf("chunk %d of run %s, which is retried: %w", part.Chunk, r.list.Parent, err)
	}
	if first, last := part.Rows[0], part.Rows[len(part.Rows)-1]; first < record.FirstRow || last >= record.FirstRow+record.Rows {
		return nil, fmt.Errorf("%w: chunk %d of run %s has no rows %d to %d", payload.ErrCorrupt, part.Chunk, r.list.Parent, first, last)
	}
	in, err := recompute.Others(ctx, r.source.log, r.source.payloads, nil, record)
	for _, row := range part.Rows {
		if slot := row - record.FirstRow; err == nil && in.Without[int(slot)] { // since the run began
			err = recompute.ForgottenError(ctx, r.source.log, record, slot)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("records of run %s, which are retried: %w", r.list.Parent, err)
	}
	r.known, r.stored = part.Chunk, in.Chunk
	return r.stored, nil
}

// Cursor returns how many records were fed.
func (r *retriedReader) Cursor() plugin.Cursor { return plugin.Cursor{Row: r.fed} }

// Digests returns none: no file was read.
func (r *retriedReader) Digests(context.Context) ([]string, error) { return []string{}, nil }

// Close releases the chunk. It may be repeated.
func (r *retriedReader) Close() error {
	r.stored = nil
	return nil
}
