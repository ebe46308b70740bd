// Command tiles verifies an anchor of a landscape's log with tessera, which knows nothing of Waymark: its fsck compares every entry, every tile and the
// checkpoint, and the proofs that its client builds from the tiles hold for every entry and every size. It prints the size of the log and its root.
// The key is one that the log has or had: entries that the key of then signed name the next one.
//
//	tiles FOLDER VERIFIER-KEY
//
// It also verifies a head of that log with the cosignatures of witnesses, and keeps a log of tessera's that asks witnesses of Waymark for theirs.
//
//	tiles head POLICY VERIFIER-KEY HEAD
//	tiles keep POLICY SIGNER-KEY FOLDER
//
// It verifies and makes signatures of heads with ML-DSA-44, as transparency-dev's formats does.
//
//	tiles verify-pq VERIFIER-KEY HEAD
//	tiles sign-pq SIGNER-KEY-FILE HEAD
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
)

func main() {
	ctx := context.Background()
	var err error
	switch args := os.Args[1:]; {
	case len(args) == 2:
		err = check(ctx, client.FileFetcher{Root: args[0]}, args[1])
	case len(args) == 3 && args[0] == "verify-pq":
		err = checkQuantum(args[1], args[2])
	case len(args) == 3 && args[0] == "sign-pq":
		err = signQuantum(args[1], args[2])
	case len(args) == 4 && args[0] == "head":
		err = checkHead(ctx, args[1], args[2], args[3])
	case len(args) == 4 && args[0] == "keep":
		err = keepLog(ctx, args[1], args[2], args[3])
	default:
		fmt.Fprintln(os.Stderr, "usage: tiles FOLDER VERIFIER-KEY | tiles head POLICY VERIFIER-KEY HEAD | tiles keep POLICY SIGNER-KEY FOLDER | tiles verify-pq VERIFIER-KEY HEAD | tiles sign-pq SIGNER-KEY-FILE HEAD")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tiles:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, files client.FileFetcher, key string) error {
	verifier, err := lastKey(ctx, files, key)
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
