// Package amount adds up decimal numbers exactly.
package amount

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/shopspring/decimal"

	"waymark/pipeline/row"
)

// maxDigits is how many digits always fit into an int64.
const maxDigits = 18

// Amount is a decimal number. The zero value is 0.
type Amount struct {
	units int64  // times ten to the power of -scale
	scale int    // places
	text  string // of a number with more than maxDigits digits, which units does not hold; else empty
}

// Of returns the amount that a value of a row is; false if it is neither an int nor a decimal.
func Of(v row.Value) (Amount, bool) {
	switch v.Kind() {
	case row.Int:
		return Amount{units: v.Int()}, true
	case row.Decimal:
		return ofText(v.Text()), true
	}
	return Amount{}, false
}

// Parse returns the amount that text denotes, in the form of Sum.String.
func Parse(text string) (Amount, error) {
	number, err := decimal.NewFromString(text)
	if err != nil || number.StringFixed(max(0, -number.Exponent())) != text {
		return Amount{}, fmt.Errorf("%.64q is not an amount", text)
	}
	return ofText(text), nil
}

// ofText returns the amount of a text in the normal form of a decimal: `-?digits` or `-?digits.digits`.
func ofText(text string) Amount {
	if len(text) > maxDigits { // a sign or a point aside, which then costs nothing but time
		return Amount{text: text}
	}
	var a Amount
	point := false
	for _, c := range []byte(text) {
		switch {
		case c == '.':
			point = true
		case c != '-':
			a.units = 10*a.units + int64(c-'0')
			if point {
				a.scale++
			}
		}
	}
	if text[0] == '-' {
		a.units = -a.units
	}
	return a
}

// Sum is the exact sum of amounts. The zero value is 0.
type Sum struct {
	units int64           // times ten to the power of -scale
	scale int             // as many places as the amount of units that has most
	wide  decimal.Decimal // what units does not hold
	isSet bool            // wide counts
}

// Add adds an amount.
func (s *Sum) Add(a Amount) {
	if a.text == "" && s.align(a.scale) {
		if units, ok := scaled(a.units, s.scale-a.scale); ok {
			if sum := s.units + units; (sum > s.units) == (units > 0) {
				s.units = sum
				return
			}
		}
	}
	s.widen(a.decimal())
}

// AddSum adds another sum.
func (s *Sum) AddSum(other Sum) {
	s.Add(Amount{units: other.units, scale: other.scale})
	if other.isSet {
		s.widen(other.wide)
	}
}

// Subtract subtracts another sum.
func (s *Sum) Subtract(other Sum) {
	s.widen(other.decimal().Neg())
}

// IsZero reports whether the sum is 0.
func (s *Sum) IsZero() bool {
	total := s.decimal()
	return total.IsZero()
}

// String returns the sum in the normal form of a decimal, with as many places as the amount that has most.
func (s *Sum) String() string {
	if s.isSet {
		total := s.decimal()
		return total.StringFixed(max(0, -total.Exponent()))
	}
	digits := strconv.FormatInt(s.units, 10)
	if s.scale == 0 {
		return digits
	}
	digits, negative := strings.CutPrefix(digits, "-")
	if missing := s.scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	text := digits[:len(digits)-s.scale] + "." + digits[len(digits)-s.scale:]
	if negative {
		text = "-" + text
	}
	return text
}

// align gives units at least this many places; false if that does not fit.
func (s *Sum) align(scale int) bool {
	if scale <= s.scale {
		return true
	}
	units, ok := scaled(s.units, scale-s.scale)
	if ok {
		s.units, s.scale = units, scale
	}
	return ok
}

func (s *Sum) widen(number decimal.Decimal) {
	s.wide, s.isSet = s.wide.Add(number), true
}

func (s *Sum) decimal() decimal.Decimal {
	return decimal.New(s.units, int32(-s.scale)).Add(s.wide)
}

func (a Amount) decimal() decimal.Decimal {
	if a.text == "" {
		return decimal.New(a.units, int32(-a.scale))
	}
	number, err := decimal.NewFromString(a.text)
	if err != nil {
		panic(err) // a decimal in normal form
	}
	return number
}

// scaled returns units times ten to the power of places; false if that does not fit.
func scaled(units int64, places int) (int64, bool) {
	for range places {
		if units > math.MaxInt64/10 || units < math.MinInt64/10 {
			return 0, false
		}
		units *= 10
	}
	return units, true
}
