package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/pipeline"
	"waymark/plugin"
)

// verifyReading reads a source again, if it is as the run found it: its chunks must be those on record, and if its end is
// recorded it must end there. The same source gives the same chunks, so every chunk is compared in full.
func (v *verification) verifyReading(ctx context.Context, source string, pin plugin.SourceInfo) (err error) {
	node := v.readable(source)
	if node == nil {
		return nil
	}
	reader, err := node.Source.Open(ctx, plugin.Cursor{}, pin)
	if err != nil { // a source that is gone, or was changed since, is no problem of the record
		v.skipped(CheckedSource, source, "%v", err)
		return ctx.Err()
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	r := &rereading{verification: v, source: source, reader: reader}
	more, err := r.chunks(ctx)
	if err != nil || !more {
		return err
	}
	for _, end := range v.ends {
		if end.Source == source {
			return r.end(ctx, end)
		}
	}
	v.compared(CheckedSource, source, "read again, as far as the run came, it gives the chunks on record")
	return nil
}

// readable returns the node of a source that can be read again; nil if it cannot, or if its files do not have their digests,
// which is said already.
func (v *verification) readable(source string) *plan.Node {
	switch {
	case v.compiled == nil:
		v.skipped(CheckedSource, source, "the document cannot be used here")
		return nil
	case !v.isSource(source):
		return nil
	case v.again[source] != nil:
		v.compared(CheckedSource, source, "its records, against those of run %s that it retries", v.again[source].parent)
		return nil
	}
	differs := func(p Problem) bool { return p.Kind == SourceDiffers && p.Where == source }
	node := &v.compiled.Nodes[v.compiled.Find(source)]
	switch kind := node.Source.Determinism(); kind {
	case pipeline.Deterministic, pipeline.ReadsIO:
		if !slices.ContainsFunc(v.report.Problems, differs) {
			return node
		}
	default:
		v.skipped(CheckedSource, source, "reading it again may give other rows: it is %s", kind)
	}
	return nil
}

// rereading reads one source again.
type rereading struct {
	*verification
	source string
	reader plugin.Reader
	chunk  plugin.Chunk
}

// chunks compares the chunks on record, up to the first that differs. It reports whether all are the same.
func (r *rereading) chunks(ctx context.Context) (same bool, err error) {
	next := int64(0)
	for record, err := range r.log.Chunks(ctx, r.run.ID, r.source) {
		if err != nil {
			return false, err
		}
		where := place(record.Source, record.Chunk)
		err := r.reader.Next(ctx, r.compiled.Chunk, &r.chunk)
		for ; err == nil && next < record.Chunk && !r.ended(r.source); next++ { // what the run did not come to
			err = r.reader.Next(ctx, r.compiled.Chunk, &r.chunk)
		}
		next++
		if errors.Is(err, io.EOF) {
			r.add(RecordDiffers, where, "read again, the source ends before it")
			return false, nil
		}
		if err != nil {
			return false, r.unreadable(ctx, where, err)
		}
		what, err := r.compare(ctx, record)
		if err != nil {
			return false, err
		}
		if what != "" {
			r.add(RecordDiffers, where, "read again, %s", what)
			return false, nil
		}
	}
	return true, nil
}

// end requires that the source ends after its chunks, and that its files have their digests.
func (r *rereading) end(ctx context.Context, end landscape.SourceEnd) error {
	err := r.reader.Next(ctx, r.compiled.Chunk, &r.chunk)
	switch {
	case err == nil:
		r.add(RecordDiffers, r.source, "its end is recorded after row %d; read again, it continues in %s at byte %d, line %d",
			r.chunk.FirstRow-1, r.chunk.File, r.chunk.FirstOffset, r.chunk.FirstLine)
		return nil
	case !errors.Is(err, io.EOF):
		return r.unreadable(ctx, r.source, err)
	}
	digests, err := r.reader.Digests(ctx)
	if err != nil {
		return r.unreadable(ctx, r.source, err)
	}
	if found, err := json.Marshal(digests); err != nil || !sameDigests(found, end.Digests) {
		r.add(SourceDiffers, r.source, "read again, its digests are %s, on record are %s", found, end.Digests)
		return err
	}
	files := ""
	if len(digests) > 0 {
		files = "; its files hash to the digests on record"
	}
	r.compared(CheckedSource, r.source, "read again, it gives the chunks and the end on record%s", files)
	return nil
}

// sameDigests compares two lists of digests. No list is an empty one.
func sameDigests(found []byte, recorded string) bool {
	var a, b []string
	return json.Unmarshal(found, &a) == nil && json.Unmarshal([]byte(recorded), &b) == nil && slices.Equal(a, b)
}

// unreadable reports a fault of a source that had none at this place when the run read it. One that was changed just now is no
// problem of the record, and a world that is at fault is none either.
func (r *rereading) unreadable(ctx context.Context, where string, err error) error {
	var fault *plugin.SourceError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !errors.As(err, &fault):
		r.skipped(CheckedSource, r.source, "%s cannot be read again: %v", where, err)
	case fault.Code == "SOURCE_CHANGED":
		r.skipped(CheckedSource, r.source, "%v", err)
	default:
		r.add(RecordDiffers, where, "it is recorded, and reading the source again fails there: %v", err)
	}
	return nil
}

