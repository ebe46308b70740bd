package row

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// object reads text as a row of natural values, as a source without declared fields does.
func object(text string) (Row, error) {
	var fields []string
	var values []Value
	err := ScanObject(text, func(key string, raw RawValue) error {
		v, err := raw.Natural()
		fields, values = append(fields, key), append(values, v)
		return err
	})
	if err != nil {
		return Row{}, err
	}
	return Row{Shape: NewShape(fields), Values: values}, nil
}

// codeOf returns the stored code of an error of this package, and "" for nil.
func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	if bad, ok := errors.AsType[*JSONError](err); ok {
		return bad.Code
	}
	bad, ok := errors.AsType[*ConvertError](err)
	require.True(t, ok, "not an error of this package: %v", err)
	return bad.Code
}

// nested returns JSON arrays inside each other, depth of them.
func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// Cases of the catalogue of bad inputs, section 4.2, that concern one JSON record. Where want is empty, the record is
// accepted and canonical is its form.
var badJSON = []struct{ name, text, want, canonical string }{
	{"BI-041 duplicate key", `{"a":1,"b":2,"a":1}`, CodeDuplicateKey, ""},
	{"BI-041 duplicate key by escape", `{"a":1,"\u0061":2}`, CodeDuplicateKey, ""},
	{"BI-041 duplicate key inside", `{"a":{"b":1,"b":2}}`, CodeDuplicateKey, ""},
	{"BI-041 same key at two depths", `{"a":{"a":[{"a":1},{"a":1}]}}`, "", `{"a":{"a":[{"a":1},{"a":1}]}}`},
	{"BI-042 NaN", `{"a":NaN}`, CodeSyntax, ""},
	{"BI-043 Infinity", `{"a":Infinity}`, CodeSyntax, ""},
	{"BI-044 -Infinity", `{"a":-Infinity}`, CodeSyntax, ""},
	{"BI-045 1e1000", `{"a":1e1000}`, CodeNumberRange, ""},
	{"BI-045 -1e1000 inside", `{"a":[{"b":-1e1000}]}`, CodeNumberRange, ""},
	{"BI-045 1e-1000 is not zero", `{"a":1e-1000}`, CodeNumberRange, ""},
	{"BI-045 1e-4 is not zero", `{"a":1e-4}`, "", `{"a":{"$decimal":"0.0001"}}`},
	{"BI-045 0e400 is zero", `{"a":0e400}`, "", `{"a":{"$decimal":"0"}}`},
	{"BI-046 2^53+1", `{"a":9007199254740993}`, "", `{"a":9007199254740993}`},
	{"BI-047 2^63-1", `{"a":9223372036854775807}`, "", `{"a":9223372036854775807}`},
	{"BI-047 -2^63", `{"a":-9223372036854775808}`, "", `{"a":-9223372036854775808}`},
	{"BI-048 2^63", `{"a":9223372036854775808}`, "", `{"a":{"$decimal":"9223372036854775808"}}`},
	{"BI-048 2^63 inside", `{"a":[9223372036854775808]}`, "", `{"a":[9223372036854775808]}`},
	{"BI-048 -2^63-1", `{"a":-9223372036854775809}`, "", `{"a":{"$decimal":"-9223372036854775809"}}`},
	{"BI-048 1,001 digits", `{"a":` + strings.Repeat("9", 1001) + `}`, CodeNumberRange, ""},
	{"BI-049 1", `{"a":1,"b":[1]}`, "", `{"a":1,"b":[1]}`},
	{"BI-049 1.0", `{"a":1.0,"b":[1.0]}`, "", `{"a":{"$decimal":"1.0"},"b":[1.0]}`},
	{"BI-049 1e0 is a decimal", `{"a":1e0,"b":[1E+0]}`, "", `{"a":{"$decimal":"1"},"b":[1]}`},
	{"BI-050 -0 is 0", `{"a":-0,"b":[-0]}`, "", `{"a":0,"b":[0]}`},
	{"BI-050 -0.0 is 0.0", `{"a":-0.0,"b":[-0e1]}`, "", `{"a":{"$decimal":"0.0"},"b":[0]}`},
	{"BI-051 0.1", `{"a":0.1,"b":[0.1000000000000000055511151231257827]}`, "", `{"a":{"$decimal":"0.1"},"b":[0.1000000000000000055511151231257827]}`},
	{"BI-053 lone high surrogate", `{"a":"\ud800"}`, CodeSurrogate, ""},
	{"BI-053 lone low surrogate", `{"a":"\udc00x"}`, CodeSurrogate, ""},
	{"BI-053 lone surrogate in a key", `{"\ud800":1}`, CodeSurrogate, ""},
	{"BI-053 surrogate before another escape", `{"a":"\ud800\n"}`, CodeSurrogate, ""},
	{"BI-054 two high surrogates", `{"a":"\ud800\ud800"}`, CodeSurrogate, ""},
	{"BI-054 pair", `{"a":"\ud83d\ude00"}`, "", `{"a":"😀"}`},
	{"BI-055 invalid UTF-8", "{\"a\":\"\xff\"}", CodeEncoding, ""},
	{"BI-055 cut UTF-8", "{\"a\":\"\xe2\x82\"}", CodeEncoding, ""},
	{"BI-055 invalid UTF-8 in a key", "{\"\xff\":1}", CodeEncoding, ""},
	{"BI-055 invalid UTF-8 outside strings", "{\"a\":\xff}", CodeSyntax, ""},
	{"BI-056 overlong solidus", "{\"a\":\"\xc0\xaf\"}", CodeEncoding, ""},
	{"BI-056 overlong NUL", "{\"a\":\"\xe0\x80\x80\"}", CodeEncoding, ""},
	{"BI-056 beyond U+10FFFF", "{\"a\":\"\xf4\x90\x80\x80\"}", CodeEncoding, ""},
	{"BI-057 escaped NUL", `{"a":"\u0000"}`, "", `{"a":"\u0000"}`},
	{"BI-058 byte order mark", "\ufeff{}", CodeSyntax, ""},
	{"BI-059 UTF-16LE", "{\x00}\x00", CodeSyntax, ""},
	{"BI-059 UTF-16BE", "\x00{\x00}", CodeSyntax, ""},
	{"BI-059 UTF-16LE with mark", "\xff\xfe{\x00}\x00", CodeSyntax, ""},
	{"BI-060 depth 128", `{"a":` + nested(127) + `}`, "", `{"a":` + nested(127) + `}`},
	{"BI-060 depth 129", `{"a":` + nested(128) + `}`, CodeDepth, ""},
	{"BI-061 depth 100,000", strings.Repeat(`{"a":`, 100_000), CodeDepth, ""},
	{"BI-062 trailing garbage", `{} x`, CodeSyntax, ""},
	{"BI-063 two objects", `{} {}`, CodeSyntax, ""},
	{"BI-063 two objects with comma", `{},{}`, CodeSyntax, ""},
	{"BI-064 blank", ` `, CodeSyntax, ""},
	{"BI-065 truncated in a string", `{"a":"b`, CodeSyntax, ""},
	{"BI-065 truncated after a key", `{"a"`, CodeSyntax, ""},
	{"BI-065 truncated after a value", `{"a":1`, CodeSyntax, ""},
	{"BI-065 truncated in an escape", `{"a":"\`, CodeSyntax, ""},
	{"BI-065 truncated in a \\u escape", `{"a":"\u00`, CodeSyntax, ""},
	{"BI-066 number", `1`, CodeNotObject, ""},
	{"BI-066 string", `"{}"`, CodeNotObject, ""},
	{"BI-066 null", `null`, CodeNotObject, ""},
	{"BI-067 array", ` [{}]`, CodeNotObject, ""},
	{"BI-067 broken array", `[{}`, CodeSyntax, ""},
	{"BI-068 no case folding", `{"A":1,"a":2}`, "", `{"A":1,"a":2}`},
	{"BI-069 empty key", `{"":1}`, "", `{"":1}`},
	{"BI-070 odd keys", `{"__proto__":1,"constructor":2,"a.b":3,"c\nd":4}`, "", `{"__proto__":1,"a.b":3,"c\nd":4,"constructor":2}`},
	{"BI-070 keys that look typed", `{"$date":{"$date":"x","$$y":1,"z":"$w"}}`, "", `{"$$date":{"$$$y":1,"$$date":"x","z":"$w"}}`},
	{"BI-113 NFC and NFD keys differ", "{\"\u00e9\":1,\"e\u0301\":2}", "", "{\"e\u0301\":2,\"\u00e9\":1}"},
	{"BI-114 zero-width joiner in a key", "{\"a\u200d\":1,\"a\":2}", "", "{\"a\":2,\"a\u200d\":1}"},
	{"BI-115 RTL override", "{\"a\":\"\u202e\"}", "", "{\"a\":\"\u202e\"}"},
	{"BI-117 U+0085 and U+2028 stay", "{\"a\":\"\u0085\u2028\"}", "", "{\"a\":\"\u0085\u2028\"}"},
	{"BI-117 U+2028 is not white space", "{\u2028}", CodeSyntax, ""},
	{"BI-119 noncharacters", "{\"a\":\"\ufffe\U0010ffff\"}", "", "{\"a\":\"\ufffe\U0010ffff\"}"},
	{"BI-120 CESU-8", "{\"a\":\"\xed\xa0\xbd\xed\xb8\x80\"}", CodeEncoding, ""},
	{"BI-121 many combining marks", "{\"a\":\"" + strings.Repeat("\u0301", 100_000) + "\"}", "", "{\"a\":\"" + strings.Repeat("\u0301", 100_000) + "\"}"},
}

func TestBadJSON(t *testing.T) {
	for _, test := range badJSON {
		t.Run(test.name, func(t *testing.T) {
			r, err := object(test.text)
			require.Equal(t, test.want, codeOf(t, err))
			if test.want == "" {
				require.Equal(t, test.canonical, string(AppendCanonical(nil, r)))
			}
		})
	}
}

// inMark is a number that is a field of its own, and not in JSON.
var inMark = regexp.MustCompile(`{"\$decimal":"([^"]*)"}`)

// A json cell refuses the same texts with the same codes and gives the same canonical form, in which numbers have no
// mark.
func TestBadJSONAsCell(t *testing.T) {
	for _, test := range badJSON {
		t.Run(test.name, func(t *testing.T) {
			want := test.want
			if want == CodeNotObject {
				want = ""
			}
			v, err := ParseJSON(test.text)
			require.Equal(t, want, codeOf(t, err))
			if test.canonical != "" {
				require.Equal(t, inMark.ReplaceAllString(test.canonical, "$1"), string(AppendValue(nil, v)))
			}
		})
	}
}

func TestRawValueAs(t *testing.T) {
	const digits = "123456789012345678901234567890"
	tests := []struct {
		name, literal string
		kind          Kind
		want, code    string
	}{
		{"null is null", `null`, Int, "", ""},
		{"BI-048 2^63 into int", `9223372036854775808`, Int, "", CodeNumberRange},
		{"BI-050 -0 into int", `-0`, Int, "0", ""},
		{"BI-051 0.1 into float", `0.1`, Float, "0.1", ""},
		{"BI-052 30 digits", digits, Decimal, digits, ""},
		{"BI-052 30 digits and scale", digits + ".10", Decimal, digits + ".10", ""},
		{"BI-052 decimal as string", `"0.10"`, Decimal, "0.10", ""},
		{"BI-101 bool into int", `true`, Int, "", CodeWrongType},
		{"BI-101 bool into float", `false`, Float, "", CodeWrongType},
		{"BI-101 int into bool", `1`, Bool, "", CodeWrongType},
		{"BI-102 string into int", `"1"`, Int, "", CodeWrongType},
		{"BI-102 string into float", `"1"`, Float, "", CodeWrongType},
		{"BI-102 int into string", `1`, String, "", CodeWrongType},
		{"BI-105 1e3 into int", `1e3`, Int, "", CodeWrongType},
		{"BI-105 1.0 into int", `1.0`, Int, "", CodeWrongType},
		{"BI-105 1e3 into decimal", `1e3`, Decimal, "", CodeFormat},
		{"BI-110 nanoseconds", `"2001-01-31T00:00:00.123456789Z"`, Timestamp, "2001-01-31T00:00:00.123456789Z", ""},
		{"date", `"2001-01-31"`, Date, "2001-01-31", ""},
		{"date with escapes", `"2001\u002d01-31"`, Date, "2001-01-31", ""},
		{"number into date", `20010131`, Date, "", CodeWrongType},
		{"int into float", `-7`, Float, "-7.0", ""},
		{"scalar into json", `7`, JSON, "7", ""},
		{"object into json", `{"b":1, "a":[ ]}`, JSON, `{"a":[],"b":1}`, ""},
		{"object into string", `{}`, String, "", CodeWrongType},
		{"string with escapes", `"a\"\\\/\b\f\n\r\t\u00e9b"`, String, "a\"\\/\b\f\n\r\téb", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := ScanObject(`{"key": `+test.literal+`}`, func(key string, raw RawValue) error {
				require.Equal(t, "key", key)
				require.Equal(t, test.literal, raw.Literal)
				v, err := raw.As(test.kind)
				require.Equal(t, test.want, string(AppendText(nil, v)))
				return err
			})
			require.Equal(t, test.code, codeOf(t, err))
		})
	}
}

func TestWrongTypeNamesTheType(t *testing.T) {
	tests := map[string]string{
		`"1"`: `"\"1\"" is not a valid int: the JSON holds a string (WRONG_TYPE)`,
		`{}`:  `"{}" is not a valid int: the JSON holds an object (WRONG_TYPE)`,
		`[]`:  `"[]" is not a valid int: the JSON holds an array (WRONG_TYPE)`,
		`1.0`: `"1.0" is not a valid int: the JSON holds a number that is not an integer literal (WRONG_TYPE)`,
	}
	for literal, want := range tests {
		err := ScanObject(`{"a":`+literal+`}`, func(_ string, raw RawValue) error {
			_, err := raw.As(Int)
			return err
		})
		require.EqualError(t, err, want)
	}
}

// What the message of a number that is out of range says to declare is what holds the number, in JSON and in text.
func TestCuresOfNumbersOutOfRangeWork(t *testing.T) {
	long := "1" + strings.Repeat("0", 1000)
	for literal, cures := range map[string][2]string{ // of a float in JSON, and in a text
		"1e400": {"json", "string"}, "-1e-400": {"json", "string"}, "1e4000": {"", "string"},
		"1" + strings.Repeat("0", 400): {"decimal", "decimal"}, long: {"", "string"},
	} {
		_, err := Parse(Float, literal)
		require.True(t, strings.HasSuffix(hint(t, err), "; declare the field as "+cures[1]), hint(t, err))
		require.NoError(t, ScanObject(`{"a":`+literal+`}`, func(_ string, raw RawValue) error {
			_, err := raw.As(Float)
			_, declared, found := strings.Cut(hint(t, err), "; declare the field as ")
			require.Equal(t, cures[0], declared, literal)
			if found {
				kind, _ := ParseKind(declared)
				_, err = raw.As(kind)
				require.NoError(t, err)
			}
			return nil
		}))
	}
	for _, kind := range []Kind{Int, Float} {
		_, err := Cast(mustParse(Decimal, long[:400]), kind)
		require.NotContains(t, hint(t, err), "declare", "who casts a field has declared it")
	}
}

func hint(t *testing.T, err error) string {
	t.Helper()
	var failed *ConvertError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, CodeNumberRange, failed.Code)
	return failed.Hint
}

