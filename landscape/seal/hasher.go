package seal

import (
	"crypto/sha256"
	"encoding"
	"encoding/binary"
	"hash"
)

// A hasher computes the SHA-256 of short messages. sha256.Sum256 spends as long around the blocks of such a message as in them, because it copies its
// state to pad it. A message that brings its padding is whole blocks, and its hash is in the state after them. The zero value is ready.
type hasher struct {
	digest  digest
	message []byte
	state   []byte
}

// digest is a SHA-256 whose state can be read.
type digest interface {
	hash.Hash
	encoding.BinaryAppender
}

// leaf returns the hash of a leaf: SHA-256 of a zero byte, its salt and its body.
func (h *hasher) leaf(salt *Key, body func([]byte) []byte) Hash {
	h.message = body(append(append(h.message[:0], 0), salt[:]...))
	return h.sum()
}

// row returns the hash of a row, given its salt and the root of the tree over its fields: that of a leaf if it has none, and of two otherwise.
func (h *hasher) row(salt *Key, fields *Hash, body func([]byte) []byte) Hash {
	if fields == nil {
		return h.leaf(salt, body)
	}
	own, _ := h.halves(salt)
	leaf := h.leaf(&own, body)
	return h.node(&leaf, fields)
}

// node returns the hash of what is above two hashes.
func (h *hasher) node(left, right *Hash) Hash {
	h.message = append(append(append(h.message[:0], 1), left[:]...), right[:]...)
	return h.sum()
}

// pair returns the children 2j and 2j+1 of a key.
func (h *hasher) pair(key *Key, j int) [2 * KeyBytes]byte {
	h.message = append(append(h.message[:0], key[:]...), byte(j))
	return h.sum()
}

// sum returns the SHA-256 of the message, which it pads.
func (h *hasher) sum() Hash {
	if !statesAreReadable {
		return sha256.Sum256(h.message)
	}
	return h.sumPadded()
}

const stateHead = 4 // bytes of a state before its eight words

// statesAreReadable says whether the words of a state are where they are expected. How a state is laid out is not promised.
var statesAreReadable = func() bool {
	if _, ok := sha256.New().(digest); !ok {
		return false
	}
	h := &hasher{message: []byte("a message")}
	return h.sumPadded() == sha256.Sum256([]byte("a message"))
}()

var zeros [sha256.BlockSize]byte

func (h *hasher) sumPadded() (sum Hash) {
	if h.digest == nil {
		h.digest = sha256.New().(digest) //nolint:forcetypeassert // statesAreReadable asked
	}
	bits := 8 * uint64(len(h.message))
	h.message = append(h.message, 0x80)
	h.message = append(h.message, zeros[:(2*sha256.BlockSize-8-len(h.message)%sha256.BlockSize)%sha256.BlockSize]...)
	h.message = binary.BigEndian.AppendUint64(h.message, bits)
	h.digest.Reset()
	_, _ = h.digest.Write(h.message)
	h.state, _ = h.digest.AppendBinary(h.state[:0])
	copy(sum[:], h.state[min(stateHead, len(h.state)):])
	return sum
}
