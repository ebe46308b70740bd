package row

import (
	"cmp"
	"math"
	"strings"
)

// Compare returns -1, 0 or +1 as a stands before b, is b, or stands after b in the total order of all values; it is 0 if
// and only if a == b. The order is that of these groups, and within one
//
//	null
//	bool             false, true
//	numbers          ints, floats and decimals by their number, exactly; equal ones as int, float, decimal, then -0.0
//	                 before 0.0, and decimals with fewer places first
//	string           bytewise, which for UTF-8 is by code points
//	date, timestamp  by time, a date being midnight UTC; the date first if they are equal
//	json             bytewise by the normal form of ParseJSON
//
// A float stands for the same number as in Cast. Only comparing a decimal with an int or a float
// allocates.
func Compare(a, b Value) int {
	if byGroup := cmp.Compare(orderGroups[a.kind], orderGroups[b.kind]); byGroup != 0 {
		return byGroup
	}
	switch {
	case a.isNumber():
		return compareNumbers(a, b)
	case a.kind == String || a.kind == JSON:
		return strings.Compare(a.str, b.str)
	case a.kind == Date || a.kind == Timestamp:
		return cmp.Or(cmp.Compare(a.instant(), b.instant()), cmp.Compare(a.nanos, b.nanos), cmp.Compare(a.kind, b.kind))
	}
	return cmp.Compare(a.num, b.num)
}

// Order is Compare without its last resort: it is 0 for numbers that are equal, whatever their kind and form, such as 1, 1.0
// and 1.00, or -0.0 and 0.0.
func Order(a, b Value) int {
	if a.isNumber() && b.isNumber() {
		return compareByNumber(a, b)
	}
	return Compare(a, b)
}

// orderGroups gives the place of each kind's group in the order.
var orderGroups = [...]uint8{Null: 0, Bool: 1, Int: 2, Float: 2, Decimal: 2, String: 3, Date: 4, Timestamp: 4, JSON: 5}

// instant returns the seconds since 1970 of a Date or Timestamp.
func (v Value) instant() int64 {
	if v.kind == Date {
		return v.num * secondsPerDay
	}
	return v.num
}

// compareNumbers compares two values of the kinds Int, Float and Decimal; equal numbers by kind and form.
func compareNumbers(a, b Value) int {
	return cmp.Or(compareByNumber(a, b), cmp.Compare(a.kind, b.kind), a.compareForms(b))
}

// compareByNumber compares two values of the kinds Int, Float and Decimal by the numbers that they stand for.
func compareByNumber(a, b Value) int {
	switch {
	case a.kind == Int && b.kind == Int:
		return cmp.Compare(a.num, b.num)
	case a.kind == Float && b.kind == Float:
		return cmp.Compare(a.Float(), b.Float())
	case a.kind == Int && b.kind == Float:
		return compareIntFloat(a.num, b.Float())
	case a.kind == Float && b.kind == Int:
		return -compareIntFloat(b.num, a.Float())
	default: // with a decimal
		return compareDigits(plainDigits(a), plainDigits(b))
	}
}

// compareForms compares two equal numbers of one kind. Only zero is two floats: the bits of -0.0 are the least int64.
func (v Value) compareForms(w Value) int {
	return cmp.Or(cmp.Compare(v.num, w.num), cmp.Compare(len(v.str), len(w.str)))
}

// compareIntFloat compares i with f exactly: not every int64 is a float64.
func compareIntFloat(i int64, f float64) int {
	switch {
	case f < math.MinInt64:
		return +1
	case f >= -math.MinInt64:
		return -1
	}
	whole := math.Trunc(f)
	return cmp.Or(cmp.Compare(i, int64(whole)), cmp.Compare(whole, f))
}

// compareDigits compares two numbers without exponents, plus signs, leading zeros and the sign of a zero.
func compareDigits(a, b string) int {
	sizeA, negativeA := strings.CutPrefix(a, "-")
	sizeB, negativeB := strings.CutPrefix(b, "-")
	switch {
	case negativeA && negativeB:
		return compareSizes(sizeB, sizeA)
	case negativeA:
		return -1
	case negativeB:
		return +1
	}
	return compareSizes(sizeA, sizeB)
}

func compareSizes(a, b string) int {
	wholeA, fractionA, _ := strings.Cut(a, ".")
	wholeB, fractionB, _ := strings.Cut(b, ".")
	return cmp.Or(cmp.Compare(len(wholeA), len(wholeB)), strings.Compare(wholeA, wholeB),
		strings.Compare(strings.TrimRight(fractionA, "0"), strings.TrimRight(fractionB, "0")))
}
