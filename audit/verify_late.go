package audit

import (
	"context"

	"waymark/activities/recompute"
	"waymark/engine"
	"waymark/engine/plan"
	"waymark/landscape"
	"waymark/plugin"
)

// compareLate looks at the tokens that the targets of sinks rejected. Which they are, and why, cannot be computed again; that there are
// as many as the writes say, in sinks whose targets can reject rows, and that the errors hold the right records, can be seen.
func (v *verification) compareLate(ctx context.Context, record landscape.Chunk, in engine.Input, computed landscape.Passage, late []landscape.RowErrorKey) error {
	rejected := make([]landscape.Rejection, len(late))
	for i, row := range late {
		var err error
		if rejected[i], err = v.lateRejection(ctx, record, in.Chunk, row); err != nil {
			return err
		}
	}
	if err := v.addAmounts(ctx, record, in, rejected); err != nil {
		return err
	}
	bySink := map[string][]landscape.Rejection{}
	for i, row := range late {
		bySink[row.Node] = append(bySink[row.Node], rejected[i])
	}
	for _, write := range computed.Writes {
		key := landscape.EffectKey{Run: record.Run, Sink: write.Sink, Source: record.Source, Chunk: record.Chunk}
		if err := v.compareLateAt(ctx, key, bySink[write.Sink]); err != nil {
			return err
		}
	}
	return nil
}

// addAmounts says of rejected rows what the totals of the run's document come to.
func (v *verification) addAmounts(ctx context.Context, record landscape.Chunk, in engine.Input, rejected []landscape.Rejection) error {
	if len(v.compiled.Totals) == 0 || len(rejected) == 0 {
		return nil
	}
	in.Hashes, in.Late = nil, recompute.LateOf(rejected)
	result, err := v.result(ctx, record.Chunk, in)
	if err == nil {
		recompute.AddAmounts(v.compiled, rejected, result)
	}
	return err
}

// compareLateAt compares what the target of one write rejected. One that was not finalized when the verification began may have
// rejected rows since.
func (v *verification) compareLateAt(ctx context.Context, key landscape.EffectKey, rejected []landscape.Rejection) error {
	where, effect := place(key.Source, key.Chunk), v.writes[key]
	if effect.State != landscape.Finalized {
		return nil
	}
	v.report.Late += int64(len(rejected))
	if effect.Refused != int64(len(rejected)) {
		v.add(RecordDiffers, where, "sink %s refused %s on record, and there are errors of %d", key.Sink, plural(effect.Refused, "row"), len(rejected))
		return nil
	}
	if len(rejected) == 0 && len(v.compiled.Totals) == 0 {
		return nil
	}
	if at := v.compiled.Find(key.Sink); len(rejected) > 0 && at != plan.None && v.compiled.Nodes[at].Sink.Guarantee() != plugin.Transactional {
		v.add(RecordDiffers, where, "sink %s refused %s on record, and it is none that can refuse single rows", key.Sink, plural(effect.Refused, "row"))
	}
	differences, err := v.log.CompareRejected(ctx, key, rejected)
	v.addDifferences(where, differences)
	return err
}

// lateRejection returns an error of the chunk as it must be, with the code, field and message on record.
func (v *verification) lateRejection(ctx context.Context, record landscape.Chunk, chunk *plugin.Chunk, row landscape.RowErrorKey) (landscape.Rejection, error) {
	index := int(row.Row - record.FirstRow)
	text := chunk.Record(index)
	refusal := landscape.Rejection{
		Lane: row.Lane, Index: index, Raw: text, Bytes: int64(len(text)), Line: chunk.Line(index), Offset: chunk.FirstOffset + int64(chunk.Offsets[index]),
	}
	recorded, err := v.log.ErrorsOf(ctx, record.Run, landscape.Token{Source: row.Source, Lane: row.Lane, Row: row.Row})
	for _, e := range recorded {
		if e.Node == row.Node {
			refusal.Code, refusal.Field, refusal.Message = e.Code, e.Field, e.Message
		}
	}
	return refusal, err
}

// noteWork says what was looked at all along, and what of it was believed.
func (v *verification) noteWork(context.Context) error {
	v.compared(CheckedRecords, "", "%s in %s, against the hashes of what was read", plural(v.report.Rows, "row"), plural(v.report.Chunks, "chunk"))
	if v.compiled != nil {
		v.compared(CheckedSteps, "", "ways, hashes, errors, repeats and the bytes for every sink, computed again")
	}
	if v.report.Folds > 0 {
		v.compared(CheckedFolds, "", "%s of barriers, taken again", plural(v.report.Folds, "fold"))
	}
	if len(v.forgotten) > 0 {
		v.skipped(CheckedSteps, "", "of %s some rows were forgotten: these, the bytes for sinks and what barriers took cannot be computed again: %s: %s",
			plural(int64(len(v.forgotten)), "chunk"), v.forgotten[0].Where, v.forgotten[0].Detail)
	}
	if purged := v.report.purged; len(purged) > 0 {
		v.skipped(CheckedRecords, "", "of %s the records, or some of them, are not stored any more, so only their hashes and ways are looked at: %s: %s",
			plural(int64(len(purged)), "chunk"), purged[0].Where, purged[0].Detail)
	}
	v.compared(CheckedEffects, "", "every write and publication, against its events and its receipt")
	if v.report.Late > 0 {
		v.note("the targets of sinks refused %s when they were written: which, and why, is as they said", plural(v.report.Late, "row"))
	}
	return nil
}