// compare says what is other on record about the chunk than was read; "" if nothing is.
func (r *rereading) compare(ctx context.Context, record landscape.Chunk) (string, error) {
	read := &r.chunk
	for _, n := range []struct {
		name      string
		read, was int64
	}{
		{"it begins with row", read.FirstRow, record.FirstRow}, {"it begins on line", read.FirstLine, record.FirstLine},
		{"it begins at byte", read.FirstOffset, record.FirstOffset}, {"its size in rows is", int64(read.Len()), record.Rows},
		{"its size in bytes is", int64(len(read.Data)), record.Bytes}, {"its number of blank lines is", int64(read.Blank), record.Blank},
		{"its number of comment lines is", int64(read.Comments), record.Comments},
	} {
		if n.read != n.was {
			return fmt.Sprintf("%s %d, the record has %d", n.name, n.read, n.was), nil
		}
	}
	header, known := r.headers[record.File]
	switch {
	case read.File != record.File:
		return fmt.Sprintf("it is of %s, the record has %s", read.File, record.File), nil
	case !sameCursor(r.reader.Cursor(), record.Cursor):
		return "it ends at another cursor than is recorded", nil
	case known && header != sha256Hex(read.Context):
		return "its records have another header than is stored with them", nil
	}
	return r.compareRecords(ctx, record)
}

// sameCursor compares cursors but for the state of the digest, which hangs on how the file was read.
func sameCursor(read plugin.Cursor, recorded string) bool {
	var was plugin.Cursor
	err := json.Unmarshal([]byte(recorded), &was)
	return err == nil && was.File == read.File && was.Offset == read.Offset && was.Line == read.Line && was.Row == read.Row &&
		was.State == read.State && bytes.Equal(was.Context, read.Context)
}

func (r *rereading) compareRecords(ctx context.Context, record landscape.Chunk) (string, error) {
	if whole, err := r.whole(ctx, record); err != nil || !whole {
		return "", err // that it is not is said where the chunk is verified
	}
	rows, err := r.log.Records(ctx, record.Run, record.Key())
	if err != nil {
		return "", err
	}
	forgotten, err := r.log.Forgotten(ctx, record.Run, record.Key())
	if err != nil {
		return "", err
	}
	for i, hash := range hashesOf(recompute.RecordHashes(&r.chunk)) {
		if slices.ContainsFunc(forgotten, func(f landscape.Forgotten) bool { return f.Slot == int64(i) }) {
			continue
		}
		if rows.Offsets[i] != r.chunk.Offsets[i] || rows.Lengths[i] != r.chunk.Lengths[i] || hash != [32]byte(rows.Hashes[32*i:32*i+32]) {
			return fmt.Sprintf("row %d is another record than is recorded", record.FirstRow+int64(i)), nil
		}
	}
	return "", nil
}

// verifyHeader checks that the records of a source's chunk have the header of the chunks before it in the same file, and that
// its cursor carries this header on, if it carries one.
func (v *verification) verifyHeader(record landscape.Chunk, header []byte) {
	where, sum := place(record.Source, record.Chunk), sha256Hex(header)
	was, known := v.headers[record.File]
	if !known {
		v.headers[record.File] = sum
	} else if was != sum {
		v.add(RecordDiffers, where, "its records have another header than the chunk before it in %s", record.File)
	}
	after, err := record.End()
	if err != nil {
		return // said where the chunk's place is verified
	}
	if len(after.Context) > 0 && !bytes.Equal(after.Context, header) {
		v.add(RecordDiffers, where, "its cursor carries another header on than its records have")
	}
}
