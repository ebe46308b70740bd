package audit

import (
	"context"
	"errors"
	"fmt"

	"waymark/activities/recompute"
	"waymark/activities/resumepoint"
	"waymark/engine"
	"waymark/engine/firsts"
	"waymark/landscape"
	"waymark/payload"
)

// indexFirsts brings the values that must be unique into an index, in the order in which chunks had their turns: so it is found out
// again which token was the first with each. It ends at a chunk whose records are not to be had, or make no sense: of that one and of
// later ones the record is believed. Such chunks are reported where they are verified.
func (v *verification) indexFirsts(ctx context.Context) error {
	if v.compiled == nil || len(engine.Claims(v.compiled)) == 0 {
		return nil
	}
	chunks, err := resumepoint.PassedInTurn(ctx, v.log, v.compiled, v.run.ID)
	if err != nil {
		v.noteBelieved(err)
		return ctx.Err()
	}
	runner, err := engine.NewRunner(v.compiled)
	if err != nil {
		return err
	}
	for _, chunk := range chunks {
		if err := v.indexChunk(ctx, runner, chunk); err != nil {
			v.noteBelieved(err)
			return ctx.Err()
		}
		v.indexed[chunk.Key()] = true
	}
	return nil
}

func (v *verification) noteBelieved(err error) {
	if !errors.Is(err, payload.ErrNotFound) && !errors.Is(err, payload.ErrCorrupt) {
		v.note("which rows are the first with their values cannot be found out for all of them: %v", err)
	}
}

// indexChunk brings the values of one chunk into the index.
func (v *verification) indexChunk(ctx context.Context, runner *engine.Runner, record landscape.Chunk) (err error) {
	if err := v.log.CheckShape(ctx, record); err != nil {
		return err
	}
	in, err := recompute.Chunk(ctx, v.log, v.payloads, v.compiled, record)
	if err != nil {
		return err
	}
	in.Firsts = recompute.Lookup(v.firsts.First)
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%s: what is recorded makes no sense: %v", place(record.Source, record.Chunk), cause)
		}
	}()
	return runner.Claim(in)
}

// firstsFor returns what tells which tokens of a chunk are the first with their values: the index, or the record if the index does not
// hold the chunk.
func (v *verification) firstsFor(ctx context.Context, chunk int64, in engine.Input) (engine.Firsts, error) {
	if v.indexed[landscape.ChunkKey{Source: v.compiled.Nodes[in.Origin].Name, Chunk: chunk}] {
		return recompute.Lookup(v.found), nil
	}
	return recompute.Repeats(ctx, v.log, v.compiled, v.run.ID, chunk, in)
}

// found returns the token that is the first with a value of a chunk in the index.
func (v *verification) found(value firsts.Value, _ uint64) (uint64, error) {
	first, err := v.firsts.Find(value)
	return first, ofIndex(err)
}

// errIndex says that the index of values failed: a file of this process could not be read or written. It says nothing of the record.
var errIndex = errors.New("the index of values that must be unique")

func ofIndex(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errIndex, err)
}
