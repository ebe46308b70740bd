package audit

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"waymark/activities/recompute"
	"waymark/landscape"
	"waymark/landscape/seal"
)

// verifySeals computes the roots that seal the chunks from what is recorded now, and compares them with those that were recorded when the
// chunks had gone through the steps.
func (v *verification) verifySeals(ctx context.Context) error {
	stored, err := v.log.ChunkSeals(ctx, v.run.ID)
	if err != nil {
		return err
	}
	unsealed := maps.Clone(v.passed)
	for _, s := range stored {
		at := landscape.ChunkKey{Source: s.Source, Chunk: s.Chunk}
		delete(unsealed, at)
		err := v.guard(ctx, place(s.Source, s.Chunk), func(ctx context.Context) error { return v.verifySeal(ctx, at, s.Root) })
		if err != nil {
			return err
		}
	}
	for _, at := range slices.SortedFunc(maps.Keys(unsealed), landscape.ChunkKey.Compare) {
		v.add(SealBroken, place(at.Source, at.Chunk), "it went through the steps, and chunk_seals has no root of it")
	}
	v.compared(CheckedSeals, "", "the roots of %s, computed from what is recorded of each row", plural(int64(len(stored)), "chunk"))
	return nil
}

// verifySeal computes the root of one chunk.
func (v *verification) verifySeal(ctx context.Context, at landscape.ChunkKey, root []byte) error {
	chunk, err := v.log.Chunk(ctx, v.run.ID, at)
	if err != nil {
		return err
	}
	rows, err := v.log.SealedRows(ctx, chunk)
	var salts seal.Cover
	if err == nil {
		salts, err = v.log.ChunkSalts(ctx, chunk)
	}
	if errors.Is(err, landscape.ErrNotFound) || errors.Is(err, landscape.ErrIncomplete) {
		v.add(SealBroken, place(at.Source, at.Chunk), "what is recorded of its rows is not whole: %v", err)
		return nil
	}
	if err != nil {
		return err
	}
	if now := rows.Root(salts); !bytes.Equal(now[:], root) {
		return v.nameRows(ctx, chunk, rows, salts, root)
	}
	return v.verifyForgotten(ctx, chunk, rows)
}

// maxNamed is how many rows of a chunk whose seal is broken are named.
const maxNamed = 5

// nameRows says which rows of a chunk are not as they were sealed. It takes them from the steps: if these give the root, each row that is
// recorded otherwise was changed.
func (v *verification) nameRows(ctx context.Context, chunk landscape.Chunk, rows *seal.Rows, salts seal.Cover, root []byte) error {
	where := place(chunk.Source, chunk.Chunk)
	computed, why := v.computedRows(ctx, chunk)
	if why == "" {
		if again := computed.Root(salts); !bytes.Equal(again[:], root) {
			why = "the steps, with the records that are stored, do not give it either: chunk_rows, chunk_seals, salts, parents or the payload was changed"
		}
	}
	if why != "" {
		v.add(SealBroken, where, "what is recorded of its rows does not have the root %s of chunk_seals: %s", hex.EncodeToString(root), why)
		return nil
	}
	named := 0
	for i := range min(rows.Len(), computed.Len()) {
		tables := rows.Differ(computed, i)
		if len(tables) == 0 {
			continue
		}
		if named++; named <= maxNamed {
			v.add(SealBroken, where, "row %d is not as it was sealed, in %s", chunk.FirstRow+int64(i), strings.Join(tables, ", "))
		}
	}
	if named > maxNamed {
		v.add(SealBroken, where, "%s more are not as they were sealed", plural(int64(named-maxNamed), "row"))
	}
	return nil
}

// computedRows returns what would be sealed of a chunk if it went through the steps now, or says why that is not known.
func (v *verification) computedRows(ctx context.Context, chunk landscape.Chunk) (*seal.Rows, string) {
	if v.compiled == nil {
		return nil, "which rows were changed is not known without the plan"
	}
	in, err := recompute.Chunk(ctx, v.log, v.payloads, v.compiled, chunk)
	if err != nil {
		return nil, fmt.Sprintf("which rows were changed is not known: %v", err)
	}
	result, err := v.result(ctx, chunk.Chunk, in)
	if err != nil {
		return nil, fmt.Sprintf("which rows were changed is not known: %v", err)
	}
	passage := recompute.PassageOf(v.compiled, chunk.Run, chunk.Source, chunk.Chunk, in.Chunk, result)
	rows, err := v.log.ComputedRows(ctx, chunk, passage, recompute.RecordsOf(in))
	if err != nil {
		return nil, fmt.Sprintf("which rows were changed is not known: %v", err)
	}
	return rows, ""
}
