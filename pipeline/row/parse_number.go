package row

import (
	"math"
	"strconv"
	"strings"
)

// maxDecimalDigits is the number of digits a decimal may have.
const maxDecimalDigits = 1000

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// digitsEnd returns the index after the digits at pos.
func digitsEnd(text string, pos int) int {
	for pos < len(text) && isDigit(text[pos]) {
		pos++
	}
	return pos
}

// numberEnd returns the index after the longest text at pos that begins a JSON number, and whether it is an integer so
// far. The number is complete if its last byte is a digit; the index is pos if no number begins there.
func numberEnd(text string, pos int) (end int, integer bool) {
	end = pos
	if strings.HasPrefix(text[end:], "-") {
		end++
	}
	if strings.HasPrefix(text[end:], "0") {
		end++
	} else {
		end = digitsEnd(text, end)
	}
	if end == pos || !isDigit(text[end-1]) {
		return end, true
	}
	integer = true
	if strings.HasPrefix(text[end:], ".") {
		end, integer = digitsEnd(text, end+1), false
	}
	if end < len(text) && isDigit(text[end-1]) && text[end]|0x20 == 'e' {
		end, integer = end+1, false
		if end < len(text) && (text[end] == '+' || text[end] == '-') {
			end++
		}
		end = digitsEnd(text, end)
	}
	return end, integer
}

// isNumber reports whether text is a JSON number and whether it is an integer.
func isNumber(text string) (number, integer bool) {
	end, integer := numberEnd(text, 0)
	return end > 0 && end == len(text) && isDigit(text[end-1]), integer
}

func hasLeadingZero(text string) bool {
	text = strings.TrimPrefix(text, "-")
	return len(text) > 1 && text[0] == '0' && isDigit(text[1])
}

// parseInt returns the number that digits with an optional minus sign denote, and false if it is outside int64.
func parseInt(text string) (n int64, fits bool) {
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	for i := range len(text) {
		digit := int64(text[i] - '0')
		if n < (math.MinInt64+digit)/10 {
			return 0, false
		}
		n = n*10 - digit // counted below zero, where there is one number more
	}
	if negative {
		return n, true
	}
	return -n, n != math.MinInt64
}

// parseIntValue returns the int. cures are the kinds that are tried for the cure of a number that is too large.
func parseIntValue(text string, cures ...Kind) (Value, error) {
	if number, integer := isNumber(text); !number || !integer {
		return Value{}, formatError(Int, text)
	}
	n, fits := parseInt(text)
	if !fits {
		return Value{}, convertError(CodeNumberRange, Int, text, "ints are from -2^63 to 2^63-1"+cure(text, cures))
	}
	return IntValue(n), nil
}

// parseFloatValue returns the float. cures are the kinds that are tried for the cure of a number that is out of range.
func parseFloatValue(text string, cures ...Kind) (Value, error) {
	if number, _ := isNumber(text); !number {
		return Value{}, formatError(Float, text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f == 0 && hasNonZeroDigit(text) {
		return Value{}, convertError(CodeNumberRange, Float, text,
			"floats are 0 or from 4.9e-324 to 1.8e308 in size"+cure(text, cures))
	}
	return FloatValue(f), nil
}

// cure names the first of the kinds that holds the text of a field, "" if none does.
func cure(text string, kinds []Kind) string {
	for _, kind := range kinds {
		if _, err := Parse(kind, text); err == nil {
			return "; declare the field as " + kind.String()
		}
	}
	return ""
}

// hasNonZeroDigit reports whether the significand of the number, what stands before the exponent, is not zero.
func hasNonZeroDigit(number string) bool {
	for i := range len(number) {
		switch c := number[i]; {
		case c|0x20 == 'e':
			return false
		case c >= '1' && c <= '9':
			return true
		}
	}
	return false
}

func parseDecimalValue(text string) (Value, error) {
	if hasLeadingZero(text) {
		return Value{}, formatError(Decimal, text)
	}
	return parseDigits(text)
}

// parseDigits is parseDecimalValue for a text that may have leading zeros, which it removes.
func parseDigits(text string) (Value, error) {
	digits := strings.TrimPrefix(text, "-")
	whole := digitsEnd(digits, 0)
	end := whole
	if whole < len(digits) && digits[whole] == '.' {
		end = digitsEnd(digits, whole+1)
	}
	switch {
	case whole == 0 || end != len(digits) || end == whole+1:
		return Value{}, formatError(Decimal, text)
	case end > maxDecimalDigits+1, end == maxDecimalDigits+1 && whole == end:
		return Value{}, decimalTooLong(text)
	}
	return Value{kind: Decimal, str: normalDecimal(text, digits, whole)}, nil
}

// maxExponent is beyond every exponent that a number of maxDecimalDigits digits can have.
const maxExponent = 3 * maxDecimalDigits

// parseExponent returns the decimal that a JSON number denotes whose exponent stands behind mark. How long it is
// written without one is known before that is done.
func parseExponent(literal string, mark int) (Value, error) {
	sign, whole := "", literal[:mark]
	if digits, negative := strings.CutPrefix(whole, "-"); negative {
		sign, whole = "-", digits
	}
	whole, fraction, _ := strings.Cut(whole, ".")
	exponent, err := strconv.Atoi(literal[mark+1:])
	if err != nil || exponent > maxExponent || exponent < -maxExponent {
		return Value{}, decimalTooLong(literal)
	}
	digits, places := whole+fraction, len(fraction)-exponent
	switch {
	case places <= 0:
		digits += strings.Repeat("0", -places)
	case places < len(digits):
		digits = digits[:len(digits)-places] + "." + digits[len(digits)-places:]
	default:
		digits = "0." + strings.Repeat("0", places-len(digits)) + digits
	}
	return parseDigits(sign + digits)
}

func decimalTooLong(text string) error {
	return convertError(CodeNumberRange, Decimal, text, "a decimal has up to 1,000 digits")
}

// normalDecimal returns text, an optional sign before digits, without redundant zeros at its front and without the sign
// of a zero. The first whole digits stand before the point.
func normalDecimal(text, digits string, whole int) string {
	zeros := 0
	for zeros < whole-1 && digits[zeros] == '0' {
		zeros++
	}
	negative := len(text) > len(digits) && hasNonZeroDigit(digits)
	switch {
	case !negative:
		return digits[zeros:]
	case zeros > 0:
		return "-" + digits[zeros:]
	}
	return text
}
