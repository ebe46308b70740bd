package landscape

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"waymark/landscape/seal"
)

// Errors of LastSeal and CheckSeals.
var (
	ErrUnsealed   = errors.New("the run is not sealed since it ended")
	ErrSealBroken = errors.New("what is recorded is not what was sealed")
)

// LastSeal returns the seal of a run that counts. The error wraps ErrUnsealed if nothing sealed the run since it was resumed.
func (r *Reader) LastSeal(ctx context.Context, run string) (RunSeal, error) {
	last, err := r.sealOfEnd(ctx, run)
	if err == nil && last == nil {
		err = fmt.Errorf("run %s: %w", run, ErrUnsealed)
	}
	if err != nil {
		return RunSeal{}, err
	}
	return *last, nil
}

// CheckSeals computes the roots of a run that has ended, and of its chunks, from what is recorded, and returns the seal that they fit. The error wraps
// ErrSealBroken and names the first root that differs; or ErrUnsealed, if nothing sealed the run. It reads all that is recorded of the run.
func (r *Reader) CheckSeals(ctx context.Context, run string) (sealed RunSeal, err error) {
	err = settle("", func() error {
		sealed, err = r.checkRunSeal(ctx, run)
		return err
	})
	if err != nil {
		return RunSeal{}, err
	}
	chunks, err := r.ChunkSeals(ctx, run)
	for _, chunk := range chunks {
		if err == nil {
			err = r.checkChunkSeal(ctx, chunk)
		}
	}
	return sealed, err
}

// checkRunSeal compares the records of a run with its last seal. The error wraps ErrStale if the run got another one meanwhile.
func (r *Reader) checkRunSeal(ctx context.Context, run string) (RunSeal, error) {
	last, err := r.LastSeal(ctx, run)
	if err != nil {
		return last, err
	}
	root, err := r.runRoot(ctx, last)
	if err = broken(err); err == nil && !bytes.Equal(root[:], last.Root) {
		err = ErrSealBroken
	}
	if !errors.Is(err, ErrSealBroken) {
		return last, err
	}
	if now, wrong := r.LastSeal(ctx, run); wrong == nil && now.Seq != last.Seq {
		err = ErrStale
	}
	return last, fmt.Errorf("seal %d of run %s: %w", last.Seq, run, err)
}

// runRoot computes the root of a run, with the salts of a seal, from what is recorded.
func (r *Reader) runRoot(ctx context.Context, s RunSeal) (seal.Hash, error) {
	salts, err := r.RunSalts(ctx, s.Run, s.Seq)
	if err != nil {
		return seal.Hash{}, err
	}
	tree := seal.NewRunTree(salts)
	err = r.RunLeaves(ctx, s.Run, func(leaf RunLeaf) bool {
		tree.Add(leaf.Line)
		return true
	})
	return tree.Root(), err
}

// checkChunkSeal compares the rows of a chunk with its seal.
func (r *Reader) checkChunkSeal(ctx context.Context, s ChunkSeal) error {
	root, err := r.chunkRoot(ctx, s)
	if err = broken(err); err == nil && !bytes.Equal(root[:], s.Root) {
		err = ErrSealBroken
	}
	if err != nil {
		err = fmt.Errorf("%s chunk %d of run %s: %w", s.Source, s.Chunk, s.Run, err)
	}
	return err
}

// chunkRoot computes the root of a chunk from what is recorded of its rows.
func (r *Reader) chunkRoot(ctx context.Context, s ChunkSeal) (root seal.Hash, err error) {
	chunk, err := r.Chunk(ctx, s.Run, ChunkKey{Source: s.Source, Chunk: s.Chunk})
	if err != nil {
		return seal.Hash{}, err
	}
	salts, err := r.ChunkSalts(ctx, chunk)
	if err != nil {
		return seal.Hash{}, err
	}
	rows, err := r.SealedRows(ctx, chunk)
	if err != nil {
		return seal.Hash{}, err
	}
	return rows.Root(salts), nil
}

// broken says of records that are missing or make no sense that they are not what was sealed.
func broken(err error) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrIncomplete) {
		return fmt.Errorf("%w: %w", ErrSealBroken, err)
	}
	return err
}
