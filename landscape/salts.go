package landscape

import (
	"context"
	"errors"

	"waymark/landscape/seal"
)

// ChunkSalts returns the salts of the rows of a chunk.
func (r *Reader) ChunkSalts(ctx context.Context, chunk Chunk) (seal.Cover, error) {
	stored, err := Select[Salts](ctx, r.from, chunk.Run, chunk.Source, chunk.Chunk)
	if err != nil {
		return seal.Cover{}, err
	}
	if stored == nil {
		root, err := r.rootKey(ctx, chunk.Run)
		return seal.Whole(root.Chunk(chunk.Source, chunk.Chunk), int(chunk.Rows)), err
	}
	forgotten, err := r.Forgotten(ctx, chunk.Run, chunk.Key())
	if err != nil {
		return seal.Cover{}, err
	}
	without := make([]int, len(forgotten))
	for i, f := range forgotten {
		without[i] = int(f.Slot)
	}
	salts, err := seal.ParseCover(stored[0].Keys, int(chunk.Rows), without)
	if err != nil {
		err = incomplete("salts of %s chunk %d of run %s: %v", chunk.Source, chunk.Chunk, chunk.Run, err)
	}
	return salts, err
}

// RunSalts returns the salts of one of the seals of a run.
func (r *Reader) RunSalts(ctx context.Context, run string, seq int64) (seal.RunSalts, error) {
	stored, err := Select[Salts](ctx, r.from, run, "", seq)
	if err != nil {
		return seal.RunSalts{}, err
	}
	if stored == nil {
		root, err := r.rootKey(ctx, run)
		return seal.RunSaltsOf(root, seq), err
	}
	leaves, err := Select[ForgottenLeaf](ctx, r.from, run, seq)
	if err != nil {
		return seal.RunSalts{}, err
	}
	forgotten := map[int]seal.Hash{}
	for _, leaf := range leaves {
		forgotten[int(leaf.Leaf)] = hashOf(leaf.Hash)
	}
	salts, err := seal.ParseRunSalts(stored[0].Keys, forgotten)
	if err != nil {
		err = incomplete("salts of seal %d of run %s: %v", seq, run, err)
	}
	return salts, err
}

// rootKey returns the key from which salts follow that have no keys of their own. Every run begins with one: the error
// wraps ErrIncomplete if it is not there.
func (r *Reader) rootKey(ctx context.Context, run string) (seal.Key, error) {
	salts, err := get[Salts](ctx, r.from, run, "", int64(rootOfSalts))
	if errors.Is(err, ErrNotFound) {
		err = incomplete("run %s has no salts", run)
	}
	if err != nil {
		return seal.Key{}, err
	}
	key, err := seal.ParseKey(salts.Keys)
	if err != nil {
		err = incomplete("salts of run %s: %v", run, err)
	}
	return key, err
}

// forgottenLeaves returns the leaves of the forgotten rows of a chunk, by index.
func (r *Reader) forgottenLeaves(ctx context.Context, chunk Chunk) (map[int]seal.Hash, error) {
	forgotten, err := r.Forgotten(ctx, chunk.Run, chunk.Key())
	if len(forgotten) == 0 {
		return nil, err
	}
	leaves := map[int]seal.Hash{}
	for _, f := range forgotten {
		leaves[int(f.Slot)] = hashOf(f.Leaf)
	}
	return leaves, err
}

// hashOf returns a stored hash; zero if its length is another.
func hashOf(stored []byte) (hash seal.Hash) {
	if len(stored) == len(hash) {
		hash = seal.Hash(stored)
	}
	return hash
}
