package engine

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strconv"

	"waymark/engine/barrier"
	"waymark/pipeline"
	"waymark/pipeline/row"
	"waymark/plugin"
)

// sample keeps a share of the rows: those whose values, hashed with the seed, give a number under the limit.
type sample struct {
	seed  []byte
	by    []string
	limit uint64
	all   bool // the share is everything
	text  []byte
}

// newSample returns the operator of a specification whose rate is a number from 0 to 1.
func newSample(spec *pipeline.Sample) *sample {
	rate, ok := new(big.Rat).SetString(spec.Rate)
	if !ok {
		panic("engine: the rate of a sample is " + strconv.Quote(spec.Rate)) // the document was checked
	}
	scaled := new(big.Rat).Mul(rate, new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 64)))
	limit := new(big.Int).Quo(scaled.Num(), scaled.Denom())
	return &sample{
		seed: append(strconv.AppendInt(nil, int64(spec.Seed), 10), '|'), by: spec.By,
		limit: limit.Uint64(), all: !limit.IsUint64(),
	}
}

func (s *sample) apply(in row.Row) (row.Row, int, *plugin.Rejection) {
	s.text = append(s.text[:0], s.seed...)
	if len(s.by) == 0 {
		s.text = row.AppendCanonical(s.text, in)
	}
	for _, field := range s.by {
		value, found := in.Get(field)
		if !found {
			return in, noLabel, barrier.NoSuchField(field)
		}
		s.text = row.AppendValue(s.text, value)
	}
	sum := sha256.Sum256(s.text)
	if s.all || binary.BigEndian.Uint64(sum[:8]) < s.limit {
		return in, labelKept, nil
	}
	return in, labelDropped, nil
}
