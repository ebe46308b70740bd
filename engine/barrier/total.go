package barrier

import (
	"math/big"
	"math/bits"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// total is sum(x) and mean(x).
type total struct {
	mean  bool
	n     int64    // values that are not null
	kind  row.Kind // of the result: of ints and decimals, Decimal
	sum   sum      // of the kind; nil as long as there is no value
	mixed mixture
}

// sum adds numbers of one kind exactly; of floats, the result is rounded once. Its errors are *expr.EvalErrors.
type sum interface {
	add(v row.Value)
	total() (row.Value, error)
	mean(n int64) (row.Value, error)
	save(w *writer)
	load(r *reader)
}

func newSum(kind row.Kind) sum {
	switch kind {
	case row.Int:
		return new(intSum)
	case row.Float:
		return new(floatSum)
	default:
		return new(decimalSum)
	}
}

func (t *total) add(v row.Value) {
	if v.IsNull() || !t.mixed.fits(v.Kind(), t.kind) {
		return
	}
	if t.sum == nil {
		t.kind, t.sum = v.Kind(), newSum(v.Kind())
	}
	if ints, ok := t.sum.(*intSum); ok && v.Kind() == row.Decimal {
		t.kind, t.sum = row.Decimal, ints.decimal()
	}
	t.n++
	t.sum.add(v)
}

func (t *total) result() (row.Value, error) {
	switch err := t.mixed.fault(t.kind); {
	case err != nil || t.sum == nil:
		return row.NullValue(), err
	case t.mean:
		return t.sum.mean(t.n)
	}
	return t.sum.total()
}

func (t *total) bytes() int { return 0 }
func (t *total) detach()    {}

func (t *total) save(w *writer) {
	w.signed(t.n)
	w.number(uint64(t.kind))
	if t.sum != nil {
		t.sum.save(w)
	}
	t.mixed.save(w)
}

func (t *total) load(r *reader) {
	t.n = r.signed()
	switch t.kind = row.Kind(r.natural(int64(row.JSON))); {
	case isNumber(t.kind) && t.n > 0:
		t.sum = newSum(t.kind)
		t.sum.load(r)
	case t.kind != row.Null || t.n != 0:
		r.failf("a sum is of no number")
	}
	t.mixed.load(r)
}

func isNumber(kind row.Kind) bool { return kind == row.Int || kind == row.Float || kind == row.Decimal }

// intSum adds ints in 128 bits: no order of values makes a sum overflow that fits in the end.
type intSum struct {
	high int64
	low  uint64
}

func (s *intSum) add(v row.Value) {
	low, carry := bits.Add64(s.low, uint64(v.Int()), 0)
	s.low = low
	s.high += v.Int()>>63 + int64(carry)
}

func (s *intSum) total() (row.Value, error) {
	if s.high != int64(s.low)>>63 {
		return row.Value{}, &expr.EvalError{Code: expr.CodeOverflow, Message: "the sum is outside the range of int; add decimals"}
	}
	return row.IntValue(int64(s.low)), nil
}

// exact returns the sum, which may be outside the range of int.
func (s *intSum) exact() *big.Int {
	sum := new(big.Int).Lsh(big.NewInt(s.high), 64)
	return sum.Add(sum, new(big.Int).SetUint64(s.low))
}

// mean returns the float that is nearest to the exact mean.
func (s *intSum) mean(n int64) (row.Value, error) {
	mean, _ := new(big.Rat).SetFrac(s.exact(), big.NewInt(n)).Float64()
	return row.FloatValue(mean), nil
}

// decimal returns a sum of decimals that begins with this one.
func (s *intSum) decimal() *decimalSum { return &decimalSum{DecimalSum: expr.DecimalSumOf(s.exact())} }

func (s *intSum) save(w *writer) {
	w.signed(s.high)
	w.number(s.low)
}

func (s *intSum) load(r *reader) { s.high, s.low = r.signed(), r.number() }

// decimalSum adds decimals and ints, until the sum has too many digits.
type decimalSum struct {
	expr.DecimalSum
	overflow bool
}

func (s *decimalSum) add(v row.Value) {
	if !s.overflow {
		s.overflow = s.Add(v) != nil
	}
}

func (s *decimalSum) total() (row.Value, error) {
	if s.overflow {
		return row.Value{}, &expr.EvalError{Code: expr.CodeOverflow, Message: "the sum has more digits than a decimal may have"}
	}
	return s.Value()
}

func (s *decimalSum) mean(n int64) (row.Value, error) {
	if s.overflow {
		return s.total()
	}
	return s.Mean(n)
}

// save writes a sum that overflowed as null.
func (s *decimalSum) save(w *writer) {
	value, err := s.total()
	if err != nil {
		value = row.NullValue()
	}
	w.value(value)
}

func (s *decimalSum) load(r *reader) {
	switch value := r.value(); value.Kind() {
	case row.Null:
		s.overflow = true
	case row.Decimal:
		s.add(value)
	default:
		r.failf("a sum of decimals is a %s", value.Kind())
	}
}
