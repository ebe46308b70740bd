// Command tiles verifies an anchor of a landscape's log with tessera, which knows nothing of Waymark: its fsck compares every entry, every tile and the
// checkpoint, and the proofs that its client builds from the tiles hold for every entry and every size. It prints the size of the log and its root.
//
//	tiles FOLDER VERIFIER-KEY
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/transparency-dev/merkle/compact"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/api/layout"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tiles FOLDER VERIFIER-KEY")
		os.Exit(2)
	}
	if err := check(context.Background(), client.FileFetcher{Root: os.Args[1]}, os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "tiles:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, files client.FileFetcher, key string) error {
	verifier, err := note.NewVerifier(key)
	if err != nil {
		return err
	}
	head, _, _, err := client.FetchCheckpoint(ctx, files.ReadCheckpoint, verifier, verifier.Name())
	if err != nil {
		return err
	}
	// After a wrong tile, fsck's workers stop and it waits for them to make room for the next tiles: here is room for all.
	room := fsck.Opts{N: uint(head.Size/layout.EntryBundleWidth + 8)}
	if err := fsck.New(verifier.Name(), verifier, files, leafHashes, room).Check(ctx); err != nil {
		return fmt.Errorf("fsck: %w", err)
	}
	if err := checkProofs(ctx, files, head.Size, head.Hash); err != nil {
		return err
	}
	fmt.Printf("%d %x\n", head.Size, head.Hash)
	return nil
}

func leafHashes(bundle []byte) ([][]byte, error) {
	var entries api.EntryBundle
	if err := entries.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	hashes := make([][]byte, len(entries.Entries))
	for i, entry := range entries.Entries {
		hashes[i] = rfc6962.DefaultHasher.HashLeaf(entry)
	}
	return hashes, nil
}

// checkProofs verifies that each entry is in the tree, and that the tree of each smaller size is a beginning of it.
func checkProofs(ctx context.Context, files client.FileFetcher, size uint64, root []byte) error {
	hasher := rfc6962.DefaultHasher
	builder, err := client.NewProofBuilder(ctx, size, files.ReadTile)
	if err != nil {
		return err
	}
	leaves, err := client.FetchLeafHashes(ctx, files.ReadTile, 0, size, size)
	if err != nil {
		return err
	}
	tree := (&compact.RangeFactory{Hash: hasher.HashChildren}).NewEmptyRange(0)
	for i, leaf := range leaves {
		position := uint64(i)
		inclusion, err := builder.InclusionProof(ctx, position)
		if err == nil {
			err = proof.VerifyInclusion(hasher, position, size, leaf, inclusion, root)
		}
		if err != nil {
			return fmt.Errorf("inclusion of entry %d: %w", position, err)
		}
		if err := checkSize(ctx, builder, tree, leaf, size, root); err != nil {
			return fmt.Errorf("consistency of size %d: %w", position+1, err)
		}
	}
	return nil
}

// checkSize appends a leaf to a tree, and verifies that the tree of this size is a beginning of the log.
func checkSize(ctx context.Context, builder *client.ProofBuilder, tree *compact.Range, leaf []byte, size uint64, root []byte) error {
	if err := tree.Append(leaf, nil); err != nil {
		return err
	}
	smaller, err := tree.GetRootHash(nil)
	if err != nil {
		return err
	}
	consistency, err := builder.ConsistencyProof(ctx, tree.End(), size)
	if err != nil {
		return err
	}
	return proof.VerifyConsistency(rfc6962.DefaultHasher, tree.End(), size, consistency, smaller, root)
}
