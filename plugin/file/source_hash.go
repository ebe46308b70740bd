package file

import (
	"crypto/sha256"
	"encoding"
	"hash"
)

// prefixHash is the SHA-256 of a file up to some place. Its state can be carried on, and holds none of the file's bytes:
// it is the state after the last whole block, and who continues from there hashes what comes after that once more.
type prefixHash struct {
	blocks hash.Hash              // of all whole blocks
	rest   [sha256.BlockSize]byte // what comes after them
	n      int                    // bytes of rest
}

func newPrefixHash() *prefixHash { return &prefixHash{blocks: sha256.New()} }

// write hashes what comes next.
func (h *prefixHash) write(p []byte) {
	for len(p) > 0 {
		if whole := len(p) &^ (sha256.BlockSize - 1); h.n == 0 && whole > 0 {
			h.blocks.Write(p[:whole])
			p = p[whole:]
			continue
		}
		n := copy(h.rest[h.n:], p)
		p = p[n:]
		if h.n += n; h.n == sha256.BlockSize {
			h.blocks.Write(h.rest[:])
			h.n = 0
		}
	}
}

// sum returns the SHA-256 of what was hashed, or nil if it cannot be had.
func (h *prefixHash) sum() []byte {
	whole := prefixHash{blocks: sha256.New()}
	if state := h.state(); state == nil || whole.enter(state) != nil {
		return nil
	}
	whole.blocks.Write(h.rest[:h.n])
	return whole.blocks.Sum(nil)
}

// state returns the state after the last whole block, or nil if it cannot be carried.
func (h *prefixHash) state() []byte {
	state, err := h.blocks.(encoding.BinaryMarshaler).MarshalBinary()
	if err != nil {
		return nil
	}
	return state
}

// enter continues from a state.
func (h *prefixHash) enter(state []byte) error {
	return h.blocks.(encoding.BinaryUnmarshaler).UnmarshalBinary(state)
}

// blockAt is where the last whole block before an offset ends.
func blockAt(offset int64) int64 { return offset - offset%sha256.BlockSize }
