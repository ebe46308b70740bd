package expr

import (
	"math"
	"math/big"

	"github.com/shopspring/decimal"

	"waymark/pipeline/row"
)

// QuantileOf returns the value at a place of sorted, which has at least one value; all are of one kind, or ints and
// decimals, and in the order of row.Compare. The place is q × (number of values − 1), counted from 0, with q from 0 to 1. Between two floats it is on
// the line between them; of other kinds the value before the place is taken, so that the result is one of the values.
func QuantileOf(sorted []row.Value, q float64) row.Value {
	place := q * float64(len(sorted)-1)
	before := min(int(place), len(sorted)-1)
	low, fraction := sorted[before], place-float64(before)
	if low.Kind() != row.Float || fraction == 0 || before == len(sorted)-1 {
		return low
	}
	return row.FloatValue(between(low.Float(), sorted[before+1].Float(), fraction))
}

// between returns the number at this fraction of the way from a up to b, and never one outside.
func between(a, b, fraction float64) float64 {
	if distance := b - a; !math.IsInf(distance, 0) {
		return min(a+distance*fraction, b)
	}
	return a*(1-fraction) + b*fraction
}

// A DecimalSum adds decimals exactly. The zero DecimalSum is the decimal 0.
type DecimalSum struct{ number decimal.Decimal }

// DecimalSumOf returns a sum that begins with n.
func DecimalSumOf(n *big.Int) DecimalSum { return DecimalSum{decimal.NewFromBigInt(n, 0)} }

// Add adds a value of kind Decimal or Int. The error is an *EvalError, CodeOverflow, if the sum has more digits than a decimal may
// have; it is not usable then.
func (s *DecimalSum) Add(v row.Value) error {
	number := decimal.NewFromInt(v.Int())
	if v.Kind() == row.Decimal {
		var err error
		if number, err = decimal.NewFromString(v.Text()); err != nil {
			return evalErrorf(CodeEval, "%v", err)
		}
	}
	s.number = s.number.Add(number)
	if s.number.NumDigits() > maxDecimalDigits {
		return evalErrorf(CodeOverflow, "the sum has more than %d digits", maxDecimalDigits)
	}
	return nil
}

// maxDecimalDigits is how many digits a decimal may have. Source: docs/canonical-form.md (decimals).
const maxDecimalDigits = 1000

// places returns the number of digits after the point: as many as the added value with the most of them has.
func (s *DecimalSum) places() int { return int(max(0, -s.number.Exponent())) }

// Value returns the sum, with as many places as the added value with the most of them. Added to a zero DecimalSum it makes
// an equal one.
func (s *DecimalSum) Value() (row.Value, error) { return decimalValue{s.number}.rowValue() }

// meanPlaces is how many places a mean has more than the values.
const meanPlaces = 6

// Mean returns the sum divided by n, which is positive, with six places more than the sum, rounded half away from zero.
// The error is an *EvalError, CodeOverflow, if these are more digits than a decimal may have.
func (s *DecimalSum) Mean(n int64) (row.Value, error) {
	places := int32(s.places() + meanPlaces)
	return decimalValue{s.number.DivRound(decimal.NewFromInt(n), places)}.rowValue()
}
