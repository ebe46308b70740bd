package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"waymark/plugin"
	"waymark/plugin/file"
)

// reader reads deliveries one after the other. Chunks are pieces of a body, which follow each other without a gap.
type reader struct {
	name string   // of the source
	path []string // keys, from the outermost object to what holds the records
	read Read
	pin  plugin.SourceInfo
	at   plugin.Cursor // of the next chunk

	body []byte // of the delivery at the cursor; nil: it was not read yet
	rest []span // records behind the cursor

	context []byte // of its chunks
}

// withinLine is the State of cursors: chunks may end within a line. Stored; never change it.
const withinLine = "."

// span is where a record is in a body.
type span struct {
	from, to int
	defect   *plugin.Rejection
}

// Next reads the next chunk: records of one delivery.
func (r *reader) Next(ctx context.Context, limits plugin.Limits, c *plugin.Chunk) error {
	c.Reset()
	for r.at.File < len(r.pin.Files) {
		if err := r.load(ctx); err != nil {
			return err
		}
		if len(r.rest) > 0 {
			r.chunk(limits, c)
			return nil
		}
		r.at = plugin.Cursor{File: r.at.File + 1, Row: r.at.Row}
		r.body = nil
	}
	return io.EOF
}

// load reads the delivery at the cursor, unless it has.
func (r *reader) load(ctx context.Context) error {
	if r.body != nil {
		return nil
	}
	info := r.pin.Files[r.at.File]
	body, err := r.bodyOf(ctx, info)
	if err != nil {
		return err
	}
	if r.at.Offset > int64(len(body)) {
		return fmt.Errorf("source %s: cursor points to byte %d of %d", r.name, r.at.Offset, len(body))
	}
	var records []span
	var known []byte
	switch {
	case isFound(info):
		records, known, err = splitFound(body)
	case isRequest(info):
		records = split(body, nil) // they are the rows themselves
	default:
		records = split(body, r.path)
	}
	if err != nil {
		return fmt.Errorf("source %s: %s: %w", r.name, info.Path, err)
	}
	r.body, r.rest, r.context = body, records, known
	for len(r.rest) > 0 && int64(r.rest[0].from) < r.at.Offset {
		r.rest = r.rest[1:]
	}
	return nil
}

// bodyOf returns the body of a delivery.
func (r *reader) bodyOf(ctx context.Context, info plugin.FileInfo) ([]byte, error) {
	packed, err := r.read(ctx, strings.TrimPrefix(info.Target, ByPayload))
	if err != nil {
		return nil, fmt.Errorf("source %s: %s: %w", r.name, info.Path, err)
	}
	return unpack(info, packed)
}

// chunk puts records into c: as many as the limits allow, and at least one.
func (r *reader) chunk(limits plugin.Limits, c *plugin.Chunk) {
	begin := int(r.at.Offset)
	c.File, c.FirstRow, c.FirstLine, c.FirstOffset = r.pin.Files[r.at.File].Path, r.at.Row+1, r.at.Line+1, r.at.Offset
	c.Context = r.context
	line, seen := 0, begin
	for len(r.rest) > 0 && c.Len() < limits.Rows && (c.Len() == 0 || seen-begin < limits.Bytes) {
		record := r.rest[0]
		line += bytes.Count(r.body[seen:record.from], []byte{'\n'})
		file.AddRecord(c, record.from-begin, line, file.Found{Record: record.to - record.from, Defect: record.defect})
		line += bytes.Count(r.body[record.from:record.to], []byte{'\n'})
		seen, r.rest = record.to, r.rest[1:]
	}
	end := len(r.body)
	if len(r.rest) > 0 {
		end = r.rest[0].from
	}
	c.Data = append(c.Data, r.body[begin:end]...)
	r.at.Line += int64(line + bytes.Count(r.body[seen:end], []byte{'\n'}))
	r.at.Offset, r.at.Row, r.at.State = int64(end), r.at.Row+int64(c.Len()), withinLine
}

// Cursor returns where the next chunk begins.
func (r *reader) Cursor() plugin.Cursor { return r.at }

// Digests returns the SHA-256 of the bodies that were read to their ends: each was compared with its own when it was read.
func (r *reader) Digests(context.Context) ([]string, error) {
	digests := make([]string, 0, r.at.File)
	for _, info := range r.pin.Files[:r.at.File] {
		digests = append(digests, strings.TrimPrefix(info.Version, ByDigest))
	}
	return digests, nil
}

// Close has nothing to do.
func (*reader) Close() error { return nil }
