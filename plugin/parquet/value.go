package parquet

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"github.com/parquet-go/parquet-go/format"

	"waymark/pipeline/row"
)

// The days of the years 0001 to 9999, counted from 1970-01-01.
const (
	minDay        = -719162
	maxDay        = 2932896
	secondsPerDay = 86400
	julianEpoch   = 2440588 // 1970-01-01 as a Julian day
)

// maxDecimalBytes bounds the digits of a decimal: far more than what a row may have.
const maxDecimalBytes = 512

func appendString(dst []byte, text string) []byte {
	return row.AppendJSONValue(dst, row.StringValue(text))
}

// flaw says why a value cannot be written as JSON; the zero flaw says that it can.
type flaw struct{ code, message string }

// appendValue appends a value that is not null, as JSON. v is the value in the form of page.Values. Of one that JSON or a row cannot hold it appends something that no
// reader of JSON accepts, but that people understand.
func (l *leaf) appendValue(dst []byte, v []byte) ([]byte, flaw) {
	switch l.form {
	case formBool:
		return strconv.AppendBool(dst, v[0] != 0), flaw{}
	case formInt:
		return l.appendInt(dst, l.integer(v))
	case formUint:
		return l.appendUint(dst, v)
	case formFloat:
		return appendFloat(dst, l.float(v))
	case formHalf:
		return appendFloat(dst, half(binary.LittleEndian.Uint16(v)))
	case formText:
		return appendText(dst, v)
	case formJSON:
		return appendJSON(dst, v)
	case formDecimal:
		return l.appendDecimal(dst, v)
	case formDate:
		return appendDate(dst, l.integer(v))
	case formTime:
		return l.appendTime(dst, l.integer(v))
	case formTimestamp:
		seconds, rest := floorDivide(l.integer(v), l.units)
		return appendTimestamp(dst, seconds, rest*(1e9/l.units))
	case formInt96:
		return appendInt96(dst, v)
	case formUUID:
		return appendUUID(dst, v), flaw{}
	case formInterval:
		return appendInterval(dst, v), flaw{}
	case formNull:
		return append(dst, "null"...), flaw{}
	default:
		return appendBytes(dst, v), flaw{}
	}
}

func (l *leaf) integer(v []byte) int64 {
	if l.physical == format.Int32 {
		return int64(int32(binary.LittleEndian.Uint32(v)))
	}
	return int64(binary.LittleEndian.Uint64(v))
}

func (l *leaf) appendInt(dst []byte, n int64) ([]byte, flaw) {
	if l.bits > 0 && n>>(l.bits-1) != 0 && n>>(l.bits-1) != -1 {
		return l.appendWide(dst, n)
	}
	return strconv.AppendInt(dst, n, 10), flaw{}
}

func (l *leaf) appendUint(dst []byte, v []byte) ([]byte, flaw) {
	if l.physical == format.Int64 {
		return strconv.AppendUint(dst, binary.LittleEndian.Uint64(v), 10), flaw{}
	}
	n := binary.LittleEndian.Uint32(v)
	if l.bits > 0 && n>>l.bits != 0 {
		return l.appendWide(dst, int64(n))
	}
	return strconv.AppendUint(dst, uint64(n), 10), flaw{}
}

// appendWide appends an integer with more bits than its type has.
func (l *leaf) appendWide(dst []byte, n int64) ([]byte, flaw) {
	return appendOdd(dst, "int", strconv.FormatInt(n, 10)), flaw{codeNumberRange, fmt.Sprintf(`"%d" is no integer of %d bits, which the column has`, n, l.bits)}
}

func (l *leaf) float(v []byte) float64 {
	if l.physical == format.Float {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v)))
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(v))
}

func appendFloat(dst []byte, f float64) ([]byte, flaw) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		text := strconv.FormatFloat(f, 'g', -1, 64)
		return append(dst, text...), flaw{codeNumberRange, strconv.Quote(text) + " is not a number that a row can hold"}
	}
	return row.AppendJSONValue(dst, row.FloatValue(f)), flaw{}
}

// half returns the value of an IEEE 754 number of 16 bits, which every float64 can hold.
func half(bits uint16) float64 {
	exponent, fraction := int(bits>>10&0x1f), float64(bits&0x3ff)
	value := math.Ldexp(1+fraction/1024, exponent-15)
	switch {
	case exponent == 0:
		value = math.Ldexp(fraction, -24)
	case exponent == 0x1f && fraction == 0:
		value = math.Inf(1)
	case exponent == 0x1f:
		value = math.NaN()
	}
	if bits>>15 == 1 {
		value = math.Copysign(value, -1)
	}
	return value
}

// appendText appends bytes that are not UTF-8 as they are.
func appendText(dst, text []byte) ([]byte, flaw) {
	dst = appendString(dst, unsafe.String(unsafe.SliceData(text), len(text)))
	if !utf8.Valid(text) {
		return dst, flaw{codeInvalidUTF8, "the text is not valid UTF-8"}
	}
	return dst, flaw{}
}

