package barrier

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"waymark/pipeline/expr"
	"waymark/pipeline/row"
)

// variance is var_samp(x), var_pop(x), stddev_samp(x) and stddev_pop(x). It adds the numbers and their squares exactly,
// so that neither the order of the values nor their size shows, and rounds once, at the end.
type variance struct {
	sample bool // the divisor is n - 1
	root   bool // the standard deviation, and not the variance
	n      int64
	kind   row.Kind
	scale  int64   // of the sums: a power of 2 for floats, of 10 for decimals, never positive
	sum    big.Int // of the values / base^scale
	square big.Int // of their squares / base^(2 scale)
	mixed  mixture
}

func newVariance(of expr.Func) *variance {
	return &variance{
		sample: of == expr.VarSamp || of == expr.StddevSamp,
		root:   of == expr.StddevSamp || of == expr.StddevPop,
	}
}

func (s *variance) add(v row.Value) {
	if v.IsNull() || !s.mixed.fits(v.Kind(), s.kind) {
		return
	}
	if s.kind != row.Decimal { // ints among decimals have no places, as integers
		s.kind = v.Kind()
	}
	s.n++
	number, scale := digits(v)
	if scale < s.scale {
		s.sum.Mul(&s.sum, s.power(s.scale-scale))
		s.square.Mul(&s.square, s.power(2*(s.scale-scale)))
		s.scale = scale
	} else if scale > s.scale {
		number.Mul(number, s.power(scale-s.scale))
	}
	s.sum.Add(&s.sum, number)
	s.square.Add(&s.square, number.Mul(number, number))
}

// digits returns a number as an integer, and the power of its base by which that is multiplied.
func digits(v row.Value) (number *big.Int, scale int64) {
	switch v.Kind() {
	case row.Int:
		return big.NewInt(v.Int()), 0
	case row.Float:
		return binaryDigits(v.Float())
	}
	d := decimal.RequireFromString(v.Text())
	if d.Exponent() > 0 {
		return d.BigInt(), 0
	}
	return d.Coefficient(), int64(d.Exponent())
}

// binaryDigits returns a finite float as an integer and a power of 2 that is not positive.
func binaryDigits(f float64) (number *big.Int, scale int64) {
	fraction, exponent := math.Frexp(f)
	mantissa, scale := int64(fraction*(1<<53)), int64(exponent)-53
	for scale < 0 && mantissa != 0 && mantissa&1 == 0 {
		mantissa, scale = mantissa>>1, scale+1
	}
	number = big.NewInt(mantissa)
	switch {
	case mantissa == 0:
		scale = 0
	case scale > 0:
		number.Lsh(number, uint(scale))
		scale = 0
	}
	return number, scale
}

// power returns base^exponent.
func (s *variance) power(exponent int64) *big.Int {
	if s.kind == row.Decimal {
		return new(big.Int).Exp(big.NewInt(10), big.NewInt(exponent), nil)
	}
	return new(big.Int).Lsh(big.NewInt(1), uint(exponent))
}

func (s *variance) result() (row.Value, error) {
	if err := s.mixed.fault(s.kind); err != nil {
		return row.NullValue(), err
	}
	divisor := s.n
	if s.sample {
		divisor--
	}
	if divisor < 1 {
		return row.NullValue(), nil
	}
	exact := s.exact(divisor)
	result, _ := exact.Float64()
	if s.root {
		result, _ = new(big.Float).Sqrt(new(big.Float).SetPrec(rootBits).SetRat(exact)).Float64()
	}
	if math.IsInf(result, 0) {
		return row.NullValue(), &expr.EvalError{Code: expr.CodeOverflow, Message: "the variance is outside the range of float"}
	}
	return row.FloatValue(result), nil
}

// rootBits is the precision of a root before it is rounded to the 53 bits of a float.
const rootBits = 256

// exact returns (n Σx² - (Σx)²) / (n × divisor), which is exact.
func (s *variance) exact(divisor int64) *big.Rat {
	n := big.NewInt(s.n)
	above := new(big.Int).Mul(n, &s.square)
	above.Sub(above, new(big.Int).Mul(&s.sum, &s.sum))
	below := n.Mul(n, big.NewInt(divisor))
	return new(big.Rat).SetFrac(above, below.Mul(below, s.power(-2*s.scale)))
}

func (s *variance) bytes() int { return 0 }
func (s *variance) detach()    {}

func (s *variance) save(w *writer) {
	w.signed(s.n)
	w.number(uint64(s.kind))
	w.signed(s.scale)
	w.text(s.sum.Text(bigBase))
	w.text(s.square.Text(bigBase))
	s.mixed.save(w)
}

// bigBase is the base in which states have the digits of long integers. Stored; never change.
const bigBase = 16

// leastScale is less than the scale of any float and of any decimal.
const leastScale = -1100

func (s *variance) load(r *reader) {
	s.n = r.signed()
	s.kind = row.Kind(r.natural(int64(row.JSON)))
	s.scale = r.within(leastScale, 0)
	_, sum := s.sum.SetString(r.text(), bigBase)
	_, square := s.square.SetString(r.text(), bigBase)
	if known := isNumber(s.kind) && s.n > 0 || s.kind == row.Null && s.n == 0; !sum || !square || !known {
		r.failf("a variance is of no number")
	}
	s.mixed.load(r)
}
