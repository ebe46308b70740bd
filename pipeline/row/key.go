package row

import (
	"math"
	"strings"
)

// Key returns the value that stands for all that are equal to v: v == w by value if and only if v.Key() == w.Key().
//
//	numbers          equal if their numbers are: 100, 100.0 and 100.00, of any kind, are the int; a number that no int is
//	                 is a decimal without zeros at its end. A float stands for the number that Cast says; -0.0 is 0
//	json             a scalar is the null, bool, number or string that it is; in arrays and objects, numbers are equal if
//	                 their numbers are
//	all others       equal to themselves alone: a date is no timestamp, and no string
//
// It is the one equality of groups, keys, look-ups and unique fields, and that of == in expressions. It allocates for
// floats with a fraction and for JSON. Key of a key is the key.
func (v Value) Key() Value {
	switch v.kind {
	case Float:
		if f := v.Float(); f == math.Trunc(f) && f >= math.MinInt64 && f < -math.MinInt64 {
			return IntValue(int64(f))
		}
		return numberKey(plainDigits(v))
	case Decimal:
		return numberKey(v.str)
	case JSON:
		return jsonKey(v)
	}
	return v
}

// CanEqual reports whether some value of the kind a is equal to one of the kind b that is not null: whether they have the
// same Key.
func CanEqual(a, b Kind) bool {
	switch {
	case a == b, a.isNumber() && b.isNumber():
		return true
	case a == JSON:
		return b == Bool || b == String || b.isNumber()
	}
	return b == JSON && CanEqual(b, a)
}

// numberKey returns the key of the number that digits denote, in the normal form of a decimal.
func numberKey(digits string) Value {
	digits = trimFraction(digits)
	if !strings.Contains(digits, ".") {
		if n, fits := parseInt(digits); fits {
			return IntValue(n)
		}
	}
	return Value{kind: Decimal, str: digits}
}

func jsonKey(v Value) Value {
	if v.isJSONScalar() {
		return v.scalar().Key()
	}
	if strings.IndexByte(v.str, '.') < 0 {
		return v
	}
	text := make([]byte, 0, len(v.str))
	for i := 0; i < len(v.str); {
		end, piece := i+1, v.str[i:i+1]
		switch c := v.str[i]; {
		case c == '"':
			end = stringEnd(v.str, i)
			piece = v.str[i:end]
		case c == '-' || isDigit(c):
			end, _ = numberEnd(v.str, i)
			piece = trimFraction(v.str[i:end])
		}
		text, i = append(text, piece...), end
	}
	v.str = string(text)
	return v
}