func appendJSON(dst, text []byte) ([]byte, flaw) {
	value, err := row.ParseJSON(string(text))
	if err == nil {
		return append(dst, value.Text()...), flaw{}
	}
	code := row.CodeSyntax
	var found *row.JSONError
	if errors.As(err, &found) {
		code = found.Code
	}
	if code == row.CodeEncoding {
		code = codeInvalidUTF8
	}
	return appendOdd(dst, "json", string(text)), flaw{code, "the JSON in the column: " + err.Error()}
}

// appendOdd appends a value that JSON has no form for.
func appendOdd(dst []byte, word, text string) []byte {
	return append(appendString(append(append(dst, word...), '('), text), ')')
}

func (l *leaf) appendDecimal(dst []byte, v []byte) ([]byte, flaw) {
	if l.physical == format.Int32 || l.physical == format.Int64 {
		return appendScaled(dst, strconv.AppendInt(nil, l.integer(v), 10), l.scale), flaw{}
	}
	unscaled := v
	if len(unscaled) > maxDecimalBytes {
		return appendOdd(dst, "decimal", hex.EncodeToString(unscaled)),
			flaw{codeNumberRange, fmt.Sprintf("a decimal of %d bytes is more than a row can hold", len(unscaled))}
	}
	n := new(big.Int).SetBytes(unscaled)
	if len(unscaled) > 0 && unscaled[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(unscaled))))
	}
	return appendScaled(dst, n.Append(nil, 10), l.scale), flaw{}
}

// appendScaled appends an integer with the decimal point before its last scale digits.
func appendScaled(dst, digits []byte, scale int) []byte {
	if digits[0] == '-' {
		dst, digits = append(dst, '-'), digits[1:]
	}
	if scale == 0 {
		return append(dst, digits...)
	}
	if whole := len(digits) - scale; whole > 0 {
		dst, digits = append(dst, digits[:whole]...), digits[whole:]
	} else {
		dst = append(dst, '0')
	}
	dst = append(dst, '.')
	for range scale - len(digits) {
		dst = append(dst, '0')
	}
	return append(dst, digits...)
}

func appendDate(dst []byte, days int64) ([]byte, flaw) {
	if days < minDay || days > maxDay {
		return appendOdd(dst, "date", strconv.FormatInt(days, 10)),
			flaw{codeTimeRange, fmt.Sprintf(`a date of "%d" days from 1970-01-01 is not in the years 0001 to 9999`, days)}
	}
	return row.AppendJSONValue(dst, row.DateValue(days)), flaw{}
}

func (l *leaf) appendTime(dst []byte, since int64) ([]byte, flaw) {
	if since < 0 || since >= secondsPerDay*l.units {
		return appendOdd(dst, "time", strconv.FormatInt(since, 10)),
			flaw{codeTimeRange, fmt.Sprintf(`"%d" is no time of a day`, since)}
	}
	seconds, rest := since/l.units, since%l.units
	dst = fmt.Appendf(dst, `"%02d:%02d:%02d`, seconds/3600, seconds/60%60, seconds%60)
	if rest > 0 {
		fraction := strconv.AppendInt(nil, l.units+rest, 10) // a one, and the digits with their leading zeros
		for fraction[len(fraction)-1] == '0' {
			fraction = fraction[:len(fraction)-1]
		}
		dst = append(append(dst, '.'), fraction[1:]...)
	}
	return append(dst, '"'), flaw{}
}

func appendTimestamp(dst []byte, seconds, nanos int64) ([]byte, flaw) {
	if seconds < minDay*secondsPerDay || seconds >= (maxDay+1)*secondsPerDay {
		return appendOdd(dst, "timestamp", strconv.FormatInt(seconds, 10)),
			flaw{codeTimeRange, fmt.Sprintf(`a time "%d" seconds from 1970-01-01 is not in the years 0001 to 9999`, seconds)}
	}
	return row.AppendJSONValue(dst, row.TimestampValue(seconds, uint32(nanos))), flaw{}
}

// appendInt96 appends a Julian day with the nanoseconds since its midnight.
func appendInt96(dst []byte, v []byte) ([]byte, flaw) {
	seconds, nanos := floorDivide(int64(binary.LittleEndian.Uint64(v)), 1e9)
	day := binary.LittleEndian.Uint32(v[8:])
	if seconds < 0 || seconds >= secondsPerDay {
		return appendOdd(dst, "timestamp", hex.EncodeToString(v)), flaw{codeTimeRange, "the nanoseconds of an INT96 timestamp are not within a day"}
	}
	return appendTimestamp(dst, (int64(day)-julianEpoch)*secondsPerDay+seconds, nanos)
}

// floorDivide returns quotient and remainder, which is not negative.
func floorDivide(n, by int64) (quotient, rest int64) {
	quotient, rest = n/by, n%by
	if rest < 0 {
		quotient, rest = quotient-1, rest+by
	}
	return quotient, rest
}

func appendUUID(dst, b []byte) []byte {
	dst = append(dst, '"')
	for i, c := range b {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, []byte{c})
	}
	return append(dst, '"')
}

func appendInterval(dst, b []byte) []byte {
	return fmt.Appendf(dst, `{"months":%d,"days":%d,"millis":%d}`,
		binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]))
}

// appendBytes writes bytes as Postgres writes and reads them.
func appendBytes(dst, b []byte) []byte {
	return append(hex.AppendEncode(append(dst, `"\\x`...), b), '"')
}
