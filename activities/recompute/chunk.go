package recompute

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
	"waymark/pipeline"
	"waymark/plugin"
)

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
// the records that could not be separated, and of a barrier's records the fork parents of their open forks and what
// enclosing coalesces lost. docs/payloads.md describes it.
type about struct {
	Context string      `json:"context,omitempty"`
	Refused []aboutBad  `json:"refused,omitempty"`
	Keys    []byte      `json:"keys,omitempty"` // packed tokens
	Lost    []aboutLoss `json:"lost,omitempty"`
	Orders  [][]string  `json:"orders,omitempty"`   // of fields in the rows that came out of a barrier
	OrderOf []byte      `json:"order_of,omitempty"` // 2 big-endian bytes for each record: its order; left out if all have the first
}

type aboutBad struct {
	Index   int    `json:"index"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

type aboutLoss struct {
	Keys   []byte        `json:"keys"` // packed tokens
	Branch int           `json:"branch"`
	Reason pipeline.Path `json:"reason"`
}

// PackContext is what the pack of a chunk says of its records.
func PackContext(in engine.Input) ([]byte, error) {
	words := about{Context: string(in.Chunk.Context), Keys: packTokens(in.Keys), Orders: in.FieldOrders}
	for _, bad := range in.Chunk.Bad {
		words.Refused = append(words.Refused, aboutBad{bad.Index, bad.Code, bad.Field, bad.Message})
	}
	for _, order := range in.FieldOrderOf {
		words.OrderOf = binary.BigEndian.AppendUint16(words.OrderOf, order)
	}
	for _, loss := range in.Losses {
		words.Lost = append(words.Lost, aboutLoss{packTokens(loss.Keys), loss.Branch, loss.Reason})
	}
	return json.Marshal(words)
}

// Chunk reconstructs a chunk from its record and its pack: what a pass over it begins with, except for duplicates. p may be nil, then the
// origin is not known.
func Chunk(ctx context.Context, log *landscape.Reader, payloads *payload.Store, p *plan.Plan, record landscape.Chunk) (engine.Input, error) {
	if err := whole(ctx, log, record); err != nil {
		return engine.Input{}, fmt.Errorf("records of %s, chunk %d: %w", record.Source, record.Chunk, err)
	}
	return Stored(ctx, log, payloads, p, record)
}

// Stored reconstructs a chunk as Chunk does, even if some of its rows were forgotten: their records are zeros, unless another
// run has stored them again.
func Stored(ctx context.Context, log *landscape.Reader, payloads *payload.Store, p *plan.Plan, record landscape.Chunk) (engine.Input, error) {
	pack, words, err := unpack(ctx, log, payloads, record)
	if err != nil {
		return engine.Input{}, fmt.Errorf("records of %s, chunk %d: %w", record.Source, record.Chunk, err)
	}
	lines, err := log.Lines(ctx, record.Run, record.Key())
	if err != nil {
		return engine.Input{}, err
	}
	in := words.input(&plugin.Chunk{
		Data: pack.Data, Offsets: pack.Offsets, Lengths: pack.Lens, Lines: lines, Context: []byte(words.Context),
		File: record.File, FirstRow: record.FirstRow, FirstLine: record.FirstLine, FirstOffset: record.FirstOffset,
		Blank: int(record.Blank), Comments: int(record.Comments),
	})
	in.Origin, in.RecordHashes = originOf(p, record), pack.Hashes
	return in, nil
}

// RecordsOf returns the records of a chunk that goes through the steps.
func RecordsOf(in engine.Input) landscape.Records {
	hashes := in.RecordHashes
	if hashes == nil {
		hashes = RecordHashes(in.Chunk)
	}
	return landscape.Records{Offsets: in.Chunk.Offsets, Lengths: in.Chunk.Lengths, Lines: in.Chunk.Lines, Hashes: hashes}
}

// Record reconstructs one record of a chunk, by its index: what a pass over it begins with, except for duplicates, as if the chunk held no
// other. It reads little more of the pack than the record, and leaves it to the caller to say on which line and at which byte of its file
// the record was. p may be nil, then the origin is not known.
func Record(ctx context.Context, log *landscape.Reader, payloads *payload.Store, p *plan.Plan, record landscape.Chunk, index int) (engine.Input, error) {
	in, err := recordOf(ctx, log, payloads, record, index)
	if err != nil {
		return engine.Input{}, fmt.Errorf("record %d of %s, chunk %d: %w", index, record.Source, record.Chunk, err)
	}
	in.Origin = originOf(p, record)
	return in, nil
}

func recordOf(ctx context.Context, log *landscape.Reader, payloads *payload.Store, record landscape.Chunk, index int) (engine.Input, error) {
	if err := ForgottenError(ctx, log, record, int64(index)); err != nil {
		return engine.Input{}, err
	}
	stored, err := fromPack(ctx, log, record, func(pack payload.Digest) (payload.PackRecord, error) { return payloads.GetRecord(ctx, pack, index) })
	if err != nil {
		return engine.Input{}, err
	}
	words, err := aboutOf(stored.Context, stored.Records, record)
	if err != nil {
		return engine.Input{}, err
	}
	return words.only(index, stored.Records).input(&plugin.Chunk{
		Data: stored.Data, Offsets: []uint32{0}, Lengths: []uint32{uint32(len(stored.Data))}, Context: []byte(words.Context),
		File: record.File, FirstRow: record.FirstRow + int64(index),
	}), nil
}

func originOf(p *plan.Plan, record landscape.Chunk) int {
	if p == nil {
		return plan.None
	}
	return p.Find(record.Source)
}

// Header returns what a chunk's parser had to know before its first record, such as a header record; empty if nothing.
func Header(ctx context.Context, log *landscape.Reader, payloads *payload.Store, record landscape.Chunk) (string, error) {
	_, words, err := unpack(ctx, log, payloads, record)
	return words.Context, err
}

func unpack(ctx context.Context, log *landscape.Reader, payloads *payload.Store, record landscape.Chunk) (pack *payload.Pack, words about, err error) {
	stored, err := fromPack(ctx, log, record, func(pack payload.Digest) ([]byte, error) { return payloads.Get(ctx, pack) })
	if err != nil {
		return nil, about{}, err
	}
	if pack, err = payload.DecodePack(stored); err != nil {
		return nil, about{}, err
	}
	if words, err = aboutOf(pack.Context, pack.Len(), record); err != nil {
		return nil, about{}, err
	}
	return pack, words, nil
}

// aboutOf reads the context of a chunk's pack that holds so many records.
func aboutOf(context []byte, records int, record landscape.Chunk) (words about, err error) {
	if err := json.Unmarshal(context, &words); err != nil {
		return about{}, fmt.Errorf("%w: %w", payload.ErrCorrupt, err)
	}
	if int64(records) != record.Rows {
		return about{}, fmt.Errorf("%w: it holds %d records, on record are %d", payload.ErrCorrupt, records, record.Rows)
	}
	return words, words.check(records)
}

// only returns what is said of one of so many records, as that of number 0.
func (w about) only(index, records int) about {
	out := about{Context: w.Context, Lost: w.Lost, Orders: w.Orders}
	for _, bad := range w.Refused {
		if bad.Index == index {
			bad.Index = 0
			out.Refused = append(out.Refused, bad)
		}
	}
	keys := len(w.Keys) / records
	out.Keys = w.Keys[keys*index : keys*(index+1)]
	if w.OrderOf != nil {
		out.OrderOf = w.OrderOf[2*index : 2*(index+1)]
	}
	return out
}

// check rejects orders of fields that are not those of so many records.
func (w about) check(records int) error {
	if w.OrderOf != nil && len(w.OrderOf) != 2*records {
		return fmt.Errorf("%w: it says the order of fields of %d records and holds %d", payload.ErrCorrupt, len(w.OrderOf)/2, records)
	}
	for packed := w.OrderOf; len(packed) > 0; packed = packed[2:] {
		if int(binary.BigEndian.Uint16(packed)) >= len(w.Orders) {
			return fmt.Errorf("%w: there is no order of fields number %d", payload.ErrCorrupt, binary.BigEndian.Uint16(packed))
		}
	}
	return nil
}

func (w about) input(chunk *plugin.Chunk) engine.Input {
	for _, bad := range w.Refused {
		chunk.Bad = append(chunk.Bad, plugin.BadRecord{Index: bad.Index, Rejection: plugin.Rejection{Code: bad.Code, Field: bad.Field, Message: bad.Message}})
	}
	in := engine.Input{Chunk: chunk, Keys: unpackTokens(w.Keys), FieldOrders: w.Orders}
	for packed := w.OrderOf; len(packed) >= 2; packed = packed[2:] {
		in.FieldOrderOf = append(in.FieldOrderOf, binary.BigEndian.Uint16(packed))
	}
	for _, lost := range w.Lost {
		in.Losses = append(in.Losses, barrier.Loss{Keys: unpackTokens(lost.Keys), Branch: lost.Branch, Reason: lost.Reason})
	}
	return in
}
