package activities

import (
	"context"

	"waymark/activities/recompute"
	"waymark/landscape"
)

// record stores what came out of the fold and records everything that it gave.
func (f *folding) record(ctx context.Context) error {
	record, members := recompute.FoldOf(f.run.plan, f.held.node, foldOf(f.run, f.in), f.in.Rows, f.settled), f.settled.Members
	f.settled = nil // it may be large, and so is what is made of it
	record.State = f.saved.Digest
	record.Turn, record.Deadline = f.in.Turns, landscape.MicrosOf(f.held.machine.Deadline())
	if f.in.Kind == FoldChunk {
		chunk, err := f.log.Chunk(ctx, f.run.id, landscape.ChunkKey{Source: f.in.Source, Chunk: f.in.Chunk})
		if err != nil {
			return err
		}
		record.Arrivals = recompute.MembersOf(chunk, f.arrivals, members)
	}
	return f.log.Keep(ctx, f.run.id, func() (payloads []string, err error) {
		record.Derived, payloads, err = f.store(ctx)
		return payloads, err
	}, func() error { return f.log.RecordFold(ctx, record) })
}

// store stores the barrier's state, if it is time to, and the rows that came out.
func (f *folding) store(ctx context.Context) (derived []landscape.DerivedChunk, payloads []string, err error) {
	if f.state != nil {
		digest, err := f.payloads.Put(ctx, f.state)
		if err != nil {
			return nil, nil, err
		}
		payloads = append(payloads, string(digest))
	}
	for i := range f.chunks {
		stored, rows, err := f.storeRecords(ctx, f.run, f.held.name, f.chunks[i].Ordinal, f.chunks[i].Input)
		if err != nil {
			return nil, nil, err
		}
		f.chunks[i].Input.RecordHashes = rows.Hashes
		stored.Cursor, stored.Attempt = "{}", 1
		payloads = append(payloads, stored.Pack)
		derived = append(derived, landscape.DerivedChunk{
			Chunk: stored, Records: rows, Batches: f.chunks[i].Batches, Parents: recompute.TokensOf(f.run.plan, f.chunks[i].Parents),
		})
	}
	return derived, payloads, nil
}

// foldOf is a fold of which it is not known yet what it gave.
func foldOf(r *run, in FoldInput) landscape.Fold {
	return landscape.Fold{
		Run: r.id, Node: in.Barrier, Fold: in.Fold, Kind: landscape.FoldKind(in.Kind), Source: in.Source, Chunk: in.Chunk, At: landscape.Micros(in.At),
	}
}
