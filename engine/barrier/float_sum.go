package barrier

import (
	"math"
	"math/big"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// floatSum adds floats exactly, so that no order of them shows: the sum is that of a few floats, which do not overlap. Two of them
// are enough for most sums.
type floatSum struct {
	high, low float64
	more      *floatParts // in place of the two where they are not enough
}

// floatParts are any number of floats that do not overlap, the smallest first. Source: J. R. Shewchuk, "Adaptive Precision
// Floating-Point Arithmetic and Fast Robust Geometric Predicates", 1997 (as Python's math.fsum).
type floatParts struct {
	parts []float64
	huge  []float64 // the same of floats from hugeFrom on, times hugeScale: their sums leave the range of float
}

// Of fewer than 2^63 floats below hugeFrom no sum leaves the range; a float from there on times hugeScale keeps its digits.
const (
	hugeFrom  = 0x1p960
	hugeScale = 0x1p-128
	hugeBits  = 128
)

func (s *floatSum) add(v row.Value) {
	f := v.Float()
	if s.more == nil && math.Abs(f) < hugeFrom {
		sum, rest := twoSum(s.high, f)
		low, lost := twoSum(s.low, rest)
		if lost == 0 {
			s.high, s.low = twoSum(sum, low)
			return
		}
	}
	s.addToMore(f)
}

// twoSum returns the sum of two floats and what its rounding lost, exactly. Source: D. E. Knuth, The Art of Computer Programming,
// volume 2, 4.2.2, theorem B.
func twoSum(a, b float64) (sum, lost float64) {
	sum = a + b
	part := sum - a
	return sum, (a - (sum - part)) + (b - part)
}

func (s *floatSum) addToMore(f float64) {
	if s.more == nil {
		s.more = &floatParts{parts: grown(grown(nil, s.low), s.high)}
		s.high, s.low = 0, 0
	}
	if math.Abs(f) < hugeFrom {
		s.more.parts = grown(s.more.parts, f)
	} else {
		s.more.huge = grown(s.more.huge, f*hugeScale)
	}
}

// grown returns floats that do not overlap, and whose sum is f more.
func grown(parts []float64, f float64) []float64 {
	kept := parts[:0]
	for _, part := range parts {
		sum, lost := twoSum(f, part)
		if lost != 0 {
			kept = append(kept, lost)
		}
		f = sum
	}
	return append(kept, f)
}

func (s *floatSum) total() (row.Value, error) { return s.mean(1) }

// mean returns the float that is nearest to the exact mean.
func (s *floatSum) mean(n int64) (row.Value, error) {
	mean := s.high / float64(n)
	switch {
	case s.more == nil && n == 1:
		mean = s.high + s.low
	case s.more != nil || s.low != 0:
		mean = s.divided(n)
	}
	if math.IsInf(mean, 0) {
		return row.Value{}, &expr.EvalError{Code: expr.CodeOverflow, Message: "the sum is outside the range of float"}
	}
	return row.FloatValue(mean), nil
}

// divided returns the float that is nearest to the sum divided by n.
func (s *floatSum) divided(n int64) float64 {
	sum, scale := new(big.Int), int64(0) // the sum times 2^-scale
	add := func(f float64, bits uint) {
		number, at := binaryDigits(f)
		number.Lsh(number, bits)
		if at < scale {
			sum.Lsh(sum, uint(scale-at))
			scale = at
		}
		sum.Add(sum, number.Lsh(number, uint(at-scale)))
	}
	add(s.low, 0)
	add(s.high, 0)
	if s.more != nil {
		for _, f := range s.more.parts {
			add(f, 0)
		}
		for _, f := range s.more.huge {
			add(f, hugeBits)
		}
	}
	const enough = 128 // bits of the quotient: more than those of a float, and those of n
	quotient, rest := sum.Lsh(sum, enough).QuoRem(sum, big.NewInt(n), new(big.Int))
	quotient.Lsh(quotient, 1).Add(quotient, big.NewInt(int64(rest.Sign()))) // what is left decides where it lies in the middle
	exact := new(big.Float).SetInt(quotient)
	nearest, _ := exact.SetMantExp(exact, int(scale)-enough-1).Float64()
	return nearest
}

func (s *floatSum) save(w *writer) {
	w.float(s.high)
	w.float(s.low)
	more := s.more
	if more == nil {
		more = new(floatParts)
	}
	for _, parts := range [][]float64{more.parts, more.huge} {
		w.count(len(parts))
		for _, f := range parts {
			w.float(f)
		}
	}
}

func (s *floatSum) load(r *reader) {
	s.high, s.low = r.float().Float(), r.float().Float()
	var more floatParts
	r.each(func() { more.parts = append(more.parts, r.float().Float()) })
	r.each(func() { more.huge = append(more.huge, r.float().Float()) })
	if len(more.parts)+len(more.huge) > 0 {
		s.more = &more
	}
}
