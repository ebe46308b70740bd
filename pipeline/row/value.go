// Package row holds the values that travel through a pipeline: typed values, the shapes that name them, and the one
// canonical form whose SHA-256 is a row's identity in the landscape.
package row

import (
	"math"
	"slices"
)

// Kind is the type of a Value.
type Kind uint8

// The kinds of values. The words of Kind.String are stored in landscapes and documents; never rename one.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	Date
	Timestamp
	Decimal
	JSON
)

var kindNames = [...]string{"null", "bool", "int", "float", "string", "date", "timestamp", "decimal", "json"}

// String returns the word by which documents and landscapes name the kind.
func (k Kind) String() string { return kindNames[k] }

// ParseKind returns the kind with this name, and false if there is none.
func ParseKind(name string) (Kind, bool) {
	i := slices.Index(kindNames[:], name)
	return Kind(max(i, 0)), i >= 0
}

// Value is one typed cell. It is a small immutable struct, safe to copy and to share; the zero Value is null.
//
// What the fields hold depends on the kind: Bool 0 or 1 in num; Int the number; Float its IEEE bits; Date the days since
// 1970-01-01; Timestamp the seconds since 1970-01-01T00:00:00Z in num and the nanoseconds (0 to 999,999,999) in nanos;
// String, Decimal and JSON their text in str (a decimal in the normal form of Parse, JSON in that of ParseJSON). For JSON,
// num is 1 if a key begins with $, so that the canonical form is not simply the text. Because these forms are unique,
// v == w compares values.
type Value struct {
	kind  Kind
	nanos uint32
	num   int64
	str   string
}

// NullValue returns the null value.
func NullValue() Value { return Value{} }

// BoolValue returns a Bool.
func BoolValue(b bool) Value {
	if b {
		return Value{kind: Bool, num: 1}
	}
	return Value{kind: Bool}
}

// IntValue returns an Int.
func IntValue(i int64) Value { return Value{kind: Int, num: i} }

// FloatValue returns a Float. The caller makes sure that f is finite: a NaN or an infinity has no canonical form.
func FloatValue(f float64) Value { return Value{kind: Float, num: int64(math.Float64bits(f))} }

// StringValue returns a String that shares s. The caller makes sure that s is valid UTF-8.
func StringValue(s string) Value { return Value{kind: String, str: s} }

// DateValue returns a Date, given in days since 1970-01-01. The caller makes sure that its year is 0001 to 9999.
func DateValue(days int64) Value { return Value{kind: Date, num: days} }

// TimestampValue returns a Timestamp, given in seconds since 1970-01-01T00:00:00Z and nanoseconds (0 to 999,999,999).
// The caller makes sure that its year is 0001 to 9999.
func TimestampValue(seconds int64, nanos uint32) Value {
	return Value{kind: Timestamp, num: seconds, nanos: nanos}
}

// TimestampOfMicros returns a Timestamp, given in microseconds since 1970-01-01T00:00:00Z. The caller makes sure that its
// year is 0001 to 9999.
func TimestampOfMicros(micros int64) Value {
	seconds, rest := micros/1e6, micros%1e6
	if rest < 0 {
		seconds, rest = seconds-1, rest+1e6
	}
	return TimestampValue(seconds, uint32(rest)*1e3)
}

// Kind returns the kind of v.
func (v Value) Kind() Kind { return v.kind }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.kind == Null }

// Bool returns the truth value of a Bool, and false for any other kind.
func (v Value) Bool() bool { return v.kind == Bool && v.num == 1 }

// Int returns the number of an Int, the days of a Date, the seconds of a Timestamp, and 0 for other kinds.
func (v Value) Int() int64 {
	switch v.kind {
	case Int, Date, Timestamp:
		return v.num
	}
	return 0
}

// Float returns the number of a Float, and 0 for any other kind.
func (v Value) Float() float64 {
	if v.kind != Float {
		return 0
	}
	return math.Float64frombits(uint64(v.num))
}

// Nanos returns the nanoseconds within the second of a Timestamp, and 0 for any other kind.
func (v Value) Nanos() uint32 { return v.nanos }

// Text returns the text of a String, Decimal or JSON, and "" for any other kind. Use AppendText to print any value.
func (v Value) Text() string { return v.str }
