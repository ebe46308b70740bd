package audit

import (
	"context"
	"crypto/sha256"
	"slices"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/landscape"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// derive puts the rows that come out of a fold into the chunks that are recorded of it, and compares what the chunks' payloads
// say of them besides.
func (r *refolding) derive(ctx context.Context, fold landscape.FoldRecord, settled *barrier.Settlement) ([]landscape.DerivedChunk, error) {
	var list []landscape.DerivedChunk
	outs := settled.Outs
	losses := settled.Losses
	for len(r.derived) > 0 && r.derived[0].Fold != nil && *r.derived[0].Fold == fold.Fold {
		record := r.derived[0]
		r.derived = r.derived[1:]
		n := min(max(record.Rows, 0), int64(len(outs)))
		computed := r.derivedChunk(record, outs[:n])
		list = append(list, computed)
		if err := r.compareInput(ctx, record, outs[:n], losses); err != nil {
			return nil, err
		}
		outs, losses = outs[n:], nil
		r.rows += n
		r.chunks++
	}
	if len(outs) > 0 || len(losses) > 0 {
		r.add(RecordDiffers, r.name, "fold %d gives %s and loses %s more, taken again, than are recorded", fold.Fold,
			plural(int64(len(outs)), "row"), plural(int64(len(losses)), "branch"))
	}
	return list, nil
}

// derivedChunk returns the record of a chunk with these rows. Where a chunk ends, and the digest of its payload, are taken
// from the record.
func (r *refolding) derivedChunk(record landscape.Chunk, outs []barrier.Out) landscape.DerivedChunk {
	d := landscape.DerivedChunk{Chunk: landscape.Chunk{
		Run: record.Run, Source: r.name, Chunk: r.chunks, FirstRow: r.rows + 1, Rows: int64(len(outs)), FirstLine: r.rows + 1,
		Pack: record.Pack, Cursor: "{}",
	}}
	var text []byte
	for i := range outs {
		text = row.AppendCanonical(text[:0], outs[i].Row)
		sum := sha256.Sum256(text)
		d.Records.Offsets = append(d.Records.Offsets, uint32(d.Chunk.Bytes))
		d.Records.Lengths = append(d.Records.Lengths, uint32(len(text)))
		d.Records.Hashes = append(d.Records.Hashes, sum[:]...)
		d.Chunk.Bytes += int64(len(text)) + 1 // and a line feed
		d.Batches = append(d.Batches, outs[i].Batch)
		if outs[i].Parent != nil {
			d.Parents = append(d.Parents, recompute.TokenOf(r.compiled, *outs[i].Parent))
		}
	}
	r.report.Hashes += int64(len(outs))
	return d
}

// compareInput compares what the payload of a chunk says of its rows besides the records.
func (r *refolding) compareInput(ctx context.Context, record landscape.Chunk, outs []barrier.Out, losses []barrier.Loss) error {
	in, err := recompute.Chunk(ctx, r.log, r.payloads, r.compiled, record)
	if lost(err) {
		return nil // reported where the chunk is verified
	}
	if err != nil {
		return err
	}
	where := place(record.Source, record.Chunk)
	if len(outs) == in.Chunk.Len() {
		rejected := map[int]plugin.Rejection{}
		for _, bad := range in.Chunk.Bad {
			rejected[bad.Index] = bad.Rejection
		}
		for i := range outs {
			if what := differsIn(&in, rejected, i, &outs[i]); what != "" {
				r.add(RecordDiffers, where, "row %d: %s in its payload than come out of the fold, taken again", record.FirstRow+int64(i), what)
			}
		}
	}
	if !slices.EqualFunc(in.Losses, losses, sameLoss) {
		r.add(RecordDiffers, where, "%d branches were lost in the fold, taken again; its payload says %d, or others", len(losses), len(in.Losses))
	}
	return nil
}

// differsIn says what of a row is other in the chunk than it came out of a fold; "" if nothing is. refused are the chunk's bad records.
func differsIn(in *engine.Input, rejected map[int]plugin.Rejection, i int, out *barrier.Out) string {
	n := len(out.Keys)
	if len(in.Keys) < (i+1)*n || !slices.Equal(in.Keys[i*n:(i+1)*n], out.Keys) {
		return "other fork parents are"
	}
	order := 0
	if in.FieldOrderOf != nil {
		order = int(in.FieldOrderOf[i])
	}
	if order >= len(in.FieldOrders) || !slices.Equal(in.FieldOrders[order], out.Row.Shape.Fields()) {
		return "fields in another order are"
	}
	switch rejection, bad := rejected[i]; {
	case bad && (out.Rejected == nil || rejection != *out.Rejected):
		return "another refusal is"
	case !bad && out.Rejected != nil:
		return "no refusal is"
	}
	return ""
}

func sameLoss(a, b barrier.Loss) bool {
	return a.Branch == b.Branch && a.Reason == b.Reason && slices.Equal(a.Keys, b.Keys)
}
