package landscape

import (
	"context"
	"encoding/binary"
	"fmt"
)

// Records are the columns of a chunk's records, as read.
type Records struct {
	Offsets []uint32 // of record i in the pack's data
	Lengths []uint32
	Lines   []uint32 // counted from the chunk's first line; nil: record i is on line i
	Hashes  []byte   // 32 bytes per record: SHA-256 of its bytes
}

// RecordChunk records that a chunk was read and its payload stored. Repeating it with equal content changes nothing;
// other content is a *DivergedError: the source changed, or reading it is not deterministic.
func (l *Log) RecordChunk(ctx context.Context, c Chunk, r Records) error {
	return l.RecordChunks(ctx, []Chunk{c}, []Records{r})
}

// RecordChunks is RecordChunk for chunks of a source that were read one after the other: all are recorded, or none.
func (l *Log) RecordChunks(ctx context.Context, chunks []Chunk, records []Records) error {
	var insert []Record
	for i, c := range chunks {
		if err := checkRecords(c, records[i]); err != nil {
			return fmt.Errorf("record %s chunk %d of run %s: %w", c.Source, c.Chunk, c.Run, err)
		}
		c.Read = l.now()
		insert = append(insert, c)
	}
	for i, c := range chunks {
		insert = records[i].appendSlices(insert, c)
	}
	if err := l.insert(ctx, insert...); err != nil {
		c := chunks[0]
		return fmt.Errorf("record %s chunk %d of run %s: %w", c.Source, c.Chunk, c.Run, err)
	}
	return nil
}

// appendSlices appends the columns of the records, slice by slice.
func (r Records) appendSlices(insert []Record, c Chunk) []Record {
	for from := 0; from < len(r.Offsets); from += SliceRows {
		insert = append(insert, r.slice(c, from, min(from+SliceRows, len(r.Offsets))))
	}
	return insert
}

// slice returns the columns of the records from up to, but not including, to.
func (r Records) slice(c Chunk, from, to int) ChunkRowsRecord {
	columns := ChunkRowsRecord{
		Run: c.Run, Source: c.Source, Chunk: c.Chunk, Slice: int64(from / SliceRows), Rows: int64(to - from),
		Offsets: pack(r.Offsets[from:to]), Lengths: pack(r.Lengths[from:to]), RawHashes: r.Hashes[HashBytes*from : HashBytes*to],
	}
	if r.Lines != nil {
		columns.Lines = pack(r.Lines[from:to])
	}
	return columns
}

func checkRecords(c Chunk, r Records) error {
	n := len(r.Offsets)
	switch {
	case c.Pack == "":
		return fmt.Errorf("it has no payload: store the records first")
	case int64(n) != c.Rows:
		return fmt.Errorf("%d rows, but %d offsets", c.Rows, n)
	case len(r.Lengths) != n || r.Lines != nil && len(r.Lines) != n || len(r.Hashes) != HashBytes*n:
		return fmt.Errorf("%d rows, but %d lengths, %d lines, %d bytes of hashes", n, len(r.Lengths), len(r.Lines), len(r.Hashes))
	}
	return nil
}

// EndSource records that a source was read to its end.
func (l *Log) EndSource(ctx context.Context, end SourceEnd) error {
	end.Ended = l.now()
	if err := l.insert(ctx, end); err != nil {
		return fmt.Errorf("end source %s of run %s: %w", end.Source, end.Run, err)
	}
	return nil
}

// pack returns numbers as 4 big-endian bytes each.
func pack(numbers []uint32) []byte {
	packed := make([]byte, 0, 4*len(numbers))
	for _, n := range numbers {
		packed = binary.BigEndian.AppendUint32(packed, n)
	}
	return packed
}

// unpack appends what pack was given to numbers.
func unpack(numbers []uint32, packed []byte) []uint32 {
	for ; len(packed) > 0; packed = packed[4:] {
		numbers = append(numbers, binary.BigEndian.Uint32(packed))
	}
	return numbers
}
