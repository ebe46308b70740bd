package seal

// runLeaves is how many leaves the tree of a run has room for. It says how many levels of keys lie above their salts, however many there are.
const runLeaves = 1 << 30

// A RunTree is the tree over the records of a run, each a line.
type RunTree struct {
	salts  *salts
	tree   tree
	buffer []byte
}

// NewRunTree returns the tree of one of the seals of a run, counted from 0, given the run's key. Its salts follow from the key of the chunk with
// that number, of no source.
func NewRunTree(run Key, seq int64) *RunTree {
	return &RunTree{salts: newSalts(run.Chunk("", seq), runLeaves)}
}

// Add adds a line as the next leaf, and returns its hash.
func (t *RunTree) Add(line []byte) Hash {
	var hash Hash
	hash, t.buffer = leaf(t.buffer, t.salts.salt(), func(dst []byte) []byte { return append(dst, line...) })
	t.tree.add(hash)
	return hash
}

// Root returns the root of the lines that were added.
func (t *RunTree) Root() Hash { return t.tree.root() }

// RunSalt returns the salt of a leaf of one of the seals of a run.
func RunSalt(run Key, seq, leaf int64) Key { return run.Chunk("", seq).Salt(int(leaf), runLeaves) }

// LeafHash returns the hash of a leaf: a line of a record, or the body of a row.
func LeafHash(salt Key, line []byte) Hash {
	hash, _ := leaf(nil, &salt, func(dst []byte) []byte { return append(dst, line...) })
	return hash
}
