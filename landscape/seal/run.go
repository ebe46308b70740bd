package seal

// runLeaves is how many leaves the tree of a run has room for. It says how many levels of keys lie above their salts, however many there are.
const runLeaves = 1 << 30

// A RunTree is the tree over the records of a run, each a line.
type RunTree struct {
	RunSalts
	next   *salts
	leaves int
	tree   tree
	hasher hasher
}

// RunSalts are the salts of one of the seals of a run, and its leaves whose salts were destroyed.
type RunSalts struct {
	Cover
	Forgotten map[int]Hash // by index
}

// RunSaltsOf returns the salts of one of the seals of a run, counted from 0, given the run's key: they follow from the key of the chunk with that
// number, of no source.
func RunSaltsOf(run Key, seq int64) RunSalts {
	return RunSalts{Cover: WholeRun(run.Chunk("", seq))}
}

// WholeRun returns the cover of all leaves of a seal of a run, given the key of the seal.
func WholeRun(key Key) Cover { return Whole(key, runLeaves) }

// ParseRunSalts returns the salts whose keys these are.
func ParseRunSalts(keys []byte, forgotten map[int]Hash) (s RunSalts, err error) {
	s.Forgotten = forgotten
	s.Cover, err = ParseCover(keys, runLeaves, sortedKeys(forgotten))
	return s, err
}

// NewRunTree returns a tree without leaves.
func NewRunTree(salts RunSalts) *RunTree {
	return &RunTree{RunSalts: salts, next: newSalts(salts.Cover)}
}

// Add adds a line as the next leaf, and returns its hash.
func (t *RunTree) Add(line []byte) Hash {
	hash, forgotten := t.Forgotten[t.leaves]
	t.leaves++
	if salt := t.next.salt(); !forgotten && salt != nil {
		hash = t.hasher.leaf(salt, func(dst []byte) []byte { return append(dst, line...) })
	}
	t.tree.add(hash)
	return hash
}

// Root returns the root of the lines that were added.
func (t *RunTree) Root() Hash { return t.tree.root() }

// Leaf returns the hash of a line as one of the leaves; false if nothing tells.
func (s RunSalts) Leaf(i int, line []byte) (Hash, bool) {
	if hash, ok := s.Forgotten[i]; ok {
		return hash, true
	}
	salt, ok := s.Salt(i)
	return LeafHash(salt, line), ok
}

// LeafHash returns the hash of a leaf: a line of a record, or the body of a row.
func LeafHash(salt Key, line []byte) Hash {
	var h hasher
	return h.leaf(&salt, func(dst []byte) []byte { return append(dst, line...) })
}