func TestScanObjectVisitsInOrderAndStops(t *testing.T) {
	var keys []string
	stop := errors.New("stop")
	err := ScanObject(`{"b":1,"\u0061":[2,{"c":3}],"d":4,"e"`, func(key string, raw RawValue) error {
		keys = append(keys, key+"="+raw.Literal)
		if key == "d" {
			return stop
		}
		return nil
	})
	require.Equal(t, stop, err)
	require.Equal(t, []string{"b=1", `a=[2,{"c":3}]`, "d=4"}, keys)
}

// An object with more keys than are compared in pairs.
func TestManyKeys(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, `"k%d":%d,`, i*7919%5000, i)
	}
	_, err := object("{" + text.String() + `"last":0}`)
	require.NoError(t, err)
	whole := "{" + text.String() + `"k17":0}`
	_, err = object(whole)
	require.Equal(t, CodeDuplicateKey, codeOf(t, err))
	bad, _ := errors.AsType[*JSONError](err)
	require.Equal(t, strings.LastIndex(whole, `"k17"`), bad.Offset)
}

func TestJSONErrorNamesPlaceAndReason(t *testing.T) {
	tests := map[string]string{
		`{"a":1,}`:           `JSON, at byte 7: expected a key in double quotes, found '}' (SYNTAX)`,
		`{"a":01}`:           `JSON, at byte 6: expected ',' or '}', found '1' (SYNTAX)`,
		`{"a":-}`:            `JSON, at byte 6: expected a digit, found '}' (SYNTAX)`,
		`{"a":`:              `JSON, at byte 5: expected a JSON value, found the end of the text (SYNTAX)`,
		"\ufeff{}":           `JSON, at byte 0: expected a JSON value, found a byte order mark (SYNTAX)`,
		"{\"a\":\"\x1b[2J":   `JSON, at byte 6: expected a string without raw control characters, found '\x1b' (SYNTAX)`,
		`{"a":"\q"}`:         `JSON, at byte 7: expected one of "\/bfnrtu after \, found 'q' (SYNTAX)`,
		`{"a":1,"\u0061":2}`: `JSON, at byte 7: an object has the key "a" twice (DUPLICATE_KEY)`,
		` true`:              `JSON, at byte 1: expected an object, found true (NOT_OBJECT)`,
		`7`:                  `JSON, at byte 0: expected an object, found an integer (NOT_OBJECT)`,
		`["a"]`:              `JSON, at byte 0: expected an object, found an array (NOT_OBJECT)`,
		`1.5`:                `JSON, at byte 0: expected an object, found a number that is not an integer literal (NOT_OBJECT)`,
		`"\u0020"`:           `JSON, at byte 0: expected an object, found a string (NOT_OBJECT)`,
	}
	for text, want := range tests {
		_, err := object(text)
		require.EqualError(t, err, want, strconv.Quote(text))
	}
}

func TestParseJSONNormalForm(t *testing.T) {
	tests := map[string]string{
		"\t\r\n [ ] ":                `[]`,
		`{"b":{"d":1,"c":2},"a":[]}`: `{"a":[],"b":{"c":2,"d":1}}`,
		"{\"a\":1,\"A\":2,\"\":3,\"é\":4,\"\U00010000\":5,\"\ue000\":6}": "{\"\":3,\"A\":2,\"a\":1,\"é\":4,\"\ue000\":6,\"\U00010000\":5}",
		`{"\n":1,"!":2," ":3}`:             `{"\n":1," ":3,"!":2}`,
		`"\u002f\/\u007f\u0001\u001F"`:     "\"//\u007f\\u0001\\u001f\"",
		`[1.50,1E2,1e16,0.0001,1e-5]`:      `[1.50,100,10000000000000000,0.0001,0.00001]`,
		`[-0,-00.0]`:                       "",
		`[123456789012345678901234567890]`: `[123456789012345678901234567890]`,
	}
	for text, want := range tests {
		v, err := ParseJSON(text)
		if want == "" {
			require.Error(t, err, text)
			continue
		}
		require.NoError(t, err, text)
		require.Equal(t, want, v.Text())
	}
}
