package row

import (
	"math"
	"strconv"
)

// AppendText appends the plain text of v to dst, as a CSV cell or a message shows it, and returns the extended slice:
// nothing for null, true or false, decimal digits, floats as in the canonical form (1.0 keeps its .0), a string as it
// is, 2001-01-31, 2001-01-31T23:59:59.5Z, JSON in its normal form. Parse reads it back: for every v that is not null,
// Parse(v.Kind(), text) equals v. It panics as AppendCanonical does.
func AppendText(dst []byte, v Value) []byte {
	switch v.kind {
	case Bool:
		return strconv.AppendBool(dst, v.num == 1)
	case Int:
		return strconv.AppendInt(dst, v.num, 10)
	case Float:
		return appendFloat(dst, v.Float())
	case String, Decimal, JSON:
		return append(dst, v.str...)
	case Date:
		return appendDate(dst, v.num)
	case Timestamp:
		return appendTimestamp(dst, v.num, v.nanos)
	}
	return dst
}

// AppendJSON appends r to dst as one ordinary JSON object on one line, its fields in the order of the shape, and returns
// the extended slice. Values are written as by AppendJSONValue.
func AppendJSON(dst []byte, r Row) []byte { return appendObject(dst, r, AppendJSONValue) }

// AppendJSONObject is AppendJSON with values as AppendJSONItem writes them.
func AppendJSONObject(dst []byte, r Row) []byte { return appendObject(dst, r, AppendJSONItem) }

func appendObject(dst []byte, r Row, appendValue func([]byte, Value) []byte) []byte {
	dst = append(dst, '{')
	for i, v := range r.Values {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, r.Shape.labels[i]...)
		dst = appendValue(dst, v)
	}
	return append(dst, '}')
}

// AppendJSONItem is AppendJSONValue for a value that becomes one of kind JSON, or is in one. JSON has no floats, so that a
// large float is written as the number that it stands for, see Cast, and not as its shortest digits: 4611686018427387904, not
// 4.611686018427388e+18. What is read back has the Key of v.
func AppendJSONItem(dst []byte, v Value) []byte {
	if v.kind == Float && math.Abs(v.Float()) >= 1e16 {
		return append(dst, plainDigits(v)...)
	}
	return AppendJSONValue(dst, v)
}

// AppendJSONValue appends v to dst as ordinary JSON and returns the extended slice: dates and timestamps are strings,
// decimals are numbers with their exact digits, JSON stands as it is. Null, bools, ints, strings and JSON objects and
// arrays are read back equal by ScanObject and RawValue.Natural, floats as decimals. It panics as AppendCanonical does.
func AppendJSONValue(dst []byte, v Value) []byte {
	switch v.kind {
	case Null:
		return append(dst, "null"...)
	case String:
		return appendJSONString(dst, v.str)
	case Date, Timestamp:
		return append(AppendText(append(dst, '"'), v), '"')
	}
	return AppendText(dst, v)
}

// appendFloat appends f as Python's repr writes it: the shortest digits that read back as f, in plain notation with at
// least one digit after the point if 1e-4 <= |f| < 1e16 or f is zero, else as 1e+16 or 1.5e-07.
func appendFloat(dst []byte, f float64) []byte {
	size := math.Abs(f)
	switch {
	case !(size <= math.MaxFloat64):
		panic("row: " + strconv.FormatFloat(f, 'g', -1, 64) + " has no canonical form; callers of FloatValue refuse it")
	case size != 0 && (size < 1e-4 || size >= 1e16):
		return strconv.AppendFloat(dst, f, 'e', -1, 64)
	case f == math.Trunc(f) && size < maxExact && f != 0:
		return append(strconv.AppendInt(dst, int64(f), 10), ".0"...)
	case f == math.Trunc(f):
		return append(strconv.AppendFloat(dst, f, 'f', -1, 64), ".0"...)
	}
	return strconv.AppendFloat(dst, f, 'f', -1, 64)
}

// maxExact is up to where every integer is a float64: the shortest digits of a float without a fraction are then its own.
const maxExact = 1 << 53

const hexDigits = "0123456789abcdef"

// appendJSONString appends s as a JSON string in which only ", \ and the control characters below 0x20 are escaped.
func appendJSONString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[start:i]...)
			dst = appendEscape(dst, c)
			start = i + 1
		}
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\t':
		return append(dst, '\\', 't')
	case '\n':
		return append(dst, '\\', 'n')
	case '\f':
		return append(dst, '\\', 'f')
	case '\r':
		return append(dst, '\\', 'r')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
