package firsts

import "math/bits"

// filter is a Bloom filter in blocks of one cache line: a look-up costs one access to memory, and of a hundred keys that were not
// added it takes about one for added.
type filter struct{ blocks [][8]uint64 }

const (
	filterBits   = 12  // for each key
	blockBits    = 512 // a cache line
	filterProbes = 7   // bits of a block that a key sets, 9 bits of the key each
)

func newFilter(keys int64) filter {
	return filter{make([][8]uint64, (keys*filterBits+blockBits-1)/blockBits)}
}

// block returns the block of a key. Keys in ascending order have blocks in ascending order.
func (f filter) block(k key) *[8]uint64 {
	at, _ := bits.Mul64(k.hi, uint64(len(f.blocks)))
	return &f.blocks[at]
}

func (f filter) add(k key) {
	block := f.block(k)
	for rest, i := k.lo, 0; i < filterProbes; rest, i = rest>>9, i+1 {
		block[rest>>6&7] |= 1 << (rest & 63)
	}
}

// mayHave reports whether the key may have been added.
func (f filter) mayHave(k key) bool {
	block := f.block(k)
	for rest, i := k.lo, 0; i < filterProbes; rest, i = rest>>9, i+1 {
		if block[rest>>6&7]&(1<<(rest&63)) == 0 {
			return false
		}
	}
	return true
}
