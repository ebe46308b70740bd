package recompute

import (
	"encoding/binary"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/firsts"
)

// Lookup is an engine.Firsts that asks an index, or a layer over one.
type Lookup func(firsts.Value, uint64) (uint64, error)

// First does what engine.Firsts says.
func (l Lookup) First(claim int, value engine.Value, token barrier.Token) (barrier.Token, error) {
	first, err := l(keyOf(claim, value), packToken(token))
	return unpackToken(first), err
}

// keyOf returns what an index has for a value of one of the claims.
func keyOf(claim int, value engine.Value) firsts.Value {
	const golden = 0x9e3779b97f4a7c15 // odd: each claim has a mask of its own, the first one none
	mask := uint64(claim) * golden
	binary.BigEndian.PutUint64(value[:8], binary.BigEndian.Uint64(value[:8])^mask)
	return firsts.Value(value)
}
