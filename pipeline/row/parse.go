package row

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// Parse reads text strictly as a value of the kind, with nothing around it, not even a space:
//
//	string     any valid UTF-8
//	bool       true, false
//	int        -42: ASCII digits within int64; no plus sign, no leading zeros, no exponent; -0 is 0
//	float      -1.5e3: a number as in JSON, rounded to the nearest float64; refused if too large or too small for one
//	decimal    -1.50: up to 1,000 digits, no leading zeros, no exponent; trailing zeros count, the sign of zero does not
//	date       2001-01-31: a day that exists, in the years 0001 to 9999
//	timestamp  2001-01-31T23:59:59.5Z: RFC 3339 with T, t or a space, Z, z or an offset other than -00:00, also without
//	           its colon or its minutes; up to 9 digits of a second, no 24:00:00, no leap second; taken to UTC
//	json       what ParseJSON accepts; a JSON null is a value of kind JSON
//	null       the empty text
//
// The error is a *ConvertError. The value may share the memory of text. Only errors, decimals that are not in normal form
// and JSON allocate.
func Parse(kind Kind, text string) (Value, error) {
	switch kind {
	case Null:
		if text == "" {
			return Value{}, nil
		}
	case Bool:
		if text == "true" || text == "false" {
			return BoolValue(text == "true"), nil
		}
	case Int:
		return parseIntValue(text, Decimal, String)
	case Float:
		return parseFloatValue(text, Decimal, String)
	case String:
		if utf8.ValidString(text) {
			return StringValue(text), nil
		}
		return Value{}, convertError(CodeEncoding, String, text, "expected valid UTF-8")
	case Date:
		return parseDateValue(text)
	case Timestamp:
		return parseTimestampValue(text)
	case Decimal:
		return parseDecimalValue(text)
	case JSON:
		return parseJSONValue(text)
	}
	return Value{}, formatError(kind, text)
}

// expected says for each kind what Parse wants; JSON and String have errors of their own.
var expected = [...]string{
	Null:      "expected nothing",
	Bool:      "expected true or false",
	Int:       "expected ASCII digits with an optional minus sign",
	Float:     "expected a number such as -1.5 or 2e-7",
	Date:      "expected a date such as 2001-01-31",
	Timestamp: "expected a time with a zone such as 2001-01-31T23:59:59Z",
	Decimal:   "expected digits with an optional point and minus sign",
}

// formatError says what was expected, and the cure of the commonest mistakes.
func formatError(want Kind, text string) error {
	hint := expected[want]
	switch {
	case text == "":
		hint += ", found nothing"
	case strings.TrimSpace(text) != text:
		hint += "; remove the white space around it"
	case want.isNumber() && hasLeadingZero(text):
		hint += " without leading zeros; declare the field as string to keep them"
	case want == Timestamp:
		hint += timestampTrouble(text)
	}
	return convertError(CodeFormat, want, text, hint)
}

func parseJSONValue(text string) (Value, error) {
	v, err := ParseJSON(text)
	if bad, ok := errors.AsType[*JSONError](err); ok {
		return Value{}, convertError(bad.Code, JSON, text, bad.place())
	}
	return v, nil
}
