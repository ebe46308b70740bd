package recompute

import (
	"encoding/binary"

	"waymark/engine"
	"waymark/engine/barrier"
	"waymark/engine/firsts"
	"waymark/engine/plan"
	"waymark/landscape"
)

// Lookup is an engine.Firsts that asks an index, or a layer over one.
type Lookup func(firsts.Value, uint64) (uint64, error)

// First does what engine.Firsts says.
func (l Lookup) First(claim int, value engine.Value, token barrier.Token) (barrier.Token, error) {
	first, err := l(keyOf(claim, value), packToken(token))
	return unpackToken(first), err
}

// Finder finds the token that has a value, as a firsts.Index does; 0 if none has.
type Finder interface {
	Find(v firsts.Value) (uint64, error)
}

// FirstIn returns the token that has a value in an index that was filled by Lookup; the zero token if none has.
func FirstIn(index Finder, p *plan.Plan, claim int, value engine.Value) (landscape.Token, error) {
	first, err := index.Find(keyOf(claim, value))
	if err != nil || first == 0 {
		return landscape.Token{}, err
	}
	return TokenOf(p, unpackToken(first)), nil
}

// keyOf returns what stands in an index for a value of one of the claims.
func keyOf(claim int, value engine.Value) firsts.Value {
	const golden = 0x9e3779b97f4a7c15 // odd: each claim has a mask of its own, the first one none
	mask := uint64(claim) * golden
	binary.BigEndian.PutUint64(value[:8], binary.BigEndian.Uint64(value[:8])^mask)
	return firsts.Value(value)
}
