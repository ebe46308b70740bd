package seal

import (
	"crypto/sha256"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// A Hash is a hash of a leaf or a node of a tree, or its root.
type Hash = tlog.Hash

// A tree is one of RFC 6962 that grows. It keeps a hash for each complete subtree on its right edge. The zero value has no leaf.
type tree struct {
	leaves uint64
	edge   [64]Hash // edge[i] is that of a subtree with 1<<i leaves, if leaves has this bit
	hasher hasher
}

// add adds a leaf.
func (t *tree) add(hash Hash) {
	level := 0
	for ; t.leaves>>level&1 == 1; level++ {
		hash = t.hasher.node(&t.edge[level], &hash)
	}
	t.edge[level] = hash
	t.leaves++
}

// root returns the tree's root; that of a tree without leaves is the SHA-256 of nothing.
func (t *tree) root() Hash {
	var root Hash
	found := false
	for level := range t.edge {
		switch {
		case t.leaves>>level&1 == 0:
		case found:
			root = t.hasher.node(&t.edge[level], &root)
		default:
			root, found = t.edge[level], true
		}
	}
	if !found {
		return sha256.Sum256(nil)
	}
	return root
}

// Path returns the hashes that lead from a leaf to the root of the tree over leaves, from below: RFC 6962's audit path, which tlog.CheckRecord checks.
func Path(leaves []Hash, leaf int) []Hash {
	if len(leaves) <= 1 {
		return nil
	}
	left := 1 << (bits.Len(uint(len(leaves)-1)) - 1) // the greatest power of two below
	if leaf < left {
		return append(Path(leaves[:left], leaf), rootOf(leaves[left:]))
	}
	return append(Path(leaves[left:], leaf-left), rootOf(leaves[:left]))
}

func rootOf(leaves []Hash) Hash {
	var t tree
	for _, leaf := range leaves {
		t.add(leaf)
	}
	return t.root()
}
