package landscape

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// RecordPassage records in one transaction which way every token of a chunk took, the hashes of its rows at every node, why
// tokens were refused, what coalesces made of them, and what will be written to each sink.
//
// The chunk must be recorded. A passage that does not account for every row of it, for every branch of a token that was
// forked, and for every merge is refused. Repeating it with equal
// content changes nothing; other content is a *DivergedError: a step is not deterministic.
func (l *Log) RecordPassage(ctx context.Context, p Passage) error {
	_, insert, err := l.newPassage(ctx, p)
	if err == nil {
		err = l.insert(ctx, insert...)
	}
	if err != nil {
		return fmt.Errorf("record passage of %s chunk %d of run %s: %w", p.Source, p.Chunk, p.Run, err)
	}
	return nil
}

// newPassage returns a chunk and the records of its passage, but for ways that this process has recorded already.
func (l *Log) newPassage(ctx context.Context, p Passage) (Chunk, []Record, error) {
	chunk, err := l.chunkToPass(ctx, p)
	if err != nil {
		return Chunk{}, nil, err
	}
	insert, err := l.passageRecords(ctx, chunk, p)
	return chunk, slices.DeleteFunc(insert, func(r Record) bool { return !l.recent.isNew(r) }), err
}

// passageRecords returns the records of a passage, or says what it does not account for.
func (l *Log) passageRecords(ctx context.Context, chunk Chunk, p Passage) ([]Record, error) {
	all, err := l.lanesOf(ctx, p.Run)
	if err != nil {
		return nil, err
	}
	t, err := tally(chunk, all, p)
	if err != nil {
		return nil, err
	}
	insert, err := t.appendSums(t.appendLanes(nil, p), p)
	if err != nil {
		return nil, err
	}
	if insert, err = t.appendHashes(insert, chunk, p.Hashes); err != nil {
		return nil, err
	}
	for _, k := range p.Keys {
		if len(k.Hashes) != 4*int(chunk.Rows) {
			return nil, fmt.Errorf("key %s: %d bytes for %d rows", k.Field, len(k.Hashes), chunk.Rows)
		}
		insert = append(insert, KeyHashes{Run: p.Run, Source: p.Source, Chunk: p.Chunk, Field: k.Field,
			Hashes: k.Hashes})
	}
	now := l.now()
	insert = t.appendErrors(insert, chunk, p.Errors, now)
	if insert, err = appendRepeats(insert, chunk, p.Repeats); err != nil {
		return nil, err
	}
	if insert, err = l.appendFieldRoots(ctx, insert, chunk, p.Fields); err != nil {
		return nil, err
	}
	insert = t.appendMerges(insert, p)
	insert = t.appendWrites(insert, p, now)
	for _, barrier := range p.Feeds {
		insert = append(insert, FeedRecord{Run: p.Run, Source: p.Source, Chunk: p.Chunk, Node: barrier})
	}
	return insert, nil
}

// newRowError returns the record of a refusal by a node.
func newRowError(chunk Chunk, node, sentTo string, r Rejection, now Micros) RowError {
	raw := r.Raw[:min(len(r.Raw), MaxRawBytes)]
	return RowError{
		ErrorHead: ErrorHead{
			ErrorKey: ErrorKey{Run: chunk.Run, Source: chunk.Source, Row: chunk.FirstRow + int64(r.Index), Lane: r.Lane, Node: node},
			Chunk:    chunk.Chunk, Code: r.Code, Field: r.Field, Message: r.Message, Line: r.Line, SentTo: sentTo,
		},
		ErrorHash: errorHash(node, r.Code, r.Field, r.Message),
		Raw:       raw, RawIsText: utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0, RawBytes: r.Bytes, ByteOffset: r.Offset, At: now,
	}
}

// errorHash identifies an error by what it says: hex SHA-256 of node|code|field|message.
func errorHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "|")))
	return hex.EncodeToString(sum[:])
}
