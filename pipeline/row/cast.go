package row

import (
	"math"
	"strconv"
	"strings"
)

// Cast returns v as a value of the kind, without losing anything: it is v itself if it has the kind, null if v is null,
// and otherwise
//
//	to string     the plain text of AppendText, from every kind
//	from string   what Parse accepts
//	to int        a float or decimal without a fraction, within int64
//	to float      an int or decimal that some float stands for: 0.1 and 2^60, but not 2^60+1
//	to decimal    an int; the number that a float stands for
//	to timestamp  midnight UTC of a date
//	to date       a timestamp at midnight UTC
//	to json       a bool or number; a date or timestamp as a JSON string
//	from json     a scalar as the null, bool, int, decimal or string it is
//
// A float stands for itself if it is an integer within int64, otherwise for its shortest digits: 0.1 for 0.1.
//
// Every other pair of kinds is refused with the code WRONG_TYPE, and a value that does not fit with INEXACT or
// NUMBER_RANGE. The error is a *ConvertError.
func Cast(v Value, to Kind) (Value, error) {
	switch {
	case v.kind == to || v.kind == Null:
		return v, nil
	case to == String:
		return StringValue(textOf(v)), nil
	case v.kind == String:
		return Parse(to, v.str)
	case to == JSON:
		return Parse(JSON, string(AppendJSONItem(nil, v)))
	case v.kind == JSON:
		return castFromJSON(v, to)
	case to == Timestamp && v.kind == Date:
		return TimestampValue(v.num*secondsPerDay, 0), nil
	case to == Date && v.kind == Timestamp:
		return castToDate(v)
	case v.isNumber() && to == Int:
		return castToInt(v)
	case v.isNumber() && to == Float:
		return castToFloat(v)
	case v.isNumber() && to == Decimal:
		return Parse(Decimal, plainDigits(v))
	}
	return Value{}, convertError(CodeWrongType, to, textOf(v), "a "+v.kind.String()+" is never cast to this kind")
}

// CanCast reports whether Cast turns some values of the kind from into the kind to. Where it is false, every value but null
// is refused with the code WRONG_TYPE.
func CanCast(from, to Kind) bool {
	switch {
	case from == to, from == Null, from == String, from == JSON, to == String, to == JSON:
		return true
	case from == Date || from == Timestamp:
		return to == Date || to == Timestamp
	}
	return from.isNumber() && to.isNumber()
}

func (k Kind) isNumber() bool { return k == Int || k == Float || k == Decimal }

func (v Value) isNumber() bool { return v.kind.isNumber() }

func textOf(v Value) string { return string(AppendText(nil, v)) }

func inexact(v Value, to Kind, hint string) error {
	return convertError(CodeInexact, to, textOf(v), hint)
}

func castToDate(v Value) (Value, error) {
	days, clock := floorDay(v.num)
	if clock != 0 || v.nanos != 0 {
		return Value{}, inexact(v, Date, "the time is not midnight UTC")
	}
	return DateValue(days), nil
}

// castToInt casts a Float or Decimal.
func castToInt(v Value) (Value, error) {
	whole, fraction, _ := strings.Cut(plainDigits(v), ".")
	if strings.Trim(fraction, "0") != "" {
		return Value{}, inexact(v, Int, "the number has a fraction")
	}
	return parseIntValue(whole)
}

// castToFloat casts an Int or Decimal.
func castToFloat(v Value) (Value, error) {
	cast, err := parseFloatValue(textOf(v))
	if err != nil {
		return Value{}, err
	}
	if !sameNumber(textOf(v), plainDigits(cast)) {
		return Value{}, inexact(v, Float, "a float does not hold all digits")
	}
	return cast, nil
}

// plainDigits returns a number without an exponent; for a float, the number it stands for.
func plainDigits(v Value) string {
	f := v.Float()
	switch {
	case v.kind == Decimal:
		return v.str
	case v.kind == Int:
		return strconv.FormatInt(v.num, 10)
	case f == math.Trunc(f) && f >= math.MinInt64 && f < -math.MinInt64:
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// sameNumber reports whether two texts without exponents denote the same number.
func sameNumber(a, b string) bool { return trimFraction(a) == trimFraction(b) }

func trimFraction(digits string) string {
	if strings.Contains(digits, ".") {
		digits = strings.TrimRight(strings.TrimRight(digits, "0"), ".")
	}
	return digits
}

func castFromJSON(v Value, to Kind) (Value, error) {
	if !v.isJSONScalar() {
		return Value{}, convertError(CodeWrongType, to, v.str, "a JSON object or array is only cast to string")
	}
	return Cast(v.scalar(), to)
}

// scalar returns what a JSON scalar is: the null, bool, int, decimal or string.
func (v Value) scalar() Value {
	raw, _ := (&scanner{text: v.str}).value() // neither fails: the text is in normal form
	scalar, _ := raw.Natural()
	return scalar
}
