package landscape

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"waymark/pipeline"
)

// RecordPassage records in one transaction which way every row of a chunk took, the hashes of its rows at every node,
// why rows were refused, and what is going to be written to each sink.
//
// The chunk must be on record. A passage that does not account for every row of it is refused. Repeating it with equal
// content changes nothing; other content is a *DivergedError: a step is not deterministic.
func (l *Log) RecordPassage(ctx context.Context, p Passage) error {
	chunk, err := get[Chunk](ctx, l.driver, p.Run, p.Source, p.Chunk)
	if err == nil {
		err = l.recordPassage(ctx, chunk, p)
	}
	if err != nil {
		return fmt.Errorf("record passage of %s chunk %d of run %s: %w", p.Source, p.Chunk, p.Run, err)
	}
	return nil
}

func (l *Log) recordPassage(ctx context.Context, chunk Chunk, p Passage) error {
	t, err := tally(chunk, p)
	if err != nil {
		return err
	}
	insert := make([]Record, 0, 2*len(t.ways)+len(p.Hashes)+len(p.Keys)+len(p.Errors)+len(p.Writes))
	insert = append(insert, PassageRecord{
		Run: p.Run, Source: p.Source, Chunk: p.Chunk, Rows: chunk.Rows, CodeBytes: t.codeBytes(), WayCodes: t.packCodes(),
		Started: p.Started, Finished: p.Finished, Attempt: p.Attempt, Worker: p.Worker,
	})
	insert = t.appendWays(insert, p)
	for _, h := range p.Hashes {
		if insert, err = appendHashes(insert, chunk, h); err != nil {
			return fmt.Errorf("hashes of node %s: %w", h.Node, err)
		}
	}
	for _, k := range p.Keys {
		if len(k.Hashes) != 4*int(chunk.Rows) {
			return fmt.Errorf("key %s: %d bytes for %d rows", k.Field, len(k.Hashes), chunk.Rows)
		}
		insert = append(insert, KeysRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk, Field: k.Field, Hashes: k.Hashes})
	}
	now := l.now()
	insert = t.appendErrors(insert, chunk, p.Errors, now)
	insert = t.appendWrites(insert, p, now)
	return l.insert(ctx, insert...)
}

// newRowError returns the record of a refusal by a row of this way.
func newRowError(chunk Chunk, way Way, r Refusal, now Micros) RowError {
	raw := r.Raw[:min(len(r.Raw), MaxRawBytes)]
	return RowError{
		Run: chunk.Run, Source: chunk.Source, Row: chunk.FirstRow + int64(r.Index), Node: way.Last(), Chunk: chunk.Chunk,
		Code: r.Code, Field: r.Field, Message: r.Message, ErrorHash: errorHash(way.Last(), r.Code, r.Field, r.Message),
		Raw: raw, RawIsText: utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0, RawBytes: r.Bytes,
		Line: r.Line, ByteOffset: r.Offset, SentTo: way.Sink, At: now,
	}
}

// errorHash identifies an error by what it says: hex SHA-256 of node|code|field|message.
func errorHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "|")))
	return hex.EncodeToString(sum[:])
}

// failed reports whether tokens of this way were refused.
func (w Way) failed() bool { return w.Path.Outcome() == pipeline.Failure }
