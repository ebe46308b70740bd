package recompute

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/payload"
)

// fromPack gets something from the pack of a chunk, or, if that is gone because a record in it was forgotten, from the one that replaced it.
func fromPack[T any](ctx context.Context, log *landscape.Reader, record landscape.Chunk, from func(payload.Digest) (T, error)) (T, error) {
	got, err := from(payload.Digest(record.Pack))
	if !errors.Is(err, payload.ErrNotFound) {
		return got, err
	}
	pack, failed := log.PackOf(ctx, record)
	if failed != nil || pack == record.Pack {
		return got, errors.Join(err, failed)
	}
	return from(payload.Digest(pack))
}

// whole refuses a chunk of which a row was forgotten: nothing can send it through the steps again.
func whole(ctx context.Context, log *landscape.Reader, record landscape.Chunk) error {
	forgotten, err := log.Forgotten(ctx, record.Run, record.Key())
	if err != nil || forgotten == nil {
		return err
	}
	order, err := log.ForgottenOrder(ctx, record, forgotten[0].Slot)
	if err != nil {
		return err
	}
	rows := fmt.Sprintf("%d of its rows were ", len(forgotten))
	if len(forgotten) == 1 {
		rows = "one of its rows was "
	}
	return &payload.PurgedError{Digest: payload.Digest(record.Pack), Told: "changed: " + rows + order.Told()}
}

// ForgottenError says that a row of a chunk was forgotten, by which order; nil if it was not.
func ForgottenError(ctx context.Context, log *landscape.Reader, record landscape.Chunk, slot int64) error {
	order, err := log.ForgottenOrder(ctx, record, slot)
	if err == nil && order != nil {
		err = &payload.PurgedError{Digest: payload.Digest(record.Pack), Told: order.Told()}
	}
	return err
}

// Hashes returns the SHA-256 of each stored record of a chunk, 32 bytes each, of forgotten rows zero; and where the records are in the data.
func Hashes(ctx context.Context, log *landscape.Reader, payloads *payload.Store, record landscape.Chunk) (rows landscape.Records, err error) {
	pack, _, err := unpack(ctx, log, payloads, record)
	if err != nil {
		return rows, err
	}
	forgotten, err := log.Forgotten(ctx, record.Run, record.Key())
	if err != nil {
		return rows, err
	}
	rows.Offsets, rows.Lengths, rows.Hashes = pack.Offsets, pack.Lens, make([]byte, 0, sha256.Size*pack.Len())
	for i := range pack.Len() {
		var sum [sha256.Size]byte
		if !slices.ContainsFunc(forgotten, func(f landscape.Forgotten) bool { return f.Slot == int64(i) }) {
			sum = sha256.Sum256(pack.Data[pack.Offsets[i]:][:pack.Lens[i]])
		}
		rows.Hashes = append(rows.Hashes, sum[:]...)
	}
	return rows, nil
}

// Repack returns a pack with zeros in place of some records, and of their hashes; nil if that is what it is already. Nothing that the pack says of
// them stays either, but where they are. docs/payloads.md describes it.
func Repack(stored []byte, forgotten []int) ([]byte, error) {
	pack, err := payload.DecodePack(stored)
	if err != nil {
		return nil, err
	}
	changed := false
	pack.Hashes = slices.Clone(pack.Hashes)
	for _, i := range forgotten {
		if i >= pack.Len() {
			return nil, fmt.Errorf("%w: there is no record %d among %d", payload.ErrCorrupt, i, pack.Len())
		}
		hash := pack.Hashes[sha256.Size*i:][:sha256.Size]
		changed = changed || [sha256.Size]byte(hash) != [sha256.Size]byte{}
		clear(hash)
		clear(pack.Data[pack.Offsets[i]:][:pack.Lens[i]])
	}
	if !changed {
		return nil, nil
	}
	if pack.Context, err = withoutMessages(pack.Context, forgotten); err != nil {
		return nil, err
	}
	return payload.EncodePack(nil, pack)
}

// withoutMessages blanks why records could not be parsed: a message may quote one.
func withoutMessages(context []byte, forgotten []int) ([]byte, error) {
	var words about
	if err := json.Unmarshal(context, &words); err != nil {
		return nil, fmt.Errorf("%w: %w", payload.ErrCorrupt, err)
	}
	for i := range words.Refused {
		if slices.Contains(forgotten, words.Refused[i].Index) {
			words.Refused[i].Message = ""
		}
	}
	return json.Marshal(words)
}

// Others reconstructs the rows of a chunk that were not forgotten. The steps leave out those that were, and make of the
// others what they made of them before.
func Others(
	ctx context.Context, log *landscape.Reader, payloads *payload.Store, p *plan.Plan, record landscape.Chunk,
) (engine.Input, error) {
	in, err := Stored(ctx, log, payloads, p, record)
	if err != nil {
		return in, err
	}
	LeaveOutBlank(&in)
	forgotten, err := log.Forgotten(ctx, record.Run, record.Key())
	for _, f := range forgotten { // of an order that is not carried out yet, or of a pack that another run has stored again
		in.Without[int(f.Slot)] = true
	}
	return in, err
}

// LeaveOutBlank has the steps leave out the records of a chunk that are blank in its pack, and returns their indexes.
func LeaveOutBlank(in *engine.Input) map[int]bool {
	in.Without = map[int]bool{}
	for i := range len(in.RecordHashes) / sha256.Size {
		if [sha256.Size]byte(in.RecordHashes[sha256.Size*i:]) == [sha256.Size]byte{} {
			in.Without[i] = true
		}
	}
	return in.Without
}
